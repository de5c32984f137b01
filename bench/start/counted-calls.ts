import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { createSecretsManagerClient } from '../../functions/aws/clients.ts';
import { createDynamoDB } from '../../functions/aws/dynamodb.ts';
import { createTokenFunction } from '../../functions/token-function.ts';
import { exampleRule, exampleService } from '../../test/support/example.ts';

/** Environments of one fleet whose clients of AWS are real but for the connection, and what they called, in order. */
export function countCalls() {
  const calls: string[] = [];
  const items = new Map<string, Item>();
  const clients = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };
  const answer = (target: unknown, input: string) => {
    const operation = `${target}`.split('.')[1] ?? '';
    calls.push(operation);
    return Buffer.from(JSON.stringify(OPERATIONS[operation]?.(JSON.parse(input), items) ?? {}));
  };
  const requestHandler = {
    async handle({ headers, body }: SentRequest) {
      const text = new TextDecoder().decode(body);
      return { response: { statusCode: 200, headers: {}, body: answer(headers['x-amz-target'], text) } };
    },
  };
  const service = exampleService();
  const startEnvironment = () =>
    createTokenFunction({
      environment: 'counted',
      tableName: 'pairs',
      settings: {
        services: { 'customer-insights': service },
        accessRules: [exampleRule({ operations: ['token', 'check'] })],
        provenForSeconds: 3_600,
      },
      write: () => undefined,
      secretsManager: createSecretsManagerClient({ ...clients, requestHandler }),
      dynamodb: createDynamoDB({
        ...clients,
        send: async ({ headers, body }) => ({ status: 200, headers: {}, body: answer(headers['x-amz-target'], body) }),
      }),
      async send() {
        calls.push('token request');
        return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(TOKEN) };
      },
    });
  /** Gives the calls since it was last asked, in alphabetical order, because some of them are made at once. */
  return { startEnvironment, calls: () => calls.splice(0).toSorted() };
}

interface SentRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

type Item = Record<string, AttributeValue>;

interface Parameters {
  readonly SecretId: string;
  readonly VersionStage: string;
  readonly Key: { readonly pair: { readonly S: string } };
  readonly UpdateExpression: string;
  readonly ExpressionAttributeNames: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues: Readonly<Record<string, AttributeValue>>;
}

const OPERATIONS: Readonly<Record<string, (parameters: Parameters, items: Map<string, Item>) => object>> = {
  GetSecretValue: ({ SecretId, VersionStage }) => ({
    Name: SecretId,
    VersionStages: [VersionStage],
    VersionId: '11111111-2222-4333-8444-555555555555',
    SecretString: JSON.stringify({ client_id: 'the-user-name', secret: 'the-password-of-this-client' }),
  }),
  GetItem: ({ Key }, items) => ({ Item: items.get(Key.pair.S) }),
  UpdateItem(parameters, items) {
    const { Key, UpdateExpression, ExpressionAttributeNames: names, ExpressionAttributeValues: values } = parameters;
    const item: Item = { ...items.get(Key.pair.S), ...Key };
    const [changes = '', removals = ''] = UpdateExpression.split('REMOVE');
    for (const [, name = '', value = ''] of changes.matchAll(/(#\w+) (?:= (?:if_not_exists\(\w+, )?)?(:\w+)/g)) {
      const change = values[value];
      if (change !== undefined) item[names[name] ?? ''] = change;
    }
    for (const [name] of removals.matchAll(/#\w+/g)) delete item[names[name] ?? ''];
    items.set(Key.pair.S, item);
    return {};
  },
};

const TOKEN = JSON.stringify({ access_token: 'a-token', token_type: 'Bearer', expires_in: 3_600 });
