import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { StoreUnavailable } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import type { CallFault } from '../../support/dynamodb.ts';
import { START } from '../../support/example.ts';
import { connectPairTable, IN_TIME } from '../../support/pair-table.ts';
import { repeatAtOnce, startDynamoDB } from '../../support/stand-ins.ts';

const PAIR: Pair = { client: 'acme', service: 'customer-insights' };
const LEASE = { owner: 'me', fence: 1 };

const OPERATIONS = {
  read: (store: PairStore) => store.read(PAIR, IN_TIME),
  acquire: (store: PairStore) => store.acquire(PAIR, acquisition(), IN_TIME),
  end: (store: PairStore) => store.end(PAIR, LEASE, { kind: 'release' }, IN_TIME),
  reject: (store: PairStore) => store.reject(PAIR, LEASE, { version: 'v1', at: START, goneVersions: [] }, IN_TIME),
};
const { read, acquire } = OPERATIONS;

const FAULTS: readonly [CallFault, string | RegExp][] = [
  ['throttled', 'ThrottlingException'],
  ['access-denied', 'AccessDeniedException'],
  ['internal-error', 'InternalServiceError'],
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

describe.each(Object.entries(OPERATIONS))('%s', (_name, operate) => {
  it.each(FAULTS)('says in one word, and in time, that the store is unavailable: %s', async (fault, cause) => {
    const { store, endpoint } = await connect(fault === 'hang' || fault === 'stall' ? { callMs: 20 } : {});
    endpoint.failWith(fault);
    const failure = await operate(store).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(failure).toMatchObject({ cause: expect.stringMatching(cause) });
    expect(`${failure}${JSON.stringify(failure)}`).not.toContain('garbage');
    expect(endpoint.calls.length).toBeLessThanOrEqual(2);
  });

  it('says that the store is unavailable where no server listens, and where there is no such table', async () => {
    const { store } = await connect({ tableName: 'no-such-table' });
    const cause = 'ResourceNotFoundException';
    await expect(operate(store)).rejects.toMatchObject({ name: 'StoreUnavailable', cause });
    const { store: lonely, endpoint } = await connect();
    await endpoint.close();
    await expect(operate(lonely)).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'ECONNREFUSED' });
  });
});

it.each(['internal-error', 'reset'] as const)('a single failure goes unnoticed: %s', async (fault) => {
  const { store, endpoint } = await connect();
  const { fence } = await read(store);
  for (const operate of [read, () => store.acquire(PAIR, { ...acquisition(), seenFence: fence }, IN_TIME)]) {
    endpoint.failWith(fault, 1);
    expect(await operate(store)).toMatchObject({ fence });
  }
  endpoint.failWith(fault, 1);
  expect(await store.end(PAIR, { owner: 'me', fence: fence + 1 }, { kind: 'release' }, IN_TIME)).toBe(true);
});

it('a write that ends a lease is made all the same, and says when its second answer cannot tell', async () => {
  const { store, endpoint, clock } = await connect();
  const { fence } = await read(store);
  await store.acquire(PAIR, { ...acquisition(), seenFence: fence }, IN_TIME);
  const endMine = () => store.end(PAIR, { owner: 'me', fence: fence + 1 }, { kind: 'release' }, IN_TIME);
  endpoint.failWith('access-denied');
  for (const operate of [read, read, acquire]) await expect(operate(store)).rejects.toThrow(StoreUnavailable);
  endpoint.failWith('lost-answer', 1);
  await expect(endMine()).rejects.toMatchObject({ name: 'StoreUnavailable', cause: 'answer-lost' });
  await OPERATIONS.reject(store);
  clock.now += 10_000;
  expect(await read(store)).toMatchObject({ fence: fence + 1, leaseOwner: undefined });
});

function acquisition() {
  const times = { now: START, until: START + 6_000 };
  const rest = { observedExpired: false, forced: false, chargedVersion: undefined, isCheck: false };
  return { seenFence: 5, owner: 'me', ...times, ...rest };
}

async function connect(options: Parameters<typeof connectPairTable>[1] = {}) {
  repeatAtOnce();
  const table = await connectPairTable(dynamodb.url, options);
  onTestFinished(table.close);
  return table;
}
