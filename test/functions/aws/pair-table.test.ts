import { GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDynamoDB } from '../../../bin/local/dynamodb.ts';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../functions/broker/pair/record.ts';
import type { Acquisition, PairStore } from '../../../functions/broker/pair/store.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { START } from '../../support/example.ts';
import { examplePublication, exampleToken } from '../../support/pair-examples.ts';
import { connectPairTable, exampleKey, keysOf, TABLE } from '../../support/pair-table.ts';

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

describe('the calls to DynamoDB', () => {
  it.each([
    ['eventual', false],
    ['strong', true],
  ] as const)('are exactly one GetItem for a read, %s', async (consistency, isStrong) => {
    const { store, pair, endpoint } = await connect();
    await store.read(pair, consistency);
    expect(endpoint.calls).toMatchObject([{ operation: 'GetItem', parameters: { ConsistentRead: isStrong } }]);
  });

  it('are exactly one UpdateItem for every write', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    await store.publish(pair, 1, examplePublication());
    await take(store, pair, 1);
    await store.reject(pair, 2, { version: 'v1', at: START, goneVersions: [] });
    await take(store, pair, 2);
    await store.pause(pair, 3, { until: START, step: 1, problem: { type: 'internal', detail: '' } });
    await take(store, pair, 3);
    await store.release(pair, 4);
    expect(endpoint.calls.map(({ operation }) => operation)).toEqual(Array(8).fill('UpdateItem'));
  });

  it('are one UpdateItem more for the rejection of somebody who lost the lease', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    await store.reject(pair, 7, { version: 'v1', at: START, goneVersions: [] });
    expect(endpoint.calls.map(({ operation }) => operation)).toEqual(Array(3).fill('UpdateItem'));
  });

  it.each<[string, (store: PairStore, pair: Pair) => Promise<unknown>]>([
    ['acquire', (store, pair) => take(store, pair, 1)],
    ['publish', (store, pair) => store.publish(pair, 1, examplePublication())],
    ['pause', (store, pair) => store.pause(pair, 1, { until: 0, step: 1, problem: { type: 'internal', detail: '' } })],
    ['reject', (store, pair) => store.reject(pair, 1, { version: 'v1', at: START, goneVersions: [] })],
    ['release', (store, pair) => store.release(pair, 1)],
  ])('put off the date after which the item is garbage to 90 days from now: %s', async (_name, write) => {
    const { store, pair, clock, item } = await connect();
    await take(store, pair, 0);
    clock.now += 86_400_000;
    await write(store, pair);
    expect((await item()).forgetAt).toEqual({ N: `${START / 1_000 + 91 * 86_400}` });
  });
});

describe('a call that the SDK repeats because its answer was lost', () => {
  it('takes one lease and uses up one chance', async () => {
    const { store, pair, endpoint } = await connect();
    await take(store, pair, 0);
    await store.reject(pair, 1, { version: 'v1', at: START, goneVersions: [] });

    endpoint.failWith('lost-answer', 1);
    expect(await take(store, pair, 1, { chargedVersion: 'v1' })).toMatchObject({ fence: 1, leaseOwner: 'me' });
    const record = await store.read(pair, 'strong');
    expect(record).toMatchObject({ fence: 2, leaseOwner: 'me' });
    expect(record.rejected.get('v1')?.count).toBe(2);
  });

  it('publishes, pauses, rejects and releases as if it had not been lost', async () => {
    const { store, pair, endpoint } = await connect();
    const lossy = async <Answer>(call: () => Promise<Answer>) => {
      await take(store, pair, (await store.read(pair, 'strong')).fence);
      endpoint.failWith('lost-answer', 1);
      return call();
    };
    expect(await lossy(() => store.publish(pair, 1, examplePublication()))).toBe(true);
    const pause = { until: START, step: 1, problem: { type: 'internal', detail: '' } } as const;
    expect(await lossy(() => store.pause(pair, 2, pause))).toBe(true);
    await lossy(() => store.reject(pair, 3, { version: 'v2', at: START, goneVersions: [] }));
    await lossy(() => store.release(pair, 4));
    const record = await store.read(pair, 'strong');
    expect(record).toMatchObject({ fence: 4, leaseOwner: undefined, pause });
    expect(record.rejected.get('v2')?.count).toBe(1);
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
    ['what newer code wrote', { lastCheck: { M: { at: { N: '1' } } }, 'rejected by': { S: 'x' } }],
  ])('reads as empty where it holds %s', async (_what, garbage) => {
    const { store, pair, put } = await connect();
    await put(garbage);
    expect(await store.read(pair, 'strong')).toEqual(EMPTY_RECORD);
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
    });
    const { fence, disabled, rejected, pause } = await store.read(pair, 'strong');
    expect({ fence, disabled }).toEqual({ fence: 7, disabled: true });
    expect([...rejected]).toEqual([['v1', { count: 2, at: 2, fence: 7 }]]);
    expect(pause).toMatchObject({ until: 5, step: 1, problem: { type: 'token-endpoint-unavailable' } });
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
    const { fence } = await store.read(pair, 'strong');
    expect(await take(store, pair, fence)).toMatchObject({ fence });
    expect(await store.read(pair, 'strong')).toMatchObject({ fence: fence + 1, leaseOwner: 'me' });
    expect(await store.publish(pair, fence + 1, examplePublication())).toBe(true);
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
    await publish(store, pair);
    await put({ ...(await item()), expiresAt: { N: `${START + 86_400_000}` } });
    expect(await store.read(pair, 'strong')).toEqual({ ...EMPTY_RECORD, fence: 1, attemptedAt: START });
    expect(await take(store, pair, 1)).toMatchObject({ token: undefined });
    expect(unreadable).toEqual(['broken', 'broken']);
  });

  it('is not counted where there is none', async () => {
    const { store, pair, unreadable } = await connect();
    await store.read(pair, 'strong');
    await take(store, pair, 0);
    expect(unreadable).toEqual([]);
  });

  it('never is the token of another pair, however the items are swapped', async () => {
    const { store, pair, put, item, unreadable } = await connect();
    await publish(store, pair);
    const other = { ...pair, client: `${pair.client}-other` };
    await put(await item(), other);
    expect(await store.read(other, 'strong')).toMatchObject({ token: undefined, foreignUntil: 0, fence: 1 });
    expect(unreadable).toEqual(['broken']);
  });

  it('is left alone until it would be refreshed when its key is not known', async () => {
    const { store, pair, unreadable } = await connect({ keys: keysOf(exampleKey('key-2')) });
    const { store: others } = await connect({ keys: keysOf(exampleKey('key-1')) });
    await publish(others, pair);
    const record = await store.read(pair, 'strong');
    expect(record).toEqual({
      ...{ ...EMPTY_RECORD, fence: 1, attemptedAt: START },
      foreignUntil: exampleToken().refreshAt,
    });
    expect(unreadable).toEqual(['foreign']);
  });

  it.each<[string, Item, number]>([
    ['began in the future', { issuedAt: { N: `${START + 900_001}` } }, 0],
    ['says no beginning', { issuedAt: { S: 'x' } }, 30 * 86_400_000],
    ['says no end', { refreshAt: { S: 'x' } }, 0],
    ['would outlive every life time', { refreshAt: { N: '9e15' } }, START + 30 * 86_400_000],
  ])('is not left alone for ever when it is foreign and %s', async (_how, changes, foreignUntil) => {
    const { store, pair, put } = await connect();
    const issuedAt = { N: `${START}` };
    const refreshAt = { N: `${START + 1_000}` };
    await put({ sealedToken: { B: Buffer.of(2) }, issuedAt, refreshAt, ...changes });
    expect(await store.read(pair, 'strong')).toMatchObject({ token: undefined, foreignUntil });
  });

  it('is replaced by the next one', async () => {
    const { store, pair, put } = await connect();
    await put({ sealedToken: { S: 'text' }, fence: { N: '1' } });
    expect(await store.publish(pair, 1, examplePublication())).toBe(true);
    expect(await store.read(pair, 'strong')).toMatchObject({ token: { fingerprint: exampleToken().fingerprint } });
  });
});

describe('an environment without its sealing key', () => {
  it('sees latch, pause and the operator, and is told to go on by itself for ten seconds', async () => {
    const { store, pair, put, unreadable } = await connect({ keys: keysOf() });
    await put({ disabled: { BOOL: true }, 'rejected:v1': { SS: ['1@1'] }, pauseUntil: { N: '5' } });
    const record = await store.read(pair, 'strong');
    expect(record).toMatchObject({ disabled: true, pause: { until: 5 }, foreignUntil: 0, isLocked: true });
    expect(record.rejected.size).toBe(1);
    expect(unreadable).toEqual(['locked']);
  });

  it('ends its lease when it has a token to publish, and leaves the token of others alone', async () => {
    const { store, pair } = await connect({ keys: keysOf() });
    const { store: others } = await connect();
    await publish(others, pair);
    await take(store, pair, 1);
    await expect(store.publish(pair, 2, examplePublication())).rejects.toMatchObject({ cause: 'no-sealing-key' });
    const record = await others.read(pair, 'strong');
    expect(record).toMatchObject({ fence: 2, leaseOwner: undefined, token: exampleToken() });
  });
});

it('shows no token and no scope to whoever reads the table', async () => {
  const secrets = ['marked.token/with+signs=', 'marked scope', 'märked/value'];
  const [accessToken = '', scope = '', value] = secrets;
  const { store, pair, direct } = await connect();
  await take(store, pair, 0);
  const token = exampleToken({ accessToken: new Redacted(accessToken), scope, passThrough: { value } });
  await store.publish(pair, 1, examplePublication(token));

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
  const rest = { owner: 'me', outwaited: false, forced: false, chargedVersion: undefined };
  return store.acquire(pair, { seenFence, ...times, ...rest, ...changes });
}

async function publish(store: PairStore, pair: Pair): Promise<PairRecord | undefined> {
  const before = await take(store, pair, 0);
  await store.publish(pair, 1, examplePublication());
  return before;
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
