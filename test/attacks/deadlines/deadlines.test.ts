import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { tokenAttributes } from '../../../functions/aws/pair-table/item.ts';
import { createSealer } from '../../../functions/aws/sealing/sealing.ts';
import { answerOfAws } from '../../support/cold-start/exchange.ts';
import { START } from '../../support/example.ts';
import { exampleToken } from '../../support/pair/pair-examples.ts';
import { exampleKey, keysOf } from '../../support/pair/pair-table.ts';
import { type ALL_WELL, NEVER, startDeadlineWorld, WELL, type Weather } from './world.ts';

let world: ReturnType<typeof startDeadlineWorld> | undefined;
afterEach(() => end());

describe('with any dependency slow, silent or broken, and any amount of time left', () => {
  it.each(['/token', '/check'] as const)('%s answers in time, and nothing goes on after it', async (path) => {
    await fc.assert(
      fc.asyncProperty(scenarios, async ({ history, table, weathers, remainingMs, seed }) => {
        const { state, readFirst, invoke, expectIdle } = await begin(history, table, seed);
        state.weathers = weathers;
        if (history === 'starting') await readFirst();
        const answer = await invoke(remainingMs, path);
        // Before Lambda would end the invocation.
        expect(answer.leftMs).toBeGreaterThanOrEqual(200);
        expect(ANSWERS).toContain(answer.json.type ?? answer.status);
        await expectIdle();
      }),
      { numRuns: 250, seed: 7 },
    );
  });

  it('a living token that is in memory or in the table is issued nevertheless', async () => {
    const histories = scenarios.filter(({ history, table }) => history === 'memory' || table === 'living');
    await fc.assert(
      fc.asyncProperty(histories, async ({ history, table, weathers, remainingMs, seed }) => {
        const { state, invoke } = await begin(history, table, seed);
        const isRead = history !== 'memory' && table === 'living';
        state.weathers = isRead ? { ...weathers, read: WELL, sealingKey: WELL } : { ...weathers, read: NEVER };
        expect((await invoke(remainingMs)).status).toBe(200);
      }),
      { numRuns: 150, seed: 7 },
    );
  });
});

it.each([
  ['of a minute', '/check', 20_000],
  ['without a connection', '/token', 100_000],
] as const)('the silence of the table costs a warm call 500 ms %s', async (_, path, pauseMs) => {
  const { state, invoke, pass } = await begin('starting', 'living', 1);
  expect((await invoke(15_000)).status).toBe(200);
  pass(pauseMs);
  state.weathers = { ...state.weathers, read: NEVER };
  const { status, leftMs } = await invoke(15_000, path);
  expect({ status, waitMs: 15_000 - leftMs - WELL.delayMs }).toEqual({ status: 200, waitMs: 500 });
});

/** All that may be answered here: everything that is asked for is well-formed and allowed. */
const OF_ENDPOINTS = ['unavailable', 'timeout', 'error'].map((word) => `token-endpoint-${word}`);
const ANSWERS = [200, 'credential-rejected', 'secrets-unavailable', 'table-unavailable', ...OF_ENDPOINTS];

type History = 'starting' | 'cold' | 'memory' | 'old-memory';
type Table = 'empty' | keyof typeof TABLES;

const weather: fc.Arbitrary<Weather> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(WELL) },
  { weight: 3, arbitrary: fc.constant(NEVER) },
  { weight: 3, arbitrary: fc.record({ delayMs: fc.nat(2_000) }) },
  { weight: 2, arbitrary: fc.record({ delayMs: fc.nat(800), fails: fc.constant(true) }) },
);
const weathers: fc.Arbitrary<typeof ALL_WELL> = fc.record({
  read: weather,
  acquire: weather,
  write: weather,
  secret: weather,
  sealingKey: weather,
  tokenEndpoint: fc.oneof(
    weather,
    fc.record({ delayMs: fc.nat(6_000), status: fc.constantFrom(200, 401, 400, 302, 500, 503) }),
  ),
});
const scenarios = fc.record({
  history: fc.constantFrom<History>('starting', 'cold', 'memory', 'old-memory'),
  table: fc.constantFrom<Table>('empty', 'leased', 'living', 'expiring'),
  weathers,
  remainingMs: fc.oneof(fc.constant(1_000), fc.integer({ min: 1_000, max: 15_000 }), fc.constant(15_000)),
  seed: fc.nat(),
});

/** The table as other instances have left it when the call begins. */
const TABLES = {
  /** Another instance holds the lease and never publishes a token. */
  leased: async () => ({ ...SEEN, lease: { S: JSON.stringify({ id: 'another', until: Date.now() + 6_000 }) } }),
  living: () => sealed(3_600_000),
  /** Lives, but is to be renewed. */
  expiring: () => sealed(300_000),
} as const;

const SEEN = { tag: { S: 'seen' } };

/** A token of an hour that lives this long from now. */
async function sealed(restMs: number) {
  const { VersionId, SecretString } = Object(answerOfAws('secretsmanager.GetSecretValue', '{}', new Map()));
  const sealer = createSealer('test', keysOf(exampleKey(VersionId, SecretString)));
  const expiresAt = Date.now() + restMs;
  const times = { issuedAt: expiresAt - 3_600_000, refreshAt: expiresAt - 720_000, expiresAt };
  const token = exampleToken({ ...times, credentialVersion: VersionId });
  const publication = await sealer.seal({ client: 'acme', service: 'customer-insights' }, token);
  const { token: visible, sealed: bytes } = tokenAttributes(publication);
  if (visible?.S === undefined || bytes?.B === undefined) throw new Error('there is no token to store');
  return { ...SEEN, token: { S: visible.S }, sealed: { B: Buffer.from(bytes.B).toString('base64') } };
}

/** The world when the call comes: after the function's earlier calls, with this table. */
async function begin(history: History, table: Table, seed: number) {
  end();
  world = startDeadlineWorld(START, seed);
  if (history === 'memory' || history === 'old-memory') {
    await world.readFirst();
    expect((await world.invoke(15_000)).status).toBe(200);
    world.pass(history === 'memory' ? 400_000 : 4_000_000);
  }
  if (table !== 'empty') world.put(await TABLES[table]());
  return world;
}

function end(): void {
  world?.end();
  world = undefined;
}
