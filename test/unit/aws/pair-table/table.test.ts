import { GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Item } from '../../../../functions/aws/pair-table/item.ts';
import { EMPTY_RECORD, StoreUnavailable } from '../../../../functions/broker/pair/record.ts';
import type { Acquisition, Ending, Lease, PairStore } from '../../../../functions/broker/pair/store.ts';
import type { Pair } from '../../../../functions/broker/pair.ts';
import { Redacted } from '../../../../functions/broker/redacted.ts';
import type { CallFault } from '../../../support/aws/dynamodb.ts';
import { START } from '../../../support/example.ts';
import { exampleAcquisition, exampleToken } from '../../../support/pair/pair-examples.ts';
import { connectPairTable, IN_TIME, keysOf, TABLE } from '../../../support/pair/pair-table.ts';
import { repeatAtOnce, startDynamoDB } from '../../../support/processes/stand-ins.ts';

/** Each way to end a lease. */
const ENDINGS: readonly Ending[] = [
  { kind: 'publish', token: exampleToken(), holdKey: 'v1:settings' },
  { kind: 'prove', version: 'v1', holdKey: 'v1:x' },
  { kind: 'pause', pause: { until: START, step: 1, problem: { type: 'internal', detail: '' } } },
  { kind: 'withdraw' },
];
const [PUBLISH = { kind: 'release' }] = ENDINGS;
const WRITES = [
  ...ENDINGS.map((ending) => (store: PairStore, pair: Pair) => store.end(pair, leaseOf(1), ending, IN_TIME)),
  (store: PairStore, pair: Pair) => reject(store, pair, leaseOf(1)),
];

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

describe('the calls to DynamoDB', () => {
  it('are one strongly consistent GetItem for a read, and one UpdateItem for every write', async () => {
    for (const write of WRITES) {
      const { store, pair, endpoint } = await connect();
      await store.read(pair, IN_TIME);
      await take(store, pair, 0);
      await write(store, pair);
      expect(endpoint.calls.map(({ operation }) => operation)).toEqual(['GetItem', 'UpdateItem', 'UpdateItem']);
      expect(endpoint.calls[0]).toMatchObject({ parameters: { ConsistentRead: true } });
    }
  });

  it('put off the date after which the item is garbage to 90 days from now, and leave a disabled one without', async () => {
    for (const write of WRITES) {
      const { store, pair, clock, item, put } = await connect();
      await take(store, pair, 0);
      clock.now += 86_400_000;
      await write(store, pair);
      expect((await item()).forgetAt).toEqual({ N: `${START / 1_000 + 91 * 86_400}` });
      await put({ ...(await item()), disabled: { BOOL: true }, leaseOwner: { S: 'me' } });
      await write(store, pair);
      expect((await item()).forgetAt).toEqual({ BOOL: true });
    }
  });
});

it('takes one lease, uses up one chance and counts a rejection once when an answer is lost', async () => {
  const { store, pair, endpoint } = await connect();
  await take(store, pair, 0);
  endpoint.failWith('lost-answer', 1);
  await reject(store, pair, leaseOf(1));
  const { rejected, leaseOwner } = await store.read(pair, IN_TIME);
  expect({ count: rejected.get('v1')?.count, leaseOwner }).toEqual({ count: 1, leaseOwner: undefined });

  endpoint.failWith('lost-answer', 1);
  expect(await take(store, pair, 1, { chargedVersion: 'v1' })).toMatchObject({ fence: 1, leaseOwner: 'me' });
  const record = await store.read(pair, IN_TIME);
  expect(record).toMatchObject({ fence: 2, leaseOwner: 'me' });
  expect(record.rejected.get('v1')?.count).toBe(2);
});

const OPERATIONS: Readonly<Record<string, (store: PairStore, pair: Pair) => Promise<unknown>>> = {
  read: (store, pair) => store.read(pair, IN_TIME),
  acquire: (store, pair) => take(store, pair, 5),
  end: (store, pair) => store.end(pair, leaseOf(1), { kind: 'release' }, IN_TIME),
  reject: (store, pair) => reject(store, pair, leaseOf(1)),
};

describe.each(Object.entries(OPERATIONS))('%s', (_name, operate) => {
  it.each<[CallFault, string | RegExp]>([
    ['access-denied', 'AccessDeniedException'],
    ['garbage', 'SyntaxError'],
    ['another-item', 'TypeError'],
    ['hang', /^(ETIMEDOUT|OutOfTime)$/],
    ['stall', 'OutOfTime'],
    ['reset', 'ECONNRESET'],
  ])('says in one word, and in time, that the store is unavailable: %s', async (fault, cause) => {
    const { store, pair, endpoint } = await connect(fault === 'hang' || fault === 'stall' ? { callMs: 20 } : {});
    endpoint.failWith(fault);
    const failure = await operate(store, pair).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(failure).toMatchObject({ cause: expect.stringMatching(cause) });
    expect(`${failure}${JSON.stringify(failure)}`).not.toContain('garbage');
    expect(endpoint.calls.length).toBeLessThanOrEqual(2);
  });

  it('does not notice a single failure', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    endpoint.failWith('internal-error', 1);
    await operate(store, pair);
  });
});

it('makes a write that ends a lease all the same when the circuit is open, and says when its second answer cannot tell', async () => {
  const { store, pair, endpoint } = await connect();
  await take(store, pair, 0);
  endpoint.failWith('access-denied');
  for (let times = 0; times < 3; times += 1) await expect(store.read(pair, IN_TIME)).rejects.toThrow(StoreUnavailable);
  await expect(store.read(pair, IN_TIME)).rejects.toMatchObject({ cause: 'circuit-open' });
  await expect(reject(store, pair, leaseOf(1))).rejects.toMatchObject({ cause: 'AccessDeniedException' });
  endpoint.failWith('lost-answer', 1);
  const ending = store.end(pair, leaseOf(1), { kind: 'release' }, IN_TIME);
  await expect(ending).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'answer-lost' });
});

describe('an item that is not as it should be', () => {
  it.each<Item>([
    { fence: { S: 'x' }, leaseUntil: { S: '9' }, attemptedAt: { S: '' }, forcedAt: { S: '1' }, checked: { S: '{' } },
    { leaseOwner: { N: '1' }, 'rejected:v1': { N: '3' }, pauseProblem: { N: '1' }, disabled: { S: 'true' } },
    { fence: { NULL: true }, 'rejected:v1': { SS: ['x', '1@', '@'] }, pauseUntil: { L: [] }, disabled: { NULL: true } },
    { 'held:v1:a': { S: '{"until":"5","step":1}' }, 'held:v1:b': { S: '{"until":5}' }, 'held:v1:c': { S: '[]' } },
    { checked: { S: '{"version":"v1","finding":"accepted"}' }, lastCheck: { M: {} }, 'rejected by': { S: 'x' } },
  ])('reads as empty where it holds %j', async (garbage) => {
    const { store, pair, put } = await connect();
    await put(garbage);
    expect(await store.read(pair, IN_TIME)).toEqual(EMPTY_RECORD);
  });

  it.each([null, Array(49).fill(1)])('reads as closed where it holds what is no attribute (%#)', async (B) => {
    const { store, pair, item, endpoint } = await connect();
    await give(store, pair);
    const Item = { ...(await item()), 'rejected:v1': null, 'held:v1': null, pauseUntil: null, sealedToken: { B } };
    endpoint.failWith((response) => response.end(JSON.stringify({ Item })));
    const record = await store.read(pair, IN_TIME);
    expect(record).toEqual({ ...EMPTY_RECORD, fence: 1, attemptedAt: START, closedUntil: START + 60_000 });
  });

  it('keeps what is readable beside what is not', async () => {
    const { store, pair, put } = await connect();
    await put({
      fence: { N: '7' },
      disabled: { BOOL: true },
      'rejected:v1': { SS: ['6@1', 'x', '7@2'] },
      pauseUntil: { N: '5' },
      pauseStep: { S: '2' },
      pauseProblem: { S: '{"type":"a type of newer code","detail":"x"}' },
      'held:v1:a': { S: '{"until":5,"step":2,"problem":{"type":"a type of newer code","detail":"x"}}' },
      'held:v1:b': { S: '{' },
    });
    const { fence, disabled, rejected, pause, held } = await store.read(pair, IN_TIME);
    expect({ fence, disabled }).toEqual({ fence: 7, disabled: true });
    expect([...rejected]).toEqual([['v1', { count: 2, at: 2, fence: 7 }]]);
    expect(pause).toMatchObject({ until: 5, step: 1, problem: { type: 'token-endpoint-unavailable' } });
    expect([...held]).toMatchObject([['v1:a', { until: 5, step: 2, problem: { type: 'token-endpoint-error' } }]]);
  });

  it.each<Item>([
    { fence: { S: 'seven' } },
    { fence: { N: '9007199254740993' } },
    { fence: { N: '0.5' } },
    { fence: { N: '7' }, leaseUntil: { S: '9999999999999' }, leaseOwner: { S: 'x' } },
    { fence: { N: '7.5' }, leaseOwner: { N: '1' } },
  ])('does not stand in the way of a lease: %j', async (garbage) => {
    const { store, pair, put } = await connect();
    await put(garbage);
    const { fence } = await store.read(pair, IN_TIME);
    expect(await take(store, pair, fence)).toMatchObject({ fence });
    expect(await store.read(pair, IN_TIME)).toMatchObject({ fence: fence + 1, leaseOwner: 'me' });
    expect(await store.end(pair, leaseOf(fence + 1), PUBLISH, IN_TIME)).toBe(true);
  });
});

describe('a token that cannot be read', () => {
  it('never is the token of another pair, however the items are swapped', async () => {
    const { store, pair, put, item, unreadable } = await connect();
    await give(store, pair);
    const other = { ...pair, client: `${pair.client}-other` };
    await put(await item(), other);
    expect(await store.read(other, IN_TIME)).toMatchObject({ token: undefined, fence: 1 });
    expect(unreadable).toEqual(['closed']);
  });

  it.each<[string, Item]>([
    ['sealed with a key that is not known', { sealingKeyVersion: { S: 'key-2' } }],
    ['sealed in a format that is not known', { sealedToken: { B: Buffer.of(2, 1, 2, 3) } }],
    ['without what it was sealed with', { fingerprint: { NULL: true } }],
  ])('counts with its flags, is left alone for a minute and then replaced when it is %s', async (_how, altered) => {
    const { store, pair, put, item, unreadable } = await connect();
    await give(store, pair);
    const flags = { disabled: { BOOL: true }, 'rejected:v2': { SS: ['1@1'] }, pauseUntil: { N: '5' } };
    await put({ ...(await item()), ...altered, ...flags, 'held:v1:y': { S: '{"until":7,"step":1}' } });
    const record = await store.read(pair, IN_TIME);
    const left = { token: undefined, closedUntil: START + 60_000 };
    expect(record).toMatchObject({ ...left, disabled: true, pause: { until: 5 } });
    expect([record.rejected.size, record.held.size]).toEqual([1, 1]);
    expect(await take(store, pair, 1)).toMatchObject(left);
    expect(unreadable).toEqual(['closed', 'closed']);
    await store.end(pair, leaseOf(2), PUBLISH, IN_TIME);
    expect(await store.read(pair, IN_TIME)).toMatchObject({ token: exampleToken(), closedUntil: 0 });
  });

  it.each<[string, Item, number]>([
    ['its issue, when that came last', times(START - 1, 1), START + 59_999],
    ['its attempt, when that came last', times(1, START - 1), START + 59_999],
    ['never, when no clock is that wrong', times(9e15, 9e15), 60_000],
    ['never, when it tells no times', {}, 60_000],
  ])('is left alone for a minute from %s', async (_when, told, closedUntil) => {
    const { store, pair, put } = await connect();
    await put({ sealedToken: { B: Buffer.of(2) }, ...told });
    expect(await store.read(pair, IN_TIME)).toMatchObject({ token: undefined, closedUntil });
  });

  function times(issuedAt: number, attemptedAt: number): Item {
    return { issuedAt: { N: `${issuedAt}` }, attemptedAt: { N: `${attemptedAt}` } };
  }
});

describe('an environment without its sealing key', () => {
  it('sees latch, pause and the operator, and is told to go on alone', async () => {
    const { store, pair, put, unreadable } = await connect({ keys: keysOf() });
    await put({ disabled: { BOOL: true }, 'rejected:v1': { SS: ['1@1'] }, pauseUntil: { N: '5' } });
    const record = await store.read(pair, IN_TIME);
    expect(record).toMatchObject({ disabled: true, pause: { until: 5 }, closedUntil: Infinity });
    expect(record.rejected.size).toBe(1);
    expect(unreadable).toEqual(['no-key']);
  });

  it('ends its lease when it has a token to publish, and leaves the token of others alone', async () => {
    const { store, pair } = await connect({ keys: keysOf() });
    const { store: others } = await connect();
    await give(others, pair);
    await reject(others, pair, leaseOf(9));
    await take(store, pair, 1);
    const ending = store.end(pair, leaseOf(2), PUBLISH, IN_TIME);
    await expect(ending).rejects.toMatchObject({ cause: 'no-sealing-key' });
    const record = await others.read(pair, IN_TIME);
    expect(record).toMatchObject({ fence: 2, leaseOwner: undefined, token: exampleToken() });
    // The version has worked.
    expect(record.rejected.size).toBe(0);
  });
});

it('shows no token and no scope in the table', async () => {
  const secrets = ['marked.token/with+signs=', 'marked scope', 'märked/value'];
  const [accessToken = '', scope = '', value] = secrets;
  const { store, pair, direct } = await connect();
  const token = exampleToken({ accessToken: new Redacted(accessToken), scope, passThrough: { value } });
  await give(store, pair, token);

  const { Items = [] } = await direct.send(new ScanCommand({ TableName: TABLE }));
  const bytes = Items.flatMap((item) => Object.values(item)).flatMap(({ B }) => (B ? [Buffer.from(B)] : []));
  const dump = [JSON.stringify(Items), ...bytes.flatMap((b) => [b.toString('latin1'), b.toString('base64')])].join();
  expect(dump).toContain(token.fingerprint);
  for (const secret of secrets) {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const shifted = ['', ' ', '  '].map((before) => base64(before + secret).slice(4, -4));
    for (const form of [secret, encodeURIComponent(secret), ...shifted]) expect(dump).not.toContain(form);
  }
});

function take(store: PairStore, pair: Pair, seenFence: number, changes: Partial<Acquisition> = {}) {
  return store.acquire(pair, exampleAcquisition({ seenFence, ...changes }), IN_TIME);
}

function leaseOf(fence: number): Lease {
  return { owner: 'me', fence };
}

function reject(store: PairStore, pair: Pair, lease: Lease): Promise<void> {
  return store.reject(pair, lease, { version: 'v1', at: START, goneVersions: [] }, IN_TIME);
}

/** Lets a pair without a record have a token. */
async function give(store: PairStore, pair: Pair, token = exampleToken()): Promise<void> {
  await take(store, pair, 0);
  await store.end(pair, leaseOf(1), { kind: 'publish', token, holdKey: 'v1:x' }, IN_TIME);
}

let pairs = 0;

/** The table as an environment has it, and a pair that no other test uses. */
async function connect(options: Parameters<typeof connectPairTable>[1] = {}) {
  repeatAtOnce();
  const table = await connectPairTable(dynamodb.url, options);
  onTestFinished(table.close);
  const pair: Pair = { client: `client-${++pairs}`, service: 'customer-insights' };
  const keyOf = ({ client, service }: Pair) => ({ pair: { S: `${client}/${service}` } });
  return {
    ...table,
    pair,
    item: async (): Promise<Item> =>
      (await table.direct.send(new GetItemCommand({ TableName: TABLE, Key: keyOf(pair) }))).Item ?? {},
    put: async (item: Item, under = pair) => {
      await table.direct.send(new PutItemCommand({ TableName: TABLE, Item: { ...item, ...keyOf(under) } }));
    },
  };
}
