import { GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { EMPTY_RECORD } from '../../../functions/broker/pair/record.ts';
import type { Acquisition, Ending, Lease, PairStore } from '../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair-examples.ts';
import { connectPairTable, IN_TIME, keysOf, TABLE } from '../../support/pair-table.ts';
import { startDynamoDB } from '../../support/stand-ins.ts';

type Write = readonly [string, (store: PairStore, pair: Pair, lease: Lease) => Promise<unknown>];

/** Each way to end a lease. */
const WRITES: readonly Write[] = [
  ['publish', (store, pair, lease) => store.end(pair, lease, publish(), IN_TIME)],
  ['prove', (store, pair, lease) => store.end(pair, lease, { kind: 'prove', version: 'v1', holdKey: 'v1:x' }, IN_TIME)],
  ['pause', (store, pair, lease) => store.end(pair, lease, { kind: 'pause', pause: WAIT }, IN_TIME)],
  [
    'hold',
    (store, pair, lease) => store.end(pair, lease, { kind: 'hold', key: 'v1:x', hold: WAIT, expiredKeys: [] }, IN_TIME),
  ],
  ['withdraw', (store, pair, lease) => store.end(pair, lease, { kind: 'withdraw' }, IN_TIME)],
  ['release', (store, pair, lease) => store.end(pair, lease, { kind: 'release' }, IN_TIME)],
  ['reject', (store, pair, lease) => reject(store, pair, lease)],
];
const WAIT = { until: START, step: 1, problem: { type: 'internal', detail: '' } } as const;

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

describe('the calls to DynamoDB', () => {
  it('are exactly one strongly consistent GetItem for a read', async () => {
    const { store, pair, endpoint } = await connect();
    await store.read(pair, IN_TIME);
    expect(endpoint.calls).toMatchObject([{ operation: 'GetItem', parameters: { ConsistentRead: true } }]);
  });

  it('are exactly one UpdateItem for every write', async () => {
    const { store, pair, endpoint } = await connect();
    for (const [fence, [, write]] of WRITES.entries()) {
      await take(store, pair, fence);
      await write(store, pair, leaseOf(fence + 1));
    }
    expect(endpoint.calls.map(({ operation }) => operation)).toEqual(Array(2 * WRITES.length).fill('UpdateItem'));
  });

  it('are one UpdateItem more for the rejection of a call that has lost the lease', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    await reject(store, pair, leaseOf(7));
    expect(endpoint.calls.map(({ operation }) => operation)).toEqual(Array(3).fill('UpdateItem'));
  });

  it.each([['acquire', (store, pair) => take(store, pair, 1)] as const, ...WRITES] satisfies readonly Write[])(
    'put off the date after which the item is garbage to 90 days from now: %s',
    async (_name, write) => {
      const { store, pair, clock, item } = await connect();
      await take(store, pair, 0);
      clock.now += 86_400_000;
      await write(store, pair, leaseOf(1));
      expect((await item()).forgetAt).toEqual({ N: `${START / 1_000 + 91 * 86_400}` });
    },
  );

  it.each(WRITES)('leave a disabled item without that date: %s', async (_name, write) => {
    const { store, pair, put, item } = await connect();
    await put({ disabled: { BOOL: true } });
    await take(store, pair, 0);
    await write(store, pair, leaseOf(1));
    expect((await item()).forgetAt).toEqual({ BOOL: true });
  });
});

describe('a call that is repeated because its answer was lost', () => {
  it('takes one lease and uses up one chance', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    await reject(store, pair, leaseOf(1));

    endpoint.failWith('lost-answer', 1);
    expect(await take(store, pair, 1, { chargedVersion: 'v1' })).toMatchObject({ fence: 1, leaseOwner: 'me' });
    const record = await store.read(pair, IN_TIME);
    expect(record).toMatchObject({ fence: 2, leaseOwner: 'me' });
    expect(record.rejected.get('v1')?.count).toBe(2);
  });

  it('counts a rejection once', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    endpoint.failWith('lost-answer', 1);
    await reject(store, pair, leaseOf(1));
    const { rejected, leaseOwner } = await store.read(pair, IN_TIME);
    expect({ count: rejected.get('v1')?.count, leaseOwner }).toEqual({ count: 1, leaseOwner: undefined });
  });
});

describe('an item that is not as it should be', () => {
  it.each<[string, Item]>([
    [
      'text where numbers belong',
      { fence: { S: 'x' }, leaseUntil: { S: '9' }, attemptedAt: { S: '' }, forcedAt: { S: '1' } },
    ],
    ['numbers where text belongs', { leaseOwner: { N: '1' }, 'rejected:v1': { N: '3' }, pauseProblem: { N: '1' } }],
    ['other things', { disabled: { S: 'true' }, 'rejected:v1': { SS: ['x', '1@', '@'] }, pauseUntil: { L: [] } }],
    ['nothing', { fence: { NULL: true }, leaseOwner: { NULL: true }, disabled: { NULL: true } }],
    [
      'holds that are none',
      { 'held:v1:a': { S: 'x' }, 'held:v1:b': { S: '{"until":"5","step":1}' }, 'held:v1:c': { N: '1' } },
    ],
    ['half a hold', { 'held:v1:a': { S: '{"until":5}' }, 'held:v1:b': { S: 'null' }, 'held:v1:c': { S: '[]' } }],
    ['a malformed slot of checks', { checked: { S: '{"version":"v1","at":1,"finding":"something newer"}' } }],
    ['a slot of checks without a time', { checked: { S: '{"version":"v1","finding":"accepted"}' } }],
    ['what newer code wrote', { lastCheck: { M: { at: { N: '1' } } }, 'rejected by': { S: 'x' } }],
  ])('reads as empty where it holds %s', async (_what, garbage) => {
    const { store, pair, put } = await connect();
    await put(garbage);
    expect(await store.read(pair, IN_TIME)).toEqual(EMPTY_RECORD);
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

  it.each<[string, Item]>([
    ['a fence that is text', { fence: { S: 'seven' } }],
    ['a fence that is too large to be counted up', { fence: { N: '9007199254740993' } }],
    ['a negative fence', { fence: { N: '-3' } }],
    ['a fraction of a fence', { fence: { N: '0.5' } }],
    [
      'the end of a lease that is text',
      { fence: { N: '7' }, leaseUntil: { S: '9999999999999' }, leaseOwner: { S: 'x' } },
    ],
    ['a holder that is a number', { fence: { N: '7.5' }, leaseOwner: { N: '1' } }],
  ])('does not stand in the way of a lease: %s', async (_what, garbage) => {
    const { store, pair, put } = await connect();
    await put(garbage);
    const { fence } = await store.read(pair, IN_TIME);
    expect(await take(store, pair, fence)).toMatchObject({ fence });
    expect(await store.read(pair, IN_TIME)).toMatchObject({ fence: fence + 1, leaseOwner: 'me' });
    expect(await store.end(pair, leaseOf(fence + 1), publish(), IN_TIME)).toBe(true);
  });

  it('is taken over by one alone', async () => {
    const { store, pair, put } = await connect();
    await put({ fence: { S: 'seven' } });
    const owners = ['a', 'b', 'c', 'd', 'e'];
    const answers = await Promise.all(owners.map((owner) => take(store, pair, 0, { owner })));
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
  });
});

describe('a token that cannot be read', () => {
  it('is missing from the record, and counted', async () => {
    const { store, pair, put, item, unreadable } = await connect();
    await give(store, pair);
    await put({ ...(await item()), expiresAt: { N: `${START + 86_400_000}` } });
    const closed = { ...EMPTY_RECORD, fence: 1, attemptedAt: START, closedUntil: START + 60_000 };
    expect(await store.read(pair, IN_TIME)).toEqual(closed);
    expect(await take(store, pair, 1)).toMatchObject({ token: undefined, closedUntil: START + 60_000 });
    expect(unreadable).toEqual(['closed', 'closed']);
  });

  it('is not counted where there is none', async () => {
    const { store, pair, unreadable } = await connect();
    await store.read(pair, IN_TIME);
    await take(store, pair, 0);
    expect(unreadable).toEqual([]);
  });

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
    ['of another type', { sealedToken: { S: 'text' } }],
    ['without what it was sealed with', { fingerprint: { NULL: true } }],
  ])('is left alone for a minute when it is %s, and its flags count', async (_how, altered) => {
    const { store, pair, put, item, unreadable } = await connect();
    await give(store, pair);
    const flags = { disabled: { BOOL: true }, 'rejected:v1': { SS: ['1@1'] }, pauseUntil: { N: '5' } };
    await put({ ...(await item()), ...altered, ...flags, 'held:v1:x': { S: '{"until":7,"step":1}' } });
    const record = await store.read(pair, IN_TIME);
    expect(record).toMatchObject({
      token: undefined,
      closedUntil: START + 60_000,
      disabled: true,
      pause: { until: 5 },
    });
    expect([record.rejected.size, record.held.size]).toEqual([1, 1]);
    expect(unreadable).toEqual(['closed']);
  });

  it.each<[string, Item, number]>([
    ['its issue, when that came last', { issuedAt: { N: `${START - 1}` }, attemptedAt: { N: '1' } }, START + 59_999],
    ['its attempt, when that came last', { issuedAt: { N: '1' }, attemptedAt: { N: `${START - 1}` } }, START + 59_999],
    [
      'now, when a clock was ahead',
      { issuedAt: { N: `${START + 3_600_000}` }, attemptedAt: { N: '1' } },
      START + 60_000,
    ],
    ['never, when no clock is that wrong', { issuedAt: { N: '9e15' }, attemptedAt: { N: '9e15' } }, 60_000],
    ['never, when it tells no times', { issuedAt: { S: 'x' }, attemptedAt: { S: 'x' } }, 60_000],
  ])('is left alone for a minute from %s', async (_when, times, closedUntil) => {
    const { store, pair, put } = await connect();
    await put({ sealedToken: { B: Buffer.of(2) }, ...times });
    expect(await store.read(pair, IN_TIME)).toMatchObject({ token: undefined, closedUntil });
  });

  it('is replaced by the next one', async () => {
    const { store, pair, put } = await connect();
    await put({ sealedToken: { S: 'text' }, fence: { N: '1' }, leaseOwner: { S: 'me' } });
    expect(await store.end(pair, leaseOf(1), publish(), IN_TIME)).toBe(true);
    const { token, closedUntil } = await store.read(pair, IN_TIME);
    expect({ fingerprint: token?.fingerprint, closedUntil }).toEqual({
      fingerprint: exampleToken().fingerprint,
      closedUntil: 0,
    });
  });
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
    const ending = store.end(pair, leaseOf(2), publish(), IN_TIME);
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
  const dump = [JSON.stringify(Items), ...bytes.flatMap((b) => [b.toString('latin1'), b.toString('base64')])].join(
    '\n',
  );
  expect(dump).toContain(token.fingerprint);
  for (const secret of secrets) {
    const forms = [0, 1, 2].map((shift) =>
      Buffer.from(' '.repeat(shift) + secret)
        .toString('base64')
        .slice(4, -4),
    );
    for (const form of [secret, encodeURIComponent(secret), ...forms]) expect(dump).not.toContain(form);
  }
});

function take(store: PairStore, pair: Pair, seenFence: number, changes: Partial<Acquisition> = {}) {
  const times = { now: START, until: START + 6_000 };
  const rest = { owner: 'me', observedExpired: false, forced: false, chargedVersion: undefined, isCheck: false };
  return store.acquire(pair, { seenFence, ...times, ...rest, ...changes }, IN_TIME);
}

function leaseOf(fence: number): Lease {
  return { owner: 'me', fence };
}

function publish(token = exampleToken()): Ending {
  return { kind: 'publish', token, holdKey: 'v1:settings' };
}

function reject(store: PairStore, pair: Pair, lease: Lease): Promise<void> {
  return store.reject(pair, lease, { version: 'v1', at: START, goneVersions: [] }, IN_TIME);
}

/** Lets a pair without a record have a token. */
async function give(store: PairStore, pair: Pair, token = exampleToken()): Promise<void> {
  await take(store, pair, 0);
  await store.end(pair, leaseOf(1), publish(token), IN_TIME);
}

let pairs = 0;

/** The table as an environment has it, and a pair that no other test uses. */
async function connect(options: Parameters<typeof connectPairTable>[1] = {}) {
  const table = await connectPairTable(dynamodb.url, options);
  onTestFinished(table.close);
  pairs += 1;
  const pair: Pair = { client: `client-${pairs}`, service: 'customer-insights' };
  const keyOf = ({ client, service }: Pair) => ({ pair: { S: `${client}/${service}` } });
  return {
    ...table,
    pair,
    item: async (): Promise<Item> => {
      const answer = await table.direct.send(new GetItemCommand({ TableName: TABLE, Key: keyOf(pair) }));
      return answer.Item ?? {};
    },
    put: async (item: Item, under = pair) => {
      await table.direct.send(new PutItemCommand({ TableName: TABLE, Item: { ...item, ...keyOf(under) } }));
    },
  };
}
