import { describe, expect, it } from 'vitest';
import { newTrace } from '../../functions/broker/audit.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { BILLING } from '../support/example.ts';
import { createFleet, type Environment } from '../support/fleet.ts';

const SECOND_MS = 1_000;
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
