import { describe, expect, it } from 'vitest';
import { newTrace } from '../../../functions/broker/audit.ts';
import { ISSUE_REQUEST } from '../../support/broker-world.ts';
import { BILLING } from '../../support/example.ts';
import { createFleet, type Environment } from '../../support/fleet.ts';

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

  it('is in use everywhere within 300 s when the event is lost, with one token request', async () => {
    const { clock, surroundings, requests, versions } = await warmFleet();
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    for (let second = 0; second < 300; second += 10) {
      await clock.advance(10 * SECOND_MS);
      await versions();
    }

    expect(await versions()).toEqual(new Set(['v2']));
    expect(requests.filter(({ version }) => version === 'v2')).toHaveLength(1);
  });

  it('that is bad costs no caller a token and the service one request', async () => {
    const { clock, surroundings, requests, versions } = await warmFleet();
    surroundings.accepted = new Set(['v1']);
    surroundings.stages = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };
    for (let second = 0; second < 600; second += 20) {
      await clock.advance(20 * SECOND_MS);
      expect(await versions()).toEqual(new Set(['v1']));
    }
    expect(requests.filter(({ version }) => version === 'v2')).toHaveLength(1);
  });
});
