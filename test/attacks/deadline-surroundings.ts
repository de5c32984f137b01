import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { createDynamoDBClient, createSecretsManagerClient } from '../../functions/aws/clients.ts';
import type { Item } from '../../functions/aws/pair-table/item.ts';
import { type Send, SendFailure } from '../../functions/broker/token-request/send.ts';
import { delay } from './stopped-time.ts';

/** How a dependency answers: after so many milliseconds, `Infinity` being never, and with what. */
export interface Weather {
  readonly delayMs: number;
  readonly fails?: boolean;
}

/** Everything that an invocation can wait for. */
export interface Weathers {
  readonly read: Weather;
  readonly acquire: Weather;
  readonly write: Weather;
  readonly secret: Weather;
  readonly sealingKey: Weather;
  readonly tokenEndpoint: Weather & { readonly status?: number };
}

export const WELL: Weather = { delayMs: 5 };
export const NEVER: Weather = { delayMs: Number.POSITIVE_INFINITY };
const ALL_WELL: Weathers = {
  read: WELL,
  acquire: WELL,
  write: WELL,
  secret: WELL,
  sealingKey: WELL,
  tokenEndpoint: WELL,
};

export const SEALING_KEY = { version: 'key-1', text: 'a sealing key for tests, long enough' };

/** AWS, behind the real SDK clients, and the service: each answers as its weather says. */
export function createSurroundings() {
  const state = { weathers: ALL_WELL, item: undefined as Item | undefined, secretVersion: 'v1' };
  const open = new Set<string>();
  const began: string[] = [];

  const lasts = async <Answer>(
    name: string,
    { delayMs, fails = false }: Weather,
    answer: () => Answer,
    signal?: AbortSignal,
  ) => {
    const id = `${name} ${began.push(name)}`;
    open.add(id);
    try {
      await delay(delayMs, signal);
      if (fails) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      return answer();
    } finally {
      open.delete(id);
    }
  };

  const aws = (answer: (operation: string, input: Record<string, unknown>) => [string, Weather, () => AwsAnswer]) =>
    ({
      region: 'us-east-1',
      credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' },
      requestHandler: {
        async handle(
          request: { headers: Record<string, string>; body: Uint8Array },
          { abortSignal }: { abortSignal: AbortSignal },
        ) {
          const operation = `${request.headers['x-amz-target']}`.split('.')[1] ?? '';
          const [name, weather, give] = answer(operation, JSON.parse(new TextDecoder().decode(request.body)));
          const { status, members } = await lasts(name, weather, give, abortSignal);
          const headers = { 'content-type': 'application/x-amz-json-1.0' };
          return { response: { statusCode: status, headers, body: new TextEncoder().encode(JSON.stringify(members)) } };
        },
      },
    }) as unknown as DynamoDBClientConfig;

  const dynamodb = createDynamoDBClient(
    aws((operation, input) => {
      const { read, acquire, write } = state.weathers;
      if (operation === 'GetItem') return ['read', read, () => ok({ Item: keyed(input, state.item) })];
      if (input.ReturnValues !== 'ALL_OLD') return ['write', write, () => ok({})];
      const isTaken = Number(state.item?.leaseUntil?.N ?? 0) > Date.now();
      return ['acquire', acquire, () => (isTaken ? LOST : ok({ Attributes: keyed(input, state.item) }))];
    }),
  );
  const secretsManager = createSecretsManagerClient(
    aws((_operation, { SecretId: Name, VersionStage }) => {
      const { secret, sealingKey } = state.weathers;
      const asked = { Name, VersionStages: [VersionStage] };
      const isKey = `${Name}`.startsWith('token-broker-keys/');
      const key = { ...asked, VersionId: SEALING_KEY.version, SecretString: SEALING_KEY.text };
      if (isKey) return ['sealingKey', sealingKey, () => ok(key)];
      const text = JSON.stringify({ client_id: 'id', secret: 'secret' });
      return ['secret', secret, () => ok({ ...asked, VersionId: state.secretVersion, SecretString: text })];
    }),
  );
  let tokens = 0;
  const send: Send = async (_request, { timeoutMs }) => {
    const { delayMs, fails = false, status = 200 } = state.weathers.tokenEndpoint;
    const body = () =>
      new TextEncoder().encode(JSON.stringify({ access_token: `token-${++tokens}`, expires_in: 3_600 }));
    const answer = () => ({ status, headers: { 'content-type': 'application/json' }, body: body() });
    await lasts('tokenEndpoint', { delayMs: Math.min(delayMs, timeoutMs) }, () => undefined);
    if (delayMs >= timeoutMs) throw new SendFailure('timeout', 'ETIMEDOUT');
    if (fails) throw new SendFailure('connect', 'ECONNREFUSED');
    return answer();
  };
  return { state, open, began, dynamodb, secretsManager, send };
}

interface AwsAnswer {
  readonly status: number;
  readonly members: object;
}

const ok = (members: object): AwsAnswer => ({ status: 200, members });
const LOST: AwsAnswer = { status: 400, members: { __type: 'ConditionalCheckFailedException', Message: 'no' } };

function keyed({ Key }: Record<string, unknown>, item: Item | undefined) {
  const wired = Object.entries(item ?? {}).map(([name, { B: bytes, ...value }]) => [
    name,
    bytes === undefined ? value : { B: Buffer.from(bytes).toString('base64') },
  ]);
  return item && { ...Object.fromEntries(wired), ...(Key as Item) };
}
