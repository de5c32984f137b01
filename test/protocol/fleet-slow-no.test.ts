import { describe, expect, it } from 'vitest';
import { cleared } from '../../functions/broker/pair/transitions.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, START } from '../support/example.ts';
import { type Answer, fleetOf } from '../support/fleet/fleet.ts';
import { oldToken } from '../support/pair/pair-examples.ts';

/** A service that answers after `requestTimeoutMs`, or never: a rejection comes too late, and the account may count it. */

/** One instance, and the last token of the pair. The token proves its version, also after it has expired. */
function fleetWithToken(credentialVersion: string, expiresAt: number, changes: Parameters<typeof fleetOf>[1] = {}) {
  const token = { ...oldToken(), credentialVersion, expiresAt, refreshAt: START + 10 * SECOND_MS };
  return fleetOf(1, { ...changes, record: { token } });
}

/** Asks again and again until then, or until an answer is enough, which it returns. */
async function askUntil(
  { clock, askOne }: ReturnType<typeof fleetOf>,
  end: number,
  everyMs: number,
  isEnough = (_: Answer) => false,
) {
  while (clock.now() < end) {
    const next = clock.now() + everyMs;
    const answer = await askOne();
    if (isEnough(answer)) return answer;
    await clock.advance(Math.max(0, Math.min(next, end) - clock.now()));
  }
  return undefined;
}

it.each([
  [3_500, 'that worked', 'v1', [1, 2, 3]],
  [3_500, 'that never worked', 'v0', [1, 2, 3]],
  [4_500, 'that worked', 'v1', [20, 40, 310]],
  [4_500, 'that never worked', 'v0', [10, 12, 35]],
])('a service that rejects after %i ms is sent a version %s at most so often', async (...facts) => {
  const [serviceLatencyMs, what, proven, [quarter = 0, hour = 0, day = 0]] = facts;
  const fleet = fleetWithToken(proven, START, { accepted: new Set(), serviceLatencyMs });
  await askUntil(fleet, START + HOUR_MS, 5 * SECOND_MS);
  await askUntil(fleet, START + 24 * HOUR_MS, 15 * SECOND_MS);
  const within = (ms: number) => fleet.requests.filter(({ at }) => at < START + ms).length;
  const sent = [15 * MINUTE_MS, HOUR_MS, 24 * HOUR_MS].map(within);
  process.stdout.write(`401 after ${serviceLatencyMs} ms, a version ${what}: ${sent.join(', ')} requests\n`);

  expect(sent[0]).toBeLessThanOrEqual(quarter);
  expect(sent[1]).toBeLessThanOrEqual(hour);
  expect(sent[2]).toBeLessThanOrEqual(day);
  expect(sent[2]).toBeGreaterThan(day * 0.9);
});

describe.each([
  ['a minute', MINUTE_MS, 60],
  ['5 minutes', 5 * MINUTE_MS, 60],
  ['25 minutes', 25 * MINUTE_MS, 60],
  ['30 minutes', 30 * MINUTE_MS, 300],
])('a service that was silent for %s', (_, silentMs, seconds) => {
  it.each([
    ['a token lived when it fell silent', START + 10 * MINUTE_MS],
    ['no token lived', START],
  ])(`has its callers back ${seconds} s after the last request in vain at most: %s`, async (_what, expiresAt) => {
    // Moments all over a pause.
    for (const afterMs of [0, 1_700, 3_100, 22_000, 41_000]) {
      const fleet = fleetWithToken('v1', expiresAt, { serviceLatencyMs: HOUR_MS });
      const back = START + 10 * SECOND_MS + silentMs + afterMs;
      await askUntil(fleet, back, 5 * SECOND_MS);
      const { at = 0 } = fleet.requests.at(-1) ?? {};
      fleet.surroundings.serviceLatencyMs = 100;
      const isNew = ({ issue }: Answer) => issue?.token.fingerprint.startsWith('token-') === true;
      const first = (await askUntil(fleet, back + 6 * MINUTE_MS, SECOND_MS, isNew))?.at ?? Infinity;

      // A request that was under way brings no answer. The caller comes back each second.
      expect(first - Math.max(back, at + 4_000)).toBeLessThanOrEqual((seconds + 1.2) * SECOND_MS);
    }
  });
});

it('an operator ends the long pause of a silent service for each instance within a minute', async () => {
  const fleet = fleetWithToken('v1', START, { serviceLatencyMs: HOUR_MS });
  await askUntil(fleet, START + 40 * MINUTE_MS, 5 * SECOND_MS);
  fleet.surroundings.serviceLatencyMs = 100;
  const retriedAt = fleet.clock.now();
  fleet.shared.change(ISSUE_REQUEST.pair, cleared);
  const first = (await askUntil(fleet, retriedAt + 6 * MINUTE_MS, SECOND_MS, ({ issue }) => !!issue))?.at ?? Infinity;
  expect(first - retriedAt).toBeLessThanOrEqual(62 * SECOND_MS);
});
