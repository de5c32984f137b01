import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import * as codedeploy from '@aws-sdk/client-codedeploy';
import * as dynamodb from '@aws-sdk/client-dynamodb';
import * as secretsManager from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CODEDEPLOY, createJsonApi, DYNAMODB, SECRETS } from '../../functions/aws/json-api.ts';
import { SECRET_STATES } from '../../functions/vocabulary.ts';
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

/** AWS's common errors, which belong to no operation's list, with the source of each. */
const COMMON_ERRORS: Readonly<Record<string, string>> = {
  'https://docs.aws.amazon.com/secretsmanager/latest/apireference/CommonErrors.html':
    'AccessDeniedException NotAuthorized ThrottlingException',
  'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html': 'ValidationException',
};

/** Where the names of AWS's errors stand, and the operations that can answer with them. */
const FILES: Readonly<Record<string, readonly Operation[]>> = {
  'calls.ts': [
    ['secrets-manager', 'GetSecretValue'],
    ['dynamodb', 'GetItem'],
    ['dynamodb', 'UpdateItem'],
    ['codedeploy', 'PutLifecycleEventHookExecutionStatus'],
  ],
  'secrets-manager.ts': [['secrets-manager', 'GetSecretValue']],
};

/** Words of these files that are our own, or name no error. */
const OWN_WORDS = /^(OutOfTime|KMSAccessDenied|MarkedForDeletion|AnotherSecret|NoSecretValue|GetSecretValue)$/;

it.each(Object.entries(FILES))('the SDK, or AWS’s common errors, have every name in %s', (file, operations) => {
  const declared = operations.flatMap((operation) => [...errorsOf(operation).keys()]);
  const known = [...declared, ...Object.values(COMMON_ERRORS).join(' ').split(' ')];
  const named = namedErrors(file);
  expect(named.filter(({ matches }) => !known.some(matches)).map(({ word }) => word)).toEqual([]);
  expect(named).not.toEqual([]);
});

it('the SDK has the errors of the operations by which commands change a secret, with the words that AWS documents', () => {
  const changes = 'PutSecretValue DeleteSecret TagResource PutResourcePolicy UpdateSecretVersionStage'.split(' ');
  const errors = changes.map((name) => errorsOf(['secrets-manager', name]));
  for (const [name, words] of SECRET_STATES) {
    const known = errors.flatMap((each) => each.get(name) ?? []);
    expect(known.length, name).toBeGreaterThan(1);
    // AWS documents no words about replicas.
    if (!words.source.includes('replica')) expect(known.join()).toMatch(words);
  }
  const full = changes.filter((_, index) => errors[index]?.has('LimitExceededException'));
  expect(full).toEqual(['PutSecretValue', 'UpdateSecretVersionStage']);
});

/** The errors of an operation with AWS's words about each, from the declaration of the SDK's command. */
function errorsOf([client, operation]: Operation): ReadonlyMap<string, string> {
  const file = `node_modules/@aws-sdk/client-${client}/dist-types/commands/${operation}Command.d.ts`;
  const [, ...errors] = readFileSync(file, 'utf8').split('@throws {@link ');
  return new Map(errors.map((text) => [/^\w+/.exec(text)?.[0] ?? '', text]));
}

/** The names in the literals of a file. A text is compared with a whole name, a pattern with a part of it. */
function namedErrors(file: string) {
  const source = readFileSync(`functions/aws/${file}`, 'utf8');
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|^import .*$/gm, '');
  const literals = code.matchAll(/(includes\()?'([^'\n]*)'|\/((?:[^/\\\n]|\\.)+)\/[a-z]*/g);
  return [...literals].flatMap(([, isSought, text = '', pattern = text]) => {
    const words = pattern.split('|').map((word) => word.replace(/[\^$()?:]/g, ''));
    const isWhole = pattern === text && words.length === 1 && isSought === undefined;
    return words
      .filter((word) => /^[A-Z]\w*[a-z]\w*$/.test(word) && !OWN_WORDS.test(word))
      .map((word) => ({ word, matches: (name: string) => (isWhole ? name === word : name.includes(word)) }));
  });
}

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

type Operation = readonly [client: string, operation: string];

interface SdkRequest extends Record<'protocol' | 'hostname' | 'path' | 'method', string> {
  readonly body: Uint8Array;
  readonly headers: Record<string, string>;
}
