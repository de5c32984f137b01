import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { text } from '../../../../functions/aws/attributes.ts';
import { type Item, readMembers, readToken } from '../../../../functions/aws/pair-table/item.ts';
import { EMPTY_RECORD, type PairRecord } from '../../../../functions/broker/pair/record.ts';
import { StoreUnavailable } from '../../../../functions/broker/pair/store.ts';
import { type Pair, pairKey } from '../../../../functions/broker/pair.ts';
import { START } from '../../../support/example.ts';
import { exampleToken, fullRecord, WAIT } from '../../../support/pair/pair-examples.ts';
import { connectPairTable, IN_TIME, keysOf, TABLE } from '../../../support/pair/pair-table.ts';
import { repeatAtOnce, startDynamoDB } from '../../../support/processes/stand-ins.ts';

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

it('makes one strongly consistent GetItem for a read, and one UpdateItem for a write', async () => {
  const { endpoint, write } = await connect();
  await write(fullRecord());
  expect(endpoint.operations).toEqual(['GetItem', 'UpdateItem']);
  expect(endpoint.calls[0]).toMatchObject({ parameters: { ConsistentRead: true } });
});

it('keeps a record 90 days from its last write, and a record with a latch or a stop for good', async () => {
  const { admin, pair, clock, item, write } = await connect();
  const dated = (days: number) => ({ N: `${START / 1_000 + days * 86_400}` });
  const forgetAt = async () => (await item()).forgetAt;
  await write({ attemptedAt: START });
  clock.now += 86_400_000;
  await write();
  expect(await forgetAt()).toEqual(dated(91));

  const { rejected } = fullRecord();
  await write({ rejected });
  expect(await forgetAt()).toBeUndefined();
  await admin.disable(pair);
  await admin.enable(pair, () => undefined);
  // DynamoDB's garbage collection passes over a date that is no number.
  expect((await forgetAt())?.N).toBeUndefined();
  await write({ rejected: new Map() });
  expect(await forgetAt()).toEqual(dated(91));

  await admin.disable(pair);
  expect(await forgetAt()).toBeUndefined();
  await write();
  expect(await forgetAt()).toBeUndefined();
  await admin.enable(pair, () => undefined);
  expect(await forgetAt()).toEqual(dated(91));
});

it('repeats a read and a write that fail once, and knows a write whose answer was lost for its own', async () => {
  const { endpoint, write, record } = await connect();
  const failed = new Set<string>();
  endpoint.failWhere(({ operation }) => {
    if (failed.has(operation)) return undefined;
    failed.add(operation);
    return operation === 'GetItem' ? 'internal-error' : 'lost-answer';
  });
  await write({ lease: { id: 'mine', until: START } });
  expect(endpoint.operations).toEqual(['GetItem', 'GetItem', 'UpdateItem', 'UpdateItem']);
  expect(await record()).toMatchObject({ lease: { id: 'mine' } });
});

it.each([
  ['access-denied', 'lasting', 'GetItem AccessDeniedException', 'UpdateItem AccessDeniedException'],
  ['hang', 'silent', 'OutOfTime', 'OutOfTime'],
] as const)('says in a word, and in time, why the store is unavailable: %s', async (fault, kind, ofRead, ofWrite) => {
  const { store, pair, endpoint } = await connect(fault === 'hang' ? { callMs: 20 } : {});
  endpoint.failWith(fault);
  const unavailable = (cause: string) => ({ type: 'table-unavailable', kind, cause });
  await expect(store.read(pair, IN_TIME)).rejects.toMatchObject(unavailable(ofRead));
  await expect(store.replace(pair, NOTHING, fullRecord(), IN_TIME)).rejects.toMatchObject(unavailable(ofWrite));
});

it.each([
  ['another pair', { pair: { S: 'globex/customer-insights' } }],
  ['no pair', { pair: ['acme'], lease: 7 }],
])('takes no record from an answer about %s', async (_what, Item) => {
  const { store, pair, endpoint } = await connect();
  endpoint.failWith((response) => response.end(JSON.stringify({ Item })));
  await expect(store.read(pair, IN_TIME)).rejects.toMatchObject({ type: 'table-unavailable', cause: 'TypeError' });
});

it('has a circuit for reads and one for writes, which calls that settle an outcome ignore', async () => {
  const { store, pair, endpoint } = await connect();
  const read = (settles = false) => store.read(pair, { ...IN_TIME, settles });
  const write = (settles = false) => store.replace(pair, NOTHING, fullRecord(), { ...IN_TIME, settles });
  const open = async (call: () => Promise<unknown>) => {
    endpoint.failWith('access-denied');
    for (let times = 0; times < 3; times += 1) await expect(call()).rejects.toThrow(StoreUnavailable);
    endpoint.failWith(undefined);
    await expect(call()).rejects.toMatchObject({ kind: 'lasting' });
  };
  await open(write);
  expect(await read()).toMatchObject(NOTHING);
  expect(await write(true)).toBeDefined();
  await open(read);
  expect(await read(true)).toMatchObject({ tag: expect.any(String) });
});

describe('an item that is not as it should be', () => {
  const FULL: Item = {
    ...{ lease: { S: '{"id":"a","until":5}' }, attemptedAt: { S: '5' }, forcedAt: { S: '5' } },
    ...{ rejected: { S: '{"v1":{"count":1,"at":5,"by":"a"}}' }, held: { S: '{"v1:a":{"until":5,"step":1}}' } },
    ...{ pause: { S: '{"until":5,"step":1}' }, checked: { S: '{"version":"v1","at":5,"finding":"accepted"}' } },
  };
  const MALFORMED: Readonly<Record<string, readonly string[]>> = {
    lease: ['{"id":"a"}', '{"id":1,"until":5}', '{"id":"a","until":"5"}', '{"id":"a","until":1e999}'],
    attemptedAt: ['"5"', '1e999', 'null'],
    forcedAt: ['"5"', '{}'],
    rejected: ['{"v1":1}', '{"v1":{"count":0,"at":5}}', '{"v1":{"count":"1","at":5}}', '{"v1":{"count":1}}', '[{}]'],
    held: ['{"v1:a":{"until":"5","step":1}}', '{"v1:a":{"until":5}}', '{"v1:a":[]}', '"x"'],
    pause: ['{"until":5}', '{"until":"5","step":1}'],
    checked: ['{"version":"v1","at":5,"finding":"unknown"}', '{"version":"v1","finding":"accepted"}'],
    token: ['{"fingerprint":"a"}', '{"expiresAt":9e15,"issuedAt":5}'],
    tag: [],
  };
  const OF_ANY_KIND: readonly Item[string][] = [
    ...[{ N: '5' }, { BOOL: true }, { NULL: true }, { L: [] }, { M: {} }, { B: Buffer.of(1) }, { SS: ['a'] }],
  ];
  const TEXTS = ['', '{', '[]', 'null'];

  it.each(Object.entries(MALFORMED))('counts as if it had no "%s" where that is malformed', (name, texts) => {
    const { [name]: _, ...rest } = FULL;
    const read = (item: Item) => [readMembers(item), readToken(item), name === 'tag' && text(item.tag)];
    const ofText = name === 'tag' ? [] : [...TEXTS, ...texts].map((S) => ({ S }));
    for (const value of [...OF_ANY_KIND, ...ofText]) {
      expect({ value, read: read({ ...FULL, [name]: value }) }).toEqual({ value, read: read(rest) });
    }
  });

  it.each(Object.keys(MALFORMED))('can be written where its "%s" is malformed', async (name) => {
    const { put, record, write } = await connect();
    for (const value of OF_ANY_KIND.slice(0, 2)) {
      await put({ ...FULL, [name]: value });
      const next = { ...(await record()), attemptedAt: START + 1 };
      expect((await write({ attemptedAt: START + 1 })).record).toEqual(next);
      expect(await record()).toEqual(next);
    }
  });

  it('is a stop where it holds "disabled" in any form, for the writes that follow too', async () => {
    const { put, record, write } = await connect();
    const stops = [{ S: '{"since":5}' }, { S: 'x' }, { S: '' }, { BOOL: false }, { NULL: true }, { N: '0' }] as const;
    for (const disabled of stops) {
      await put({ ...FULL, disabled });
      const since = JSON.stringify(disabled).includes('since') ? 5 : 0;
      expect((await record()).disabled).toEqual({ since });
      await write({ lease: undefined, disabled: undefined });
      expect((await record()).disabled).toEqual({ since });
    }
  });

  it('reads what a newer release writes in members that it knows, and keeps what it does not know', async () => {
    const { put, item, record, write } = await connect();
    const problem = '{"type":"a type of a newer release","detail":"x"}';
    const wait = `{"until":5,"step":2,"newer":1,"problem":${problem}}`;
    const newer = { newer: { S: 'x' }, newest: { M: { a: { N: '1' } } } };
    await put({ ...FULL, ...newer, pause: { S: wait }, held: { S: `{"v1:a":${wait}}` }, token: { S: '{"newer":1}' } });
    const { pause, held } = await record();
    expect(pause).toMatchObject({ until: 5, step: 2, problem: { type: 'token-endpoint-unavailable' } });
    expect([...held]).toMatchObject([['v1:a', { until: 5, step: 2, problem: { type: 'token-endpoint-error' } }]]);
    for (const next of [fullRecord(), EMPTY_RECORD]) {
      await write(next);
      expect(await item()).toMatchObject(newer);
    }
  });

  it('has a reason without the report that nothing could print', () => {
    const problem = { type: 'internal', detail: 'x' };
    const S = JSON.stringify({ until: 5, step: 1, problem: { ...problem, shape: { members: 5 } } });
    expect(readMembers({ pause: { S } }).pause).toEqual({ until: 5, step: 1, problem });
  });

  it('reads without a failure where an answer holds what is no attribute', async () => {
    const { pair, record, endpoint } = await connect();
    const Item = { pair: { S: pairKey(pair) }, lease: null, rejected: [1], token: { S: 1 }, tag: 7, disabled: null };
    endpoint.failWith((response) => response.end(JSON.stringify({ Item })));
    expect(await record()).toEqual({ ...EMPTY_RECORD, disabled: { since: 0 } });
  });
});

it.each<[string, (item: Item) => Item]>([
  ['altered', ({ token }) => ({ token: edited(token, 'Bearer', 'bearer') })],
  ['without its bytes', () => ({ sealed: { S: 'x' } })],
  ['without the name of its key', ({ token }) => ({ token: edited(token, '"key-1"', '1') })],
])('shows the visible part of a token, and all else counts and can be changed: %s', async (_how, alter) => {
  const { pair, put, item, record, write, unreadable } = await connect();
  await write(fullRecord());
  const altered = { ...(await item()), ...alter(await item()) };
  await put(altered);
  const { fingerprint } = exampleToken();
  expect(await record()).toMatchObject({ ...fullRecord(), token: { fingerprint } });
  expect((await record()).token).not.toHaveProperty('accessToken');
  expect(unreadable).toEqual([pair, pair]);

  await write({ pause: undefined, lease: undefined });
  const { token, sealed } = await item();
  expect({ token, sealed }).toEqual({ token: altered.token, sealed: altered.sealed });
  await write({ token: undefined });
  expect(await item()).not.toMatchObject({ token: expect.anything() });
  await write({ token: exampleToken() });
  expect(await record()).toMatchObject({ token: exampleToken(), pause: undefined });
});

it('is no table without its sealing key: it neither reads nor publishes, and names the key', async () => {
  const { store, pair, item, write: writeWithout } = await connect({ keys: keysOf() });
  const { write, record } = await connect({}, pair);
  await write({ token: undefined });
  const before = await item();
  const noKey = { type: 'table-unavailable', kind: 'lasting', cause: 'no-sealing-key' };
  await expect(store.read(pair, IN_TIME)).rejects.toMatchObject(noKey);
  const seen = { record: await record(), tag: before.tag?.S };
  await expect(store.replace(pair, seen, fullRecord(), IN_TIME)).rejects.toMatchObject(noKey);
  await expect(writeWithout({ pause: WAIT })).rejects.toMatchObject(noKey);
  expect(await item()).toEqual(before);
});

const NOTHING = { record: EMPTY_RECORD, tag: undefined };
let pairs = 0;

function edited(attribute: Item[string] | undefined, from: string, to: string): Item[string] {
  expect(attribute?.S).toContain(from);
  return { S: `${attribute?.S?.replace(from, to)}` };
}

/** The table as an environment has it, and a pair that no other test uses. */
async function connect(
  options: Parameters<typeof connectPairTable>[1] = {},
  pair: Pair = { client: `client-${++pairs}`, service: 'customer-insights' },
) {
  repeatAtOnce();
  const table = await connectPairTable(dynamodb.url, options);
  onTestFinished(table.close);
  const keyOf = (of: Pair) => ({ pair: { S: pairKey(of) } });
  return {
    ...table,
    pair,
    record: async () => (await table.store.read(pair, IN_TIME)).record,
    /** Changes some members of the record that is there now. */
    async write(changes: Partial<PairRecord> = {}) {
      const seen = await table.store.read(pair, IN_TIME);
      const written = await table.store.replace(pair, seen, { ...seen.record, ...changes }, IN_TIME);
      if (written === undefined) throw new Error('another write came first');
      return written;
    },
    item: async (): Promise<Item> =>
      (await table.direct.send(new GetItemCommand({ TableName: TABLE, Key: keyOf(pair) }))).Item ?? {},
    put: async (item: Item, under = pair) => {
      await table.direct.send(new PutItemCommand({ TableName: TABLE, Item: { ...item, ...keyOf(under) } }));
    },
  };
}
