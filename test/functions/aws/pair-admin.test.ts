import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDynamoDB } from '../../../bin/local/dynamodb.ts';
import { createDynamoDBClient } from '../../../functions/aws/dynamodb-client.ts';
import { createPairAdmin } from '../../../functions/aws/pair-table/admin.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import { START } from '../../support/example.ts';
import { examplePublication, revealed } from '../../support/pair-examples.ts';
import { connectPairTable, TABLE } from '../../support/pair-table.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

async function connect(pair: Pair) {
  const { store, direct, endpoint, close } = await connectPairTable(dynamodb.url);
  onTestFinished(close);
  const admin = createPairAdmin({ dynamodb: direct, tableName: TABLE, now: () => START });
  const key = { TableName: TABLE, Key: { pair: { S: `${pair.client}/${pair.service}` } } };
  const item = async () => (await direct.send(new GetItemCommand(key))).Item;
  return { store, admin, item, endpoint };
}

async function take(store: PairStore, pair: Pair, seenFence: number, until = START): Promise<void> {
  const own = { owner: 'me', now: START, until, outwaited: false, forced: false, chargedVersion: undefined };
  expect(await store.acquire(pair, { seenFence, ...own })).toBeDefined();
}

describe('disabling a pair', () => {
  it('shows in its record, and ends with enabling', async () => {
    const { store, admin } = await connect(PAIR);
    await admin.disable(PAIR);
    expect(await store.read(PAIR, 'strong')).toMatchObject({ disabled: true, fence: 0 });
    await admin.enable(PAIR);
    expect(await store.read(PAIR, 'strong')).toMatchObject({ disabled: false, fence: 0 });
  });

  it('leaves token, latches and a lease as they are', async () => {
    const pair = { ...PAIR, client: 'kept' };
    const { store, admin } = await connect(pair);
    await take(store, pair, 0);
    await store.publish(pair, 1, examplePublication());
    await take(store, pair, 1);
    await store.reject(pair, 2, { version: 'v2', at: START, goneVersions: [] });
    await take(store, pair, 2, START + 6_000);
    const before = await store.read(pair, 'strong');

    await admin.disable(pair);
    const after = await store.read(pair, 'strong');
    expect({ ...after, token: revealed(after.token) }).toEqual({
      ...before,
      token: revealed(before.token),
      disabled: true,
    });
  });

  it('is never garbage, however long nobody writes; enabled it is again, after 90 days', async () => {
    const pair = { ...PAIR, client: 'patient' };
    const { store, admin, item } = await connect(pair);
    await take(store, pair, 0);
    expect(await item()).toHaveProperty('forgetAt');
    await admin.disable(pair);
    expect(await item()).not.toHaveProperty('forgetAt');
    await admin.enable(pair);
    expect(await item()).toMatchObject({ forgetAt: { N: `${START / 1_000 + 90 * 86_400}` } });
  });

  it('makes no record when nothing was disabled', async () => {
    const pair = { ...PAIR, client: 'unknown' };
    const { admin, item } = await connect(pair);
    await admin.enable(pair);
    expect(await item()).toBeUndefined();
  });
});

describe('clearing latches', () => {
  it('takes those of every version away and tells which, and touches nothing else', async () => {
    const pair = { ...PAIR, client: 'latched' };
    const { store, admin } = await connect(pair);
    await admin.disable(pair);
    for (const [fence, version] of ['v1', 'v2', 'v2'].entries()) {
      await take(store, pair, fence);
      await store.reject(pair, fence + 1, { version, at: START, goneVersions: [] });
    }
    const before = await store.read(pair, 'strong');
    expect(before.rejected.get('v2')?.count).toBe(2);

    expect(await admin.clearLatches(pair)).toEqual(['v1', 'v2']);
    expect(await store.read(pair, 'strong')).toEqual({ ...before, rejected: new Map() });
  });

  it('writes nothing when there is none', async () => {
    const pair = { ...PAIR, client: 'clean' };
    const { admin, item } = await connect(pair);
    expect(await admin.clearLatches(pair)).toEqual([]);
    expect(await item()).toBeUndefined();
  });
});

it('tells when DynamoDB does not answer', async () => {
  const { endpoint } = await connect(PAIR);
  endpoint.failWith('hang');
  const client = createDynamoDBClient({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' },
  });
  onTestFinished(() => client.destroy());
  const signal = AbortSignal.timeout(50);
  const admin = createPairAdmin({ dynamodb: client, tableName: TABLE, now: () => START, signal });
  await expect(admin.disable(PAIR)).rejects.toMatchObject({ name: 'AbortError' });
});
