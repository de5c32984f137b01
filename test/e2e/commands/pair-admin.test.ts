import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createPairAdmin } from '../../../bin/commands/shared/pair-changes.ts';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import type { Wait } from '../../../functions/broker/pair/record.ts';
import type { Ending, Lease, PairStore } from '../../../functions/broker/pair/store.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { START } from '../../support/example.ts';
import { exampleToken, revealed } from '../../support/pair/pair-examples.ts';
import { connectPairTable, IN_TIME, TABLE } from '../../support/pair/pair-table.ts';
import { EXAMPLE_KEY, startDynamoDB } from '../../support/processes/stand-ins.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

async function connect(pair: Pair) {
  const { store, endpoint, close } = await connectPairTable(dynamodb.url);
  onTestFinished(close);
  const direct = new DynamoDB({ endpoint: dynamodb.url, region: 'us-east-1', credentials: EXAMPLE_KEY });
  onTestFinished(() => direct.destroy());
  const admin = createPairAdmin(direct, TABLE, new AbortController().signal, () => START);
  const key = { TableName: TABLE, Key: { pair: { S: `${pair.client}/${pair.service}` } } };
  const item = async () => (await direct.getItem(key)).Item;
  const put = (attributes: Item) => direct.putItem({ TableName: TABLE, Item: { ...attributes, ...key.Key } });
  return { store, admin, item, put, endpoint };
}

async function take(store: PairStore, pair: Pair, until = START): Promise<Lease> {
  const { fence } = await store.read(pair, IN_TIME);
  const rest = { observedExpired: false, forced: false, chargedVersion: undefined, isCheck: false };
  const own = { seenFence: fence, owner: 'me', now: START, until, ...rest };
  expect(await store.acquire(pair, own, IN_TIME)).toBeDefined();
  return { owner: 'me', fence: fence + 1 };
}

function reject(store: PairStore, pair: Pair, lease: Lease, version: string): Promise<void> {
  return store.reject(pair, lease, { version, at: START, goneVersions: [] }, IN_TIME);
}

async function end(store: PairStore, pair: Pair, ending: Ending): Promise<void> {
  expect(await store.end(pair, await take(store, pair), ending, IN_TIME)).toBe(true);
}

it('a disabled pair keeps token, latches and lease, and never expires; enabled, it expires after 90 days', async () => {
  const { store, admin, item } = await connect(PAIR);
  await admin.enable(PAIR);
  // There was nothing to enable.
  expect(await item()).toBeUndefined();
  await end(store, PAIR, { kind: 'publish', token: exampleToken(), holdKey: 'v1:settings' });
  await reject(store, PAIR, await take(store, PAIR), 'v2');
  await take(store, PAIR, START + 6_000);
  const read = async () => {
    const record = await store.read(PAIR, IN_TIME);
    return { ...record, token: revealed(record.token) };
  };
  const before = await read();
  await admin.disable(PAIR);
  expect(await read()).toEqual({ ...before, disabled: true });
  expect(await item()).not.toHaveProperty('forgetAt');
  await admin.enable(PAIR);
  expect(await read()).toEqual({ ...before, disabled: false });
  expect(await item()).toMatchObject({ forgetAt: { N: `${START / 1_000 + 90 * 86_400}` } });
});

describe('clearing latches, holds and pauses', () => {
  it('takes latches, holds and the pause away and tells which, and touches nothing else', async () => {
    const pair = { ...PAIR, client: 'latched' };
    const { store, admin } = await connect(pair);
    await admin.disable(pair);
    for (const version of ['v1', 'v2', 'v2']) await reject(store, pair, await take(store, pair), version);
    const wait: Wait = { until: START, step: 2, problem: { type: 'internal', detail: 'x' } };
    for (const key of ['v1:a', 'v1:b']) {
      await end(store, pair, { kind: 'hold', key, hold: wait, expiredKeys: [] });
    }
    await end(store, pair, { kind: 'pause', pause: wait });
    await end(store, pair, { kind: 'publish', token: exampleToken(), holdKey: 'v3:a' });
    await end(store, pair, { kind: 'pause', pause: wait });
    const before = await store.read(pair, IN_TIME);
    // A publication ends the latch of its version.
    expect([...before.rejected.keys()]).toEqual(['v2']);

    expect(await admin.clear(pair)).toEqual({ versions: ['v2'], holds: ['v1:a', 'v1:b'], pause: true });
    const after = await store.read(pair, IN_TIME);
    expect({ ...after, token: revealed(after.token) }).toEqual({
      ...before,
      ...{ token: revealed(before.token), rejected: new Map(), held: new Map(), pause: undefined },
    });
  });

  it('removes unreadable entries too, and writes nothing when there are none', async () => {
    const pair = { ...PAIR, client: 'malformed' };
    const { admin, item, put } = await connect(pair);
    expect(await admin.clear(pair)).toEqual({ versions: [], holds: [], pause: false });
    expect(await item()).toBeUndefined();
    await put({ 'rejected:v1': { S: 'x' }, 'held:v1:a': { N: '1' }, pauseProblem: { NULL: true } });
    expect(await admin.clear(pair)).toEqual({ versions: ['v1'], holds: ['v1:a'], pause: true });
    expect(await admin.clear(pair)).toEqual({ versions: [], holds: [], pause: false });
  });
});
