import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { EMPTY_RECORD, StoreUnavailable } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import type { CallFault } from '../../support/dynamodb.ts';
import { START } from '../../support/example.ts';
import { connectPairTable, IN_TIME } from '../../support/pair-table.ts';
import { startDynamoDB } from '../../support/stand-ins.ts';

const PAIR: Pair = { client: 'acme', service: 'customer-insights' };
const LEASE = { owner: 'me', fence: 1 };

const OPERATIONS: readonly [string, (store: PairStore) => Promise<unknown>][] = [
  ['read', (store) => store.read(PAIR, IN_TIME)],
  ['acquire', (store) => store.acquire(PAIR, acquisition(), IN_TIME)],
  ['end', (store) => store.end(PAIR, LEASE, { kind: 'release' }, IN_TIME)],
  ['reject', (store) => store.reject(PAIR, LEASE, { version: 'v1', at: START, goneVersions: [] }, IN_TIME)],
];

const FAULTS: readonly [CallFault, string | RegExp][] = [
  ['throttled', 'ThrottlingException'],
  ['access-denied', 'AccessDeniedException'],
  ['key-denied', 'AccessDeniedException'],
  ['key-disabled', 'KMSInvalidStateException'],
  ['internal-error', 'InternalServiceError'],
  ['bad-gateway', 'SyntaxError'],
  ['garbage', 'SyntaxError'],
  ['no-item', 'TypeError'],
  ['another-item', 'TypeError'],
  ['hang', /^(ETIMEDOUT|OutOfTime)$/],
  ['stall', 'OutOfTime'],
  ['reset', 'ECONNRESET'],
];

let dynamodb: { readonly url: string; readonly close: () => Promise<void> };
beforeAll(async () => {
  dynamodb = await startDynamoDB();
});
afterAll(() => dynamodb.close());

describe.each(FAULTS)('when DynamoDB fails by "%s"', (fault, cause) => {
  it.each(OPERATIONS)('%s says that the store is unavailable, in one word, and in time', async (_name, operate) => {
    const { store, endpoint } = await connect(fault === 'hang' || fault === 'stall' ? { callMs: 150 } : {});
    endpoint.failWith(fault);
    const failure = await operate(store).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(failure).toMatchObject({ cause: expect.stringMatching(cause) });
    expect(endpoint.calls.length).toBeLessThanOrEqual(2);
  });
});

it.each(OPERATIONS)('%s says that the store is unavailable where no server listens', async (_name, operate) => {
  const { store, endpoint } = await connect();
  await endpoint.close();
  await expect(operate(store)).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'ECONNREFUSED' });
});

it.each(OPERATIONS)('%s says that the store is unavailable when there is no such table', async (_name, operate) => {
  const { store } = await connect({ tableName: 'no-such-table' });
  await expect(operate(store)).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'ResourceNotFoundException' });
});

it.each(['internal-error', 'reset'] as const)('a single failure goes unnoticed: %s', async (fault) => {
  const { store, endpoint } = await connect();
  endpoint.failWith(fault, 1);
  expect(await store.read(PAIR, IN_TIME)).toEqual(EMPTY_RECORD);
  expect(endpoint.calls).toHaveLength(2);
});

it('three failures in a row end the calls for ten seconds; a lost condition is no failure', async () => {
  const { store, endpoint, clock } = await connect();
  const [read, acquire, end] = OPERATIONS.map(
    ([, operate]) =>
      () =>
        operate(store),
  );
  endpoint.failWith('access-denied');
  for (const operate of [read, acquire]) await expect(operate?.()).rejects.toThrow(StoreUnavailable);
  endpoint.failWith(undefined);
  expect(await end?.()).toBe(false);

  endpoint.failWith('access-denied');
  for (const operate of [read, acquire, end]) await expect(operate?.()).rejects.toThrow(StoreUnavailable);
  endpoint.failWith(undefined);
  const asked = endpoint.calls.length;
  for (const operate of [read, acquire]) await expect(operate?.()).rejects.toMatchObject({ cause: 'circuit-open' });
  expect(endpoint.calls).toHaveLength(asked);

  clock.now += 10_000;
  expect(await store.read(PAIR, IN_TIME)).toEqual(EMPTY_RECORD);
});

it('a write that ends a lease is made all the same, and says when its second answer cannot tell', async () => {
  const { store, endpoint } = await connect();
  const [read, acquire, end] = OPERATIONS.map(
    ([, operate]) =>
      () =>
        operate(store),
  );
  await store.acquire(PAIR, { ...acquisition(), seenFence: 0 }, IN_TIME);
  endpoint.failWith('access-denied');
  for (const operate of [read, read, acquire]) await expect(operate?.()).rejects.toThrow(StoreUnavailable);
  endpoint.failWith('lost-answer', 1);
  await expect(end?.()).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'answer-lost' });
  expect(await read?.()).toMatchObject({ fence: 1, leaseOwner: undefined });
});

it.each(OPERATIONS)('%s uses no connection that was idle for 30 s, as after a freeze', async (_name, operate) => {
  const { store, endpoint, clock } = await connect();
  await operate(store);
  clock.now += 29_999;
  await operate(store);
  expect(endpoint.connections()).toBe(1);
  clock.now += 30_000;
  await operate(store);
  expect(endpoint.connections()).toBe(2);
});

function acquisition() {
  const times = { now: START, until: START + 6_000 };
  const rest = { observedExpired: false, forced: false, chargedVersion: undefined, isCheck: false };
  return { seenFence: 5, owner: 'me', ...times, ...rest };
}

async function connect(options: Parameters<typeof connectPairTable>[1] = {}) {
  const table = await connectPairTable(dynamodb.url, options);
  onTestFinished(table.close);
  return table;
}
