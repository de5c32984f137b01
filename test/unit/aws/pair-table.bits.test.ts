import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Item } from '../../../functions/aws/pair-table/item.ts';
import { createPairTable } from '../../../functions/aws/pair-table/table.ts';
import { createSealer } from '../../../functions/aws/sealing/sealing.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import type { Ending, Lease } from '../../../functions/broker/pair/store.ts';
import { START } from '../../support/example.ts';
import { exampleToken, revealed } from '../../support/pair-examples.ts';
import { connectPairTable, exampleKey, IN_TIME, keysOf, TABLE } from '../../support/pair-table.ts';
import { startDynamoDB } from '../../support/stand-ins.ts';

const PAIR: Pair = { client: 'acme', service: 'customer-insights' };

const SEALED = [
  ...['sealedToken', 'sealingKeyVersion', 'fingerprint', 'credentialVersion', 'tokenType', 'expirySource', 'issuedAt'],
  ...['expiresAt', 'refreshAt', 'refusalIsIdle', 'lifetimeSeenMs'],
];
const OPEN = [
  ...['earlyRefusals', 'assumedLifetimeMs'],
  ...['fence', 'leaseOwner', 'leaseUntil', 'attemptedAt', 'forcedAt', 'pauseUntil', 'pauseStep', 'pauseProblem'],
  ...['rejected:v2', 'held:v2:0123456789abcdef', 'checked', 'forgetAt'],
];

describe('an item of which one bit is different', () => {
  let world: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    world = await start();
  });

  it.each([...SEALED, ...OPEN])('gives its token only when that is not in a sealed attribute: "%s"', async (name) => {
    expect(Object.keys(world.item).toSorted()).toEqual([...SEALED, ...OPEN, 'pair'].toSorted());
    const isSealed = SEALED.includes(name);
    for (const flipped of flips(world.item[name])) {
      const { token, unreadable } = await world.read({ ...world.item, [name]: flipped });
      const given = isSealed ? undefined : revealed(exampleToken());
      expect({ flipped, token: token && revealed(token), unreadable }).toEqual({
        ...{ flipped, token: given, unreadable: isSealed ? ['closed'] : [] },
      });
    }
  });
});

/** A real item of a real table, and what the store reads in its place. */
async function start() {
  const dynamodb = await startDynamoDB();
  const table = await connectPairTable(dynamodb.url);
  const take = async (seenFence: number) => {
    const times = { now: START, until: START + 6_000 };
    const rest = { observedExpired: true, forced: true, chargedVersion: undefined, isCheck: false };
    await table.store.acquire(PAIR, { seenFence, owner: 'owner-1', ...times, ...rest }, IN_TIME);
    return { owner: 'owner-1', fence: seenFence + 1 };
  };
  const end = (lease: Lease, ending: Ending) => table.store.end(PAIR, lease, ending, IN_TIME);
  const wait = { until: START, step: 1, problem: { type: 'internal', detail: 'x' } } as const;
  const checked = { version: 'v3', at: START, finding: 'accepted' } as const;
  await end(await take(0), { kind: 'publish', token: exampleToken(), holdKey: 'v1:0123456789abcdef' });
  await table.store.reject(PAIR, await take(1), { version: 'v2', at: START, goneVersions: [] }, IN_TIME);
  await end(await take(2), { kind: 'hold', key: 'v2:0123456789abcdef', hold: wait, expiredKeys: [], checked });
  await end(await take(3), { kind: 'pause', pause: wait });
  await take(4);
  const Key = { pair: { S: `${PAIR.client}/${PAIR.service}` } };
  const { Item: item = {} } = await table.direct.send(new GetItemCommand({ TableName: TABLE, Key }));
  await table.close();
  await dynamodb.close();

  return {
    item,
    read: async (altered: Item) => {
      const unreadable: string[] = [];
      const store = createPairTable({
        dynamodb: { ...table.through, getItem: async () => altered },
        tableName: TABLE,
        sealer: createSealer('dev', keysOf(exampleKey())),
        now: () => START,
        onUnreadable: (reason) => unreadable.push(reason),
      });
      const { token } = await store.read(PAIR, IN_TIME);
      return { token, unreadable };
    },
  };
}

/** The attribute with each of its bits turned, one at a time. */
function* flips(attribute: AttributeValue | undefined): Generator<AttributeValue> {
  if (attribute?.BOOL !== undefined) yield { BOOL: !attribute.BOOL };
  for (const B of flippedBytes(attribute?.B ?? new Uint8Array())) yield { B };
  for (const S of flippedText(attribute?.S)) yield { S };
  for (const N of flippedText(attribute?.N)) yield { N };
  for (const SS of flippedText(attribute?.SS?.join())) yield { SS: SS.split(',') };
}

function* flippedText(text = ''): Generator<string> {
  for (const bytes of flippedBytes(Buffer.from(text))) yield Buffer.from(bytes).toString('latin1');
}

function* flippedBytes(bytes: Uint8Array): Generator<Uint8Array> {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const copy = Uint8Array.from(bytes);
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    yield copy;
  }
}
