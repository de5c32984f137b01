import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newTrace } from '../../functions/broker/audit.ts';
import type { CheckResult } from '../../functions/broker/check-credential.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { BILLING } from '../support/example.ts';
import { ask, createFleet, type Environment, fleetOf } from '../support/fleet.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const { pair } = ISSUE_REQUEST;

/** Twenty environments that have all issued the token of version v1. */
async function warmFleet() {
  const fleet = createFleet();
  const environments = Array.from({ length: 20 }, () => fleet.createEnvironment());
  const everyone = (ask: (environment: Environment) => Promise<unknown>) =>
    fleet.clock.run(Promise.all(environments.map(ask)));
  await everyone(({ issue }) => issue());
  const versions = async () => {
    const seen: string[] = [];
    await everyone(async ({ issue }) => void seen.push((await issue()).token.credentialVersion));
    return new Set(seen);
  };
  return { ...fleet, environments, versions };
}

describe('a new secret version', () => {
  it('is in use everywhere within 60 s of the check that its event causes, with one token request', async () => {
    const { clock, environments, surroundings, requests, versions } = await warmFleet();
    await clock.advance(100 * SECOND_MS);
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    const [first] = environments;
    await clock.run(
      first?.broker.check(BILLING, { pair, stage: 'AWSCURRENT' }, clock.now() + 14_500, newTrace()) ?? Promise.reject(),
    );
    await clock.advance(60 * SECOND_MS);

    expect(await versions()).toEqual(new Set(['v2']));
    expect(requests.filter(({ version }) => version === 'v2')).toHaveLength(1);
  });

  it('comes into use with the renewal of the token when no check tells of it, with one token request', async () => {
    const { clock, surroundings, requests, shared, versions } = await warmFleet();
    const { expiresAt = 0 } = shared.peek(pair).token ?? {};
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    expect(await versions()).toEqual(new Set(['v1']));
    while (clock.now() < expiresAt - 120 * SECOND_MS) {
      await clock.advance(20 * SECOND_MS);
      await versions();
    }

    expect(await versions()).toEqual(new Set(['v2']));
    expect(requests.map(({ version }) => version)).toEqual(['v1', 'v2']);
  });

  it('that is bad costs no caller a token and the service one request', async () => {
    const { clock, environments, surroundings, requests, versions } = await warmFleet();
    surroundings.accepted = new Set(['v1']);
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    for (let second = 0; second < 600; second += 20) {
      await clock.advance(20 * SECOND_MS);
      const checks = environments.map(({ check }) => check());
      const findings = (await clock.run(Promise.all(checks))).map(({ finding }) => finding);
      expect(new Set(findings)).toEqual(new Set(['rejected']));
      expect(await versions()).toEqual(new Set(['v1']));
    }
    expect(requests.filter(({ version }) => version === 'v2')).toHaveLength(1);
  });
});

/** Milliseconds from one thing to the next, up to a minute. */
const distance = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 60_000 }));

describe('a new version that is put, checked and promoted', () => {
  it('reaches traffic with one token request after its check, between calls and other checks at any time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          tried: distance,
          promoted: distance,
          event: distance,
          age: fc.integer({ min: 0, max: 3_500_000 }),
          otherChecks: fc.array(distance, { maxLength: 4 }),
          callers: fc.array(distance, { maxLength: 10 }),
        }),
        async ({ tried, promoted, event, age, otherChecks, callers }) => {
          const { clock, surroundings, environments, requests, askAll } = fleetOf(4);
          await askAll();
          await clock.advance(age);
          requests.length = 0;
          const [put, health, ...others] = environments;
          if (put === undefined || health === undefined) throw new Error('no environments');
          const later = async <Result>(ms: number, work: () => Promise<Result>) => {
            await clock.sleep(ms);
            return work();
          };

          const told: CheckResult[] = [];
          const story = async () => {
            surroundings.stages = { ...surroundings.stages, AWSPENDING: 'v2' };
            await later(tried, async () => told.push(await put.check({ pair, stage: 'AWSPENDING' })));
            await later(promoted, async () => {
              surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
            });
            await later(event, () => health.check({ pair, stage: 'AWSCURRENT' }));
          };
          const beside = [
            ...otherChecks.map((ms) => later(ms, () => health.check({ pair, stage: 'AWSPREVIOUS' }))),
            ...callers.map((ms, index) => later(ms, () => ask(others[index % others.length] ?? put))),
          ];
          await clock.run(Promise.all([story(), ...beside]));
          await clock.advance(MINUTE_MS);
          const issued = await askAll();

          expect(told).toEqual([expect.objectContaining({ finding: 'accepted', version: 'v2' })]);
          expect(issued.map(({ issue }) => issue?.token.credentialVersion)).toEqual(Array(4).fill('v2'));
          const sent = requests.filter(({ version }) => version === 'v2').length;
          expect(sent).toBeLessThanOrEqual(2);
        },
      ),
      { numRuns: 300 },
    );
  });
});
