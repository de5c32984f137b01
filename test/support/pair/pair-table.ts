import { createSecretKey } from 'node:crypto';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { type CircuitBreaker, createCircuitBreaker } from '../../../functions/aws/pair-table/circuit-breaker.ts';
import { createPairAdmin } from '../../../functions/aws/pair-table/pair-admin.ts';
import { createPairTable } from '../../../functions/aws/pair-table/table.ts';
import { createSealer } from '../../../functions/aws/sealing/sealing.ts';
import type { SealingKey, SealingKeys } from '../../../functions/aws/sealing/sealing-key.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { ensurePairTable } from '../../../local/aws/dynamodb.ts';
import { startFaultyEndpoint } from '../aws/faulty-endpoint.ts';
import { ACCESS, START } from '../example.ts';

interface Options {
  readonly keys?: SealingKeys;
  /** Milliseconds for each call: what a busy machine needs, unless time is what a test is about. */
  readonly callMs?: number;
  readonly breaker?: CircuitBreaker;
}

/** The pair table as one environment has it, with faults on the way to the DynamoDB at `target`, and a direct way for the test. */
export async function connectPairTable(target: string, options: Options = {}) {
  const { keys = keysOf(exampleKey()), callMs = 10_000 } = options;
  const endpoint = await startFaultyEndpoint(target);
  const direct = new DynamoDB({ endpoint: target, ...ACCESS });
  await ensurePairTable(direct, TABLE);
  const clock = { now: START };
  const now = () => clock.now;
  const send = createHttpsSender({ keepAlive: true, now });
  /** What the store uses. */
  const through = createDynamoDB({ send, endpoint: endpoint.url, ...ACCESS });
  /** The pairs whose tokens could not be opened, in order. */
  const unreadable: Pair[] = [];
  const store = createPairTable({
    dynamodb: through,
    tableName: TABLE,
    sealer: createSealer('dev', keys),
    breakerFor: (operation) => options.breaker ?? createCircuitBreaker(operation, now, { timeoutMs: callMs }),
    now,
    onUnreadable: (pair) => unreadable.push(pair),
  });
  const admin = createPairAdmin(direct, TABLE, new AbortController().signal, now);
  const close = async () => {
    direct.destroy();
    await endpoint.close();
  };
  return { store, admin, through, clock, unreadable, endpoint, direct, close };
}

/** Keys that are at hand; the first one is the current one. */
export function keysOf(...keys: readonly SealingKey[]): SealingKeys {
  return { current: async () => keys[0], named: async (version) => keys.find((key) => key.version === version) };
}

export function exampleKey(version = 'key-1', text = 'a sealing key for tests, long enough'): SealingKey {
  return { version, material: createSecretKey(text, 'utf8') };
}

export const TABLE = 'pairs';

/** A deadline that no clock of a test reaches. */
export const IN_TIME = { deadline: Infinity };
