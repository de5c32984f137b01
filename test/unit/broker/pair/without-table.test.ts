import { describe, expect, it } from 'vitest';
import type { IssueRequest } from '../../../../functions/broker/pair/decision.ts';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../../../functions/broker/pair/store.ts';
import type { SecretStage } from '../../../../functions/vocabulary.ts';
import { found, SECRETS_DOWN, SETTINGS_DIGEST } from '../../../support/broker-world.ts';
import { MINUTE_MS, PAIR, SECOND_MS, START } from '../../../support/example.ts';
import { nameOf } from '../../../support/fleet/fleet.ts';
import type { Surroundings } from '../../../support/fleet/surroundings.ts';
import { closedToken, exampleToken, exampleWait, latches } from '../../../support/pair/pair-examples.ts';
import { startInstance } from './lone-instance.ts';

/** Without the table memory serves, and nothing is sent: whatever kept a look from its answer, and however long. */

const STOPPED = () => ({ outcome: 'stopped', cause: 'no' }) as const;
const DENIED = () => ({ outcome: 'denied', cause: 'no' }) as const;
const CURRENT_ALONE = (_client: string, stage: SecretStage) => (stage === 'AWSCURRENT' ? found('v1') : SECRETS_DOWN);

const token = exampleToken({ refreshAt: START });
const { fingerprint: OLD } = token;
const refused = { refused: OLD };
const latched = { rejected: latches({ v1: START }) };
const wait = exampleWait(START + 5 * MINUTE_MS, 'token-endpoint-error');
const held = { held: new Map([[`v1:${SETTINGS_DIGEST}`, wait]]) };
const paused = { pause: exampleWait(START + 5 * MINUTE_MS) };
const disabled = { since: START };
const LIVE = { lease: { id: 'another', until: START + 6_000 } };

/** An instance that has read this record, and cannot reach the table any more. */
async function cutOff(
  record: Partial<PairRecord>,
  { ageMs = 0, fault = 'refused', ...changes }: Partial<Surroundings> & { ageMs?: number; fault?: Fault } = {},
) {
  const world = startInstance(record);
  const { clock, surroundings, requests, recordNow, askOne } = world;
  // Too short for more than a look.
  await askOne({}, 0.5);
  const before = recordNow();
  Object.assign(surroundings, changes, { storeFault: () => fault });
  await clock.advance(START + ageMs - clock.now());
  return {
    ...world,
    async ask(request: Partial<IssueRequest> = { refused: 'unknown' }) {
      const answer = await askOne(request);
      expect([requests, recordNow()]).toEqual([[], before]);
      expect(answer.issue?.cache ?? 'memory').toBe('memory');
      return [nameOf(answer), answer.waitMs];
    },
  };
}

type Fault = 'unavailable' | 'busy' | 'refused';
/** Each way in which a look fails, and how long a call waits for an answer that only the table has. */
const FAULTS = { unavailable: 175, busy: 14_500, refused: 0 } as const;

describe.each(Object.entries(FAULTS) as [Fault, number][])('a table that is %s', (fault, coldMs) => {
  it.each<[string, Partial<PairRecord>, Parameters<typeof cutOff>[1], string, Partial<IssueRequest>?]>([
    ['issues a living token, however old memory is', { token }, { ageMs: 40 * MINUTE_MS }, OLD],
    ['issues a living token under another’s lease', { token, ...LIVE }, {}, OLD],
    ['issues a living token while Secrets Manager is silent', { token }, { secret: () => SECRETS_DOWN }, OLD],
    ['answers with a latch of the last minute', latched, { ageMs: MINUTE_MS - 1 }, 'credential-rejected'],
    ['answers with a hold of the last minute', held, { ageMs: MINUTE_MS - 1 }, 'token-endpoint-error'],
    ['answers with a hold for a refused token', { token, ...held }, {}, 'token-endpoint-error', refused],
    ['answers with a pause of the last minute', paused, { ageMs: MINUTE_MS - 1 }, 'token-endpoint-unavailable'],
    ['reports a stop of the secret', { token }, { secret: STOPPED }, 'client-disabled'],
    ['reports a secret that is gone', { token }, { secret: () => ({ outcome: 'deleted' }) }, 'credential-missing'],
    ['answers with the flag', { token, disabled }, { ageMs: MINUTE_MS - 1, secret: DENIED }, 'client-disabled'],
    ['answers with the flag under another’s lease', { disabled, ...LIVE }, {}, 'client-disabled'],
  ])('%s, at once', async (_, record, changes, expected, request) => {
    const { ask, warnings } = await cutOff(record, { ...changes, fault });
    expect(await ask(request)).toEqual([expected, 0]);
    expect(warnings()).toEqual([fault === 'busy' ? 'table-busy' : 'table-unavailable']);
  });

  it.each<[string, Partial<PairRecord>, Parameters<typeof cutOff>[1], Partial<IssueRequest>?]>([
    ['there is no token', {}, {}],
    ['the token was refused', { token }, {}, refused],
    ['the pause is older than a minute', { token, ...paused }, { ageMs: MINUTE_MS }, refused],
    ['the latch is older than a minute', latched, { ageMs: MINUTE_MS }],
    ['the hold is older than a minute', held, { ageMs: MINUTE_MS }],
    ['the hold is older and the token was refused', { token, ...held }, { ageMs: MINUTE_MS }, refused],
    ['the latch is older and the token was refused', { token, ...latched }, { ageMs: MINUTE_MS }, refused],
    ['the flag is older than a minute', { token, disabled }, { ageMs: MINUTE_MS }],
    ['the latch is of another version', { rejected: latches({ v0: START }) }, {}],
    ['Secrets Manager is silent', latched, { secret: () => SECRETS_DOWN }],
    ['the broker may not read the secret', { token }, { secret: DENIED }],
    ['the previous version cannot be read', latched, { secret: CURRENT_ALONE }],
    ['another call holds the lease', LIVE, {}],
  ])('has no answer: %s', async (_, record, changes, request) => {
    const { ask } = await cutOff(record, { ...changes, fault });
    expect(await ask(request)).toEqual(['table-unavailable', coldMs]);
  });

  it('takes no withdrawal', async () => {
    const { clock, instance, failOn, recordNow, passed } = startInstance({ token }, { stages: {} });
    failOn('replace', () => fault);
    await expect(clock.run(instance.check())).rejects.toMatchObject({ type: 'table-unavailable' });
    expect([recordNow().token, passed()]).toEqual([token, coldMs]);
  });

  it.each(['AWSPENDING', 'AWSPREVIOUS'] as const)('answers no check of %s from memory', async (stage) => {
    const { clock, instance } = await cutOff({ token }, { fault });
    await expect(clock.run(instance.check({ stage }))).rejects.toMatchObject({ type: 'table-unavailable' });
  });
});

it.each<[string, Parameters<typeof cutOff>, Partial<IssueRequest>, number]>([
  ['of a pair that memory does not know', [{}], {}, 0],
  ['where the token has ended', [{ token }, { ageMs: 60 * MINUTE_MS, fault: 'busy' }], {}, 0],
  ['once where the token was refused', [{ token }, { fault: 'busy' }], refused, 1],
  ['once in ten seconds while it is silent', [{ token }, { fault: 'busy', secret: () => SECRETS_DOWN }], refused, 2],
])('without the table Secrets Manager is asked %s', async (_, world, request, reads) => {
  const { ask, counts } = await cutOff(...world);
  expect(await ask(request)).toMatchObject(['table-unavailable', expect.any(Number)]);
  expect(counts.secretReads).toBe(reads);
});

it('the secret of the last minute counts for a token without the table, and no older one', async () => {
  const { ask, counts, clock } = await cutOff({ token });
  for (const [laterMs, reads] of [
    [0, 1],
    [MINUTE_MS, 1],
    [1, 2],
  ] as const) {
    await clock.advance(laterMs);
    expect([await ask(), counts.secretReads]).toEqual([[OLD, 0], reads]);
  }
});

it('a check of AWSPENDING that finds none takes no token from memory', async () => {
  const { clock, instance, surroundings, give } = startInstance({ token });
  await clock.run(instance.check({ stage: 'AWSPENDING' }));
  surroundings.storeFault = () => 'refused';
  expect(await give({ refused: 'unknown' })).toBe(OLD);
});

describe('a call that needs the table', () => {
  it.each([
    [8_500, 9],
    [0, 5],
  ])('hears what the matter is, and when to come back: %s ms later', (retryMs, retryAfterSeconds) => {
    const problem = new StoreUnavailable('lasting', 'it is not there', 'why', retryMs);
    const detail = 'The broker cannot reach its table: it is not there.';
    expect(problem).toMatchObject({ type: 'table-unavailable', detail, retryAfterSeconds, cause: 'why' });
  });

  it.each<[string, string, Partial<PairRecord>, keyof PairStore, (n: number) => boolean]>([
    ['whose last look fails', 'table-unavailable', LIVE, 'read', (n) => n > 2],
    ['whose lease is never confirmed', 'table-unavailable', {}, 'replace', () => true],
    ['that waits for a lease after a failed look', 'token-endpoint-timeout', LIVE, 'read', (n) => n === 1],
    ['that is overtaken after a failed write', 'token-endpoint-timeout', {}, 'replace', (n) => n === 1],
  ])('%s ends with %s', async (what, type, record, operation, fails) => {
    const { give, shared, failOn, passed } = startInstance(record);
    failOn(operation, (n) => fails(n) && 'busy');
    if (what.includes('overtaken')) shared.replace = async () => undefined;
    expect([await give({}, 2 * SECOND_MS), passed()]).toEqual([type, 2 * SECOND_MS]);
  });
});

describe('what a call has sent itself', () => {
  it('reaches its caller, also when no look succeeds any more', async () => {
    const { give, failOn, requests, passed } = startInstance({}, { accepted: new Set() });
    failOn('read', (n) => n > 1 && 'refused');
    expect([await give(), requests.length, passed()]).toEqual(['credential-rejected', 1, 0]);
  });

  it('reaches its caller when memory keeps none of it, because it has a token that is closed in the table', async () => {
    const { give, shared, failOn } = startInstance({ token: exampleToken() }, { accepted: new Set() });
    await give();
    shared.change(PAIR, (record) => ({ ...record, token: closedToken() }));
    failOn('read', (n) => n > 1 && 'refused');
    expect(await give(refused)).toBe('credential-rejected');
  });

  it('is the finding of a check', async () => {
    const { clock, instance, failOn } = startInstance(
      {},
      { accepted: new Set(), stages: { AWSPENDING: 'v2', AWSCURRENT: 'v1' } },
    );
    failOn('read', (n) => n > 1 && 'refused');
    expect(await clock.run(instance.check({ stage: 'AWSPENDING' }))).toMatchObject({ finding: 'rejected' });
  });
});

it.each([
  ['decides on a secret that is no older than itself', latched, { AWSCURRENT: 'v2' }],
  ['leaves a missing secret to the table, and says nothing of it', { token }, {}],
])('a check without the table %s', async (_, record, stages) => {
  const { clock, instance, surroundings } = startInstance(record);
  expect(await clock.run(instance.check())).toMatchObject({ version: 'v1' });
  await clock.advance(30 * SECOND_MS);
  Object.assign(surroundings, { stages, storeFault: () => 'refused' });
  await expect(clock.run(instance.check())).rejects.toMatchObject({ type: 'table-unavailable' });
});
