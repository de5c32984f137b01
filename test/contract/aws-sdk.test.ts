import { Readable } from 'node:stream';
import * as codedeploy from '@aws-sdk/client-codedeploy';
import * as dynamodb from '@aws-sdk/client-dynamodb';
import * as secretsManager from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CODEDEPLOY, createJsonApi, DYNAMODB, SECRETS } from '../../functions/aws/json-api.ts';
import { ACCESS, START } from '../support/example.ts';

const SecretId = 'token-broker/dev/acme';
const hook = { deploymentId: 'd-EXAMPLE', lifecycleEventHookExecutionId: 'example' };
const table = { TableName: 'pairs', Key: { pair: { S: 'acme/customer-insights' } } };
const ExpressionAttributeValues = {
  ':a': { L: [{ B: Uint8Array.of(0, 255) }, { B: Buffer.from('bytes') }, { BOOL: true }, { L: [] }] },
  ':b': { SS: ['', 'é', '\ud800'] },
  ':c': { M: { empty: { M: {} }, none: { NULL: true }, bytes: { BS: [Uint8Array.of(1)] }, number: { N: '-1e-7' } } },
  ':d': { B: new Uint8Array() },
};
const expressions = { UpdateExpression: 'SET #a = :a REMOVE #b', ConditionExpression: 'NOT #a = :b – “ü”\n' };
const ExpressionAttributeNames = { '#a': 'naïve\u0000', '#b': 'lease' };
const written = { ...table, ReturnValues: 'ALL_OLD', ...expressions, ExpressionAttributeNames };

/** Inputs of each kind by operation, with their members in the SDK's order. */
const CALLS = {
  secretsmanager: [
    ['GetSecretValue', { SecretId, VersionStage: 'AWSCURRENT' }],
    ['GetSecretValue', { SecretId: '“ü”\n', VersionId: '11111111-1111-4111-8111-111111111111' }],
  ],
  codedeploy: [
    ['PutLifecycleEventHookExecutionStatus', { ...hook, status: 'Succeeded' }],
    ['PutLifecycleEventHookExecutionStatus', { ...hook, status: 'Failed' }],
  ],
  dynamodb: [
    ['GetItem', { ...table, ConsistentRead: true }],
    ['GetItem', { ...table, Key: { pair: { B: Buffer.from('bytes') } } }],
    ['UpdateItem', { ...written, ExpressionAttributeValues }],
    ['UpdateItem', { ...table, ExpressionAttributeNames: {}, ExpressionAttributeValues: {} }],
  ],
} as const;

/** The modules of the SDK. Each exports its client, its commands and a class for each modelled error. */
const SDK: [keyof typeof CALLS, string, Readonly<Record<string, unknown>>][] = [
  ['secretsmanager', 'SecretsManagerClient', secretsManager],
  ['codedeploy', 'CodeDeployClient', codedeploy],
  ['dynamodb', 'DynamoDBClient', dynamodb],
];

const APIS = { codedeploy: CODEDEPLOY, dynamodb: DYNAMODB, secretsmanager: SECRETS };

const REGIONS = 'us-east-1 eu-west-1 eu-central-1 ap-southeast-2 sa-east-1 us-gov-west-1 cn-north-1 cn-northwest-1';

/** AWS's common errors, and the forms of a name. */
const OTHER_NAMES = [
  ...['AccessDeniedException', 'ExpiredTokenException', 'com.amazon.coral.service#UnrecognizedClientException'],
  'com.amazon.coral.validate#ValidationException:http://internal.amazon.com/coral/',
  'InternalFailure:http://internal.amazon.com/coral/com.amazon.coral.service/',
];

/** Where an answer can name its error. If names differ, the SDK prefers `__type`, and the own call the header. */
const PLACES: [string, (name: string) => { readonly headers?: object; readonly members?: object }][] = [
  ['__type', (__type) => ({ members: { __type } })],
  ['code', (code) => ({ members: { code } })],
  ['its header', (name) => ({ headers: { 'x-amzn-errortype': name } })],
  ['all three', (name) => ({ headers: { 'x-amzn-errortype': name }, members: { __type: name, code: name } })],
];

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ['Date'] });
  for (const of of ['', '_CODEDEPLOY', '_DYNAMODB', '_SECRETS_MANAGER']) vi.stubEnv(`AWS_ENDPOINT_URL${of}`, undefined);
  vi.stubEnv('AWS_PROFILE', undefined);
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/dev/null');
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

describe.each(SDK)('the SDK’s client of %s', (service, client, sdk) => {
  it.each(REGIONS.split(' '))('sends the same in %s, byte for byte, the signature included', async (region) => {
    for (const call of CALLS[service]) {
      const [ofSdk, own] = [await askSdk(call, region), await askOwn(call, region)];
      expect(own.sent).toEqual(ofSdk.sent);
      expect(JSON.stringify(ofSdk.sent)).toContain(`/${region}/${service}/aws4_request`);
    }
  });

  it.each(PLACES)('reads the same error from %s', async (_, answerWith) => {
    const isError = (value: unknown) => typeof value === 'function' && value.prototype instanceof Error;
    const names = Object.keys(sdk).filter((name) => isError(sdk[name]) && !name.endsWith('ServiceException'));
    expect(names.length).toBeGreaterThan(10);
    for (const name of [...names, ...OTHER_NAMES]) {
      for (const status of [400, 500]) {
        const [call, answer] = [CALLS[service][0], { status, ...answerWith(name) }];
        const [ofSdk, own] = [await askSdk(call, 'eu-west-1', answer), await askOwn(call, 'eu-west-1', answer)];
        expect(own.failure, name).toBe(ofSdk.failure);
      }
    }
  });

  async function askSdk([operation, input]: Call, region: string, { status = 200, headers = {}, members = {} } = {}) {
    let sent: unknown;
    const requestHandler = {
      async handle({ protocol, hostname, path, method, headers: own, body }: SdkRequest) {
        sent = { url: `${protocol}//${hostname}${path}`, method, headers: own, body: Buffer.from(body).toString() };
        return { response: { statusCode: status, headers, body: Readable.from([JSON.stringify(members)]) } };
      },
    };
    // The clients differ only in their types.
    const Client = sdk[client] as new (options: object) => dynamodb.DynamoDBClient;
    const aws = new Client({ ...access(region), requestHandler, maxAttempts: 1, accountIdEndpointMode: 'disabled' });
    aws.middlewareStack.addRelativeTo(withoutSelf, { relation: 'before', toMiddleware: 'httpSigningMiddleware' });
    const Command = sdk[`${operation}Command`] as new (input: object) => dynamodb.GetItemCommand;
    const failure = await aws.send(new Command(input)).then(() => undefined, nameOf);
    return { sent, failure };
  }

  async function askOwn([operation, input]: Call, region: string, { status = 200, headers = {}, members = {} } = {}) {
    let sent: unknown;
    const send: Parameters<typeof createJsonApi>[1]['send'] = async ({ url, method, headers: own, body }) => {
      const { 'user-agent': _, ...compared } = own;
      sent = { url: `${url}`, method, headers: compared, body };
      return { status, headers, body: Buffer.from(JSON.stringify(members)) };
    };
    const call = createJsonApi(APIS[service], { environment: 'test', ...access(region), send });
    const failure = await call(operation, input, new AbortController().signal).then(() => undefined, nameOf);
    return { sent, failure };
  }
});

/** Removes the headers that describe the SDK itself, before they are signed. */
function withoutSelf<Call, Result>(next: (call: Call) => Result) {
  return (call: Call): Result => {
    const { headers } = (call as { readonly request: SdkRequest }).request;
    for (const name of Object.keys(headers)) if (!/^(host|content-type|x-amz-target)$/.test(name)) delete headers[name];
    return next(call);
  };
}

function access(region: string) {
  return { region, credentials: { ...ACCESS.credentials, sessionToken: 'session' } };
}

const nameOf = ({ name }: Error) => name;

type Call = readonly [operation: string, input: object];

interface SdkRequest extends Record<'protocol' | 'hostname' | 'path' | 'method', string> {
  readonly body: Uint8Array;
  readonly headers: Record<string, string>;
}
