import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDynamoDB } from '../../../bin/local/dynamodb.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { EMPTY_RECORD } from '../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../../functions/broker/pair/store.ts';
import type { CallFault } from '../../support/dynamodb.ts';
import { START } from '../../support/example.ts';
import { examplePublication } from '../../support/pair-examples.ts';
import { connectPairTable } from '../../support/pair-table.ts';

const PAIR: Pair = { client: 'acme', service: 'customer-insights' };

const OPERATIONS: readonly [string, (store: PairStore) => Promise<unknown>][] = [
  ['read', (store) => store.read(PAIR, 'eventual')],
  ['acquire', (store) => store.acquire(PAIR, acquisition())],
  ['publish', (store) => store.publish(PAIR, 1, examplePublication())],
  ['pause', (store) => store.pause(PAIR, 1, { until: START, step: 1, problem: { type: 'internal', detail: '' } })],
  ['reject', (store) => store.reject(PAIR, 1, { version: 'v1', at: START, goneVersions: [] })],
  ['release', (store) => store.release(PAIR, 1)],
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

it.each(OPERATIONS)('%s says that the store is unavailable where nobody listens', async (_name, operate) => {
  const { store, endpoint } = await connect();
  await endpoint.close();
  await expect(operate(store)).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'ECONNREFUSED' });
});

it.each(OPERATIONS)('%s says that the store is unavailable when there is no such table', async (_name, operate) => {
  const { store } = await connect({ tableName: 'no-such-table' });
  await expect(operate(store)).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'ResourceNotFoundException' });
});

it.each(['internal-error', 'reset', 'hang'] as const)('a single failure goes unnoticed: %s', async (fault) => {
  const { store, endpoint } = await connect(fault === 'hang' ? { callMs: 3_000 } : {});
  endpoint.failWith(fault, 1);
  expect(await store.read(PAIR, 'strong')).toEqual(EMPTY_RECORD);
  expect(endpoint.calls).toHaveLength(2);
});

it('three failures in a row end the calls for ten seconds; a lost condition is no failure', async () => {
  const { store, endpoint, clock } = await connect();
  endpoint.failWith('access-denied');
  for (const [, operate] of OPERATIONS.slice(0, 2)) await expect(operate(store)).rejects.toThrow(StoreUnavailable);
  endpoint.failWith(undefined);
  expect(await store.publish(PAIR, 99, examplePublication())).toBe(false);

  endpoint.failWith('access-denied');
  for (const [, operate] of OPERATIONS.slice(0, 3)) await expect(operate(store)).rejects.toThrow(StoreUnavailable);
  endpoint.failWith(undefined);
  const asked = endpoint.calls.length;
  for (const [, operate] of OPERATIONS) await expect(operate(store)).rejects.toMatchObject({ cause: 'left-alone' });
  expect(endpoint.calls).toHaveLength(asked);

  clock.now += 10_000;
  expect(await store.read(PAIR, 'strong')).toEqual(EMPTY_RECORD);
});

function acquisition() {
  const times = { now: START, until: START + 6_000 };
  return { seenFence: 5, owner: 'me', ...times, outwaited: false, forced: false, chargedVersion: undefined };
}

async function connect(options: Parameters<typeof connectPairTable>[1] = {}) {
  const table = await connectPairTable(dynamodb.url, options);
  onTestFinished(table.close);
  return table;
}
