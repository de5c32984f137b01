import type { SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { createDynamoDB } from '../../functions/aws/dynamodb.ts';
import type { Item } from '../../functions/aws/pair-table/item.ts';
import { createSecretsManagerClient } from '../../functions/aws/secrets-manager.ts';
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

/** AWS, behind the real clients, and the service: each answers as its weather says. */
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

  const dynamodb = createDynamoDB({
    ...ACCESS,
    async send({ headers, body }, { signal }) {
      const input = JSON.parse(body);
      const [name, weather, give] = ofTable(`${headers['x-amz-target']}`.split('.')[1] ?? '', input);
      const { status, members } = await lasts(name, weather, give, signal);
      return { status, headers: {}, body: toBytes(members) };
    },
  });
  function ofTable(operation: string, input: Record<string, unknown>): [string, Weather, () => AwsAnswer] {
    const { read, acquire, write } = state.weathers;
    if (operation === 'GetItem') return ['read', read, () => ok({ Item: keyed(input, state.item) })];
    if (input.ReturnValues !== 'ALL_OLD') return ['write', write, () => ok({})];
    const isTaken = Number(state.item?.leaseUntil?.N ?? 0) > Date.now();
    return ['acquire', acquire, () => (isTaken ? LOST : ok({ Attributes: keyed(input, state.item) }))];
  }

  const requestHandler = {
    async handle(request: { readonly body: Uint8Array }, { abortSignal }: { readonly abortSignal: AbortSignal }) {
      const [name, weather, give] = ofSecrets(JSON.parse(new TextDecoder().decode(request.body)));
      const { status, members } = await lasts(name, weather, give, abortSignal);
      const headers = { 'content-type': 'application/x-amz-json-1.1' };
      return { response: { statusCode: status, headers, body: toBytes(members) } };
    },
  } as unknown as NonNullable<SecretsManagerClientConfig['requestHandler']>;
  const secretsManager = createSecretsManagerClient({ ...ACCESS, requestHandler });
  function ofSecrets({ SecretId: Name, VersionStage }: Record<string, unknown>): [string, Weather, () => AwsAnswer] {
    const { secret, sealingKey } = state.weathers;
    const asked = { Name, VersionStages: [VersionStage] };
    const key = { ...asked, VersionId: SEALING_KEY.version, SecretString: SEALING_KEY.text };
    if (`${Name}`.startsWith('token-broker-keys/')) return ['sealingKey', sealingKey, () => ok(key)];
    const text = JSON.stringify({ client_id: 'id', secret: 'secret' });
    return ['secret', secret, () => ok({ ...asked, VersionId: state.secretVersion, SecretString: text })];
  }

  let tokens = 0;
  const send: Send = async (_request, { timeoutMs }) => {
    const { delayMs, fails = false, status = 200 } = state.weathers.tokenEndpoint;
    const body = () => toBytes({ access_token: `token-${++tokens}`, expires_in: 3_600 });
    const answer = () => ({ status, headers: { 'content-type': 'application/json' }, body: body() });
    await lasts('tokenEndpoint', { delayMs: Math.min(delayMs, timeoutMs) }, () => undefined);
    if (delayMs >= timeoutMs) throw new SendFailure('timeout', 'ETIMEDOUT');
    if (fails) throw new SendFailure('connect', 'ECONNREFUSED');
    return answer();
  };
  return { state, open, began, dynamodb, secretsManager, send };
}

const ACCESS = { region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' } };

function toBytes(members: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(members));
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
