import { Readable } from 'node:stream';
import * as codedeploy from '@aws-sdk/client-codedeploy';
import * as dynamodb from '@aws-sdk/client-dynamodb';
import * as secretsManager from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createJsonApi } from '../../functions/aws/json-api.ts';
import { ACCESS, START } from '../support/example.ts';

/** One service of AWS: its client and its errors in the SDK, and inputs of each kind by operation, members in the SDK's order. */
interface Oracle {
  readonly service: Parameters<typeof createJsonApi>[0];
  readonly Client: new (options: object) => SdkClient;
  /** The module of the client, which exports a class for each modelled error. */
  readonly sdk: Readonly<Record<string, unknown>>;
  readonly calls: readonly (readonly [operation: string, input: object])[];
}

interface SdkClient {
  readonly send: (command: object) => Promise<unknown>;
  readonly middlewareStack: { readonly addRelativeTo: (middleware: object, options: object) => void };
}

const Key = { pair: { S: 'acme/customer-insights' } };
const SecretId = 'token-broker/dev/acme';
const hook = { deploymentId: 'd-EXAMPLE', lifecycleEventHookExecutionId: 'example' };

const ORACLES: readonly Oracle[] = [
  {
    service: 'secretsmanager',
    Client: secretsManager.SecretsManagerClient as unknown as Oracle['Client'],
    sdk: secretsManager,
    calls: [
      ['GetSecretValue', { SecretId, VersionStage: 'AWSCURRENT' }],
      ['GetSecretValue', { SecretId: '“ü”\n', VersionId: '11111111-1111-4111-8111-111111111111' }],
    ],
  },
  {
    service: 'codedeploy',
    Client: codedeploy.CodeDeployClient as unknown as Oracle['Client'],
    sdk: codedeploy,
    calls: [
      ['PutLifecycleEventHookExecutionStatus', { ...hook, status: 'Succeeded' }],
      ['PutLifecycleEventHookExecutionStatus', { ...hook, status: 'Failed' }],
    ],
  },
  {
    service: 'dynamodb',
    Client: dynamodb.DynamoDBClient as unknown as Oracle['Client'],
    sdk: dynamodb,
    calls: [
      ['GetItem', { TableName: 'pairs', Key, ConsistentRead: true }],
      ['GetItem', { TableName: 'pairs', Key: { pair: { B: Buffer.from('bytes') } } }],
      [
        'UpdateItem',
        {
          TableName: 'pairs',
          Key,
          ReturnValues: 'ALL_OLD',
          UpdateExpression: 'SET #a = :a REMOVE #b',
          ConditionExpression: 'NOT attribute_type(#a, :b) – “ü”\n',
          ExpressionAttributeNames: { '#a': 'naïve\u0000', '#b': 'lease' },
          ExpressionAttributeValues: {
            ':a': { L: [{ B: Uint8Array.of(0, 255) }, { B: Buffer.from('bytes') }, { BOOL: true }, { L: [] }] },
            ':b': { SS: ['', 'é', '\ud800'] },
            ':c': { N: '-1e-7' },
            ':d': { M: { empty: { M: {} }, none: { NULL: true }, bytes: { BS: [Uint8Array.of(1)] } } },
            ':e': { B: new Uint8Array() },
          },
        },
      ],
      ['UpdateItem', { TableName: 'pairs', Key, ExpressionAttributeNames: {}, ExpressionAttributeValues: {} }],
    ],
  },
];

const REGIONS = 'us-east-1 eu-west-1 eu-central-1 ap-southeast-2 sa-east-1 us-gov-west-1 cn-north-1 cn-northwest-1';

/** The headers that both sign; the SDK adds more, in which it tells of itself. */
const SIGNED = ['host', 'content-type', 'x-amz-target'];

/** AWS's common errors and the forms of a name; the SDK's clients have the errors of their operations. */
const OTHER_NAMES = [
  'AccessDeniedException',
  'ExpiredTokenException',
  'com.amazon.coral.service#UnrecognizedClientException',
  'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
  'InternalFailure:http://internal.amazon.com/coral/com.amazon.coral.service/',
  'com.amazon.coral.validate#ValidationException:http://internal.amazon.com/coral/',
];

/** Where an answer can name its error. */
const PLACES = {
  __type: (name: string) => ({ headers: {}, members: { __type: name } }),
  code: (name: string) => ({ headers: {}, members: { code: name } }),
  'x-amzn-errortype': (name: string) => ({ headers: { 'x-amzn-errortype': name }, members: {} }),
};

/** Places that the own call does not read before issue 36 row 8 is in. */
const AWAITS_36 = new Set(['code', 'x-amzn-errortype']);
const places = Object.entries(PLACES).filter(([place]) => !AWAITS_36.has(place));

/** Beside the header, so that each shows which of two places comes first. */
const SEVERAL = [{ __type: 'InType', code: 'InCode' }, { __type: 'InType' }, { code: 'InCode' }].filter(
  (members) => '__type' in members || AWAITS_36.size === 0,
);

beforeEach(() => {
  vi.useFakeTimers({ now: START, toFake: ['Date'] });
  for (const name of ['AWS_PROFILE', 'AWS_REGION', 'AWS_ENDPOINT_URL']) vi.stubEnv(name, undefined);
  for (const name of ['CODEDEPLOY', 'DYNAMODB', 'SECRETS_MANAGER']) vi.stubEnv(`AWS_ENDPOINT_URL_${name}`, undefined);
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/dev/null');
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

describe.each(ORACLES)('the SDK’s client of $service', ({ service, Client, sdk, calls }) => {
  it.each(REGIONS.split(' '))('sends the same in %s, byte for byte, the signature included', async (region) => {
    for (const [operation, input] of calls) {
      const sent = { sdk: {}, own: {} };
      await askSdk(operation, input, region, (request) => {
        sent.sdk = request;
        return ANSWER;
      });
      await askOwn(operation, input, region, (request) => {
        sent.own = request;
        return ANSWER;
      });
      expect(sent.own).toEqual(sent.sdk);
      expect(sent.sdk).toMatchObject({ headers: { authorization: expect.stringContaining(`/${region}/${service}/`) } });
    }
  });

  it.each(places)('reads the same name of every error in %s', async (_, answerWith) => {
    const modelled = Object.keys(sdk).filter((name) => isErrorClass(sdk[name]));
    expect(modelled.length).toBeGreaterThan(10);
    for (const name of [...modelled, ...OTHER_NAMES]) await expectSameError(answerWith(name));
  });

  it.each(SEVERAL)('takes the name from the same place in an answer with several names: %o', async (members) => {
    await expectSameError({ headers: { 'x-amzn-errortype': 'InHeader' }, members });
  });

  async function expectSameError({ headers, members }: { readonly headers: object; readonly members: object }) {
    const [[operation, input] = ['', {}]] = calls;
    for (const status of [400, 500]) {
      const answer = () => ({ status, headers, body: JSON.stringify({ ...members, message: 'example' }) });
      const failureOf = (asked: Promise<unknown>) => asked.then(String, (error: Error) => error.name);
      const ofSdk = await failureOf(askSdk(operation, input, 'eu-west-1', answer));
      const own = await failureOf(askOwn(operation, input, 'eu-west-1', answer));
      expect(own, JSON.stringify({ headers, members })).toBe(ofSdk);
    }
  }

  async function askSdk(operation: string, input: object, region: string, answer: Answer): Promise<unknown> {
    const requestHandler = {
      async handle({ protocol, hostname, path, method, headers, body }: SdkRequest) {
        const url = `${protocol}//${hostname}${path}`;
        const { status, body: text, ...rest } = answer({ url, method, headers, body: Buffer.from(body).toString() });
        return { response: { statusCode: status, ...rest, body: Readable.from([text]) } };
      },
    };
    const client = new Client({ ...access(region), requestHandler, maxAttempts: 1, accountIdEndpointMode: 'disabled' });
    client.middlewareStack.addRelativeTo(
      (next: (call: object) => unknown) => (call: { readonly request: SdkRequest }) => {
        const { headers } = call.request;
        for (const name of Object.keys(headers)) if (!SIGNED.includes(name)) delete headers[name];
        return next(call);
      },
      { relation: 'before', toMiddleware: 'httpSigningMiddleware' },
    );
    const Command = sdk[`${operation}Command`] as new (input: object) => object;
    return client.send(new Command(input));
  }

  async function askOwn(operation: string, input: object, region: string, answer: Answer): Promise<unknown> {
    const send: Parameters<typeof createJsonApi>[1]['send'] = async ({ url, method, headers, body }) => {
      const { 'user-agent': _, ...compared } = headers;
      const { body: text, ...rest } = answer({ url: `${url}`, method, headers: compared, body });
      return { ...rest, body: Buffer.from(text) };
    };
    return createJsonApi(service, { ...access(region), send })(operation, input, new AbortController().signal);
  }
});

function access(region: string) {
  return { region, credentials: { ...ACCESS.credentials, sessionToken: 'session' } };
}

function isErrorClass(value: unknown): boolean {
  return typeof value === 'function' && value.prototype instanceof Error && !/ServiceException$/.test(value.name);
}

type Answer = (request: object) => typeof ANSWER;

const ANSWER = { status: 200, headers: {}, body: '{}' };

interface SdkRequest extends Record<'protocol' | 'hostname' | 'path' | 'method', string> {
  readonly body: Uint8Array;
  readonly headers: Record<string, string>;
}
