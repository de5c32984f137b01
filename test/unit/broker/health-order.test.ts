import { describe, expect, it } from 'vitest';
import { type Pair, pairKey } from '../../../functions/broker/pair/pair.ts';
import type { Finding } from '../../../functions/contract.ts';
import { createHealthWorld } from '../../support/health-world.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const CLIENTS = ['acme', 'acme-2', 'acme.old', 'globex', 'initech', 'umbrella', 'Wayne'];

describe.each([1, 2, 3, 4, 5])('whichever checks end first (%i)', (seed) => {
  it('gives the pairs by client, and those of a client by service', async () => {
    const { checked, missed } = await runWithDelays(seed, ({ client }) =>
      client.startsWith('acme') ? { failure: 'timeout' } : { finding: 'rejected' },
    );
    expect(checked.map(({ pair }) => pairKey(pair))).toEqual(
      ['Wayne', 'globex', 'initech', 'umbrella'].flatMap((client) => [`${client}/one`, `${client}/two`]),
    );
    expect(missed.map(({ pair }) => pairKey(pair))).toEqual(
      ['acme', 'acme-2', 'acme.old'].flatMap((client) => [`${client}/one`, `${client}/two`]),
    );
  });

  it('counts what failed in the same sentence', async () => {
    const { detail } = await runWithDelays(
      seed,
      (pair) => ({ failure: pairKey(pair) === 'acme/two' ? 'timeout' : 'internal' }),
      ['acme', 'globex'],
    );
    expect(detail).toBe('No check brought a finding: internal (3), timeout (1).');
  });
});

/** A run in which every check takes its own time. */
async function runWithDelays(
  seed: number,
  answer: (pair: Pair) => { readonly finding: Finding } | { readonly failure: string },
  clients: readonly string[] = CLIENTS,
) {
  const random = seededRandom(seed);
  const { run, messages } = createHealthWorld({
    services: ['two', 'one'],
    clients: clients.map((client) => ({ client })),
    answer: (pair) => ({ ...answer(pair), afterMs: Math.floor(random() * 5_000) }),
  });
  const result = await run();
  return { ...result, detail: messages[0]?.text.split('\n\n')[1] };
}
