import { describe, expect, it } from 'vitest';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import { HOUR_MS, SECOND_MS, START } from '../../../support/example.ts';
import { fleetOf } from '../../../support/fleet/fleet.ts';
import { exampleToken } from '../../../support/pair/pair-examples.ts';

const DAY_MS = 24 * HOUR_MS;
/** Longer than the broker waits, and than the accounts of a service that counts log-ins bear. */
const TOO_SLOW_MS = 5 * SECOND_MS;
/** Its soft window begins at once and lasts longer than a day. */
const LIVING = exampleToken({ issuedAt: START - 1, expiresAt: START + 5 * DAY_MS, refreshAt: START });
const ENDED = exampleToken({ expiresAt: START });
const OTHER = { credentialVersion: 'v0' };

/** A service that rejects every credential, and a caller who asks again every 10 s for a day, or as soon as it may. */
async function dayOf(record: Partial<PairRecord>, serviceLatencyMs: number) {
  const fleet = fleetOf(1, { accepted: new Set(), serviceLatencyMs });
  const { clock, shared, askOne, requests } = fleet;
  shared.change({ client: 'acme', service: 'customer-insights' }, (empty) => ({ ...empty, ...record }));
  const problems: (string | undefined)[] = [];
  while (clock.now() < START + DAY_MS) {
    const { problem } = await askOne();
    problems.push(problem?.type);
    await clock.advance((problem?.retryAfterSeconds ?? 10) * SECOND_MS);
  }
  return { ...fleet, problems: new Set(problems), count: requests.length };
}

describe('a service that rejects only after its time-out', () => {
  it.each<[string, Partial<PairRecord>, string | undefined]>([
    ['is the first', {}, 'token-endpoint-timeout'],
    ['follows one whose token still serves', { token: { ...LIVING, ...OTHER } }, undefined],
    ['follows one whose token has ended', { token: { ...ENDED, ...OTHER } }, 'token-endpoint-timeout'],
  ])('is sent a version that is not proven at most 40 times a day, when that %s', async (_, record, told) => {
    const { count, problems, recordNow } = await dayOf(record, TOO_SLOW_MS);

    expect(count).toBeGreaterThan(10);
    expect(count).toBeLessThanOrEqual(40);
    expect([problems, recordNow().pause]).toEqual([new Set([told]), undefined]);
  });

  it.each<[string, Partial<PairRecord>, string | undefined]>([
    ['serves', { token: LIVING }, undefined],
    ['has ended', { token: ENDED }, 'token-endpoint-timeout'],
  ])('is sent a proven version at most 1 500 times a day, when its token %s', async (_, record, told) => {
    const { count, problems, recordNow } = await dayOf(record, TOO_SLOW_MS);

    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThanOrEqual(1_500);
    expect(problems).toEqual(new Set([told]));
    expect(recordNow()).toMatchObject({ pause: { unheard: true }, held: new Map() });
  });
});

describe('a service that rejects after 1.5 s', () => {
  it.each([
    ['three times', 'a version that is not proven', { token: { ...LIVING, ...OTHER } }, 3],
    ['four times, because a renewal did not wait for one,', 'a proven version', { token: LIVING }, 4],
  ])('is sent %s %s', async (_times, _version, record, count) => {
    const day = await dayOf(record, 1_500);

    expect(day.count).toBe(count);
    expect(day.recordNow().rejected.get('v1')).toMatchObject({ count: 3 });
  });
});
