import { describe, expect, it } from 'vitest';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
import { ISSUE_REQUEST } from '../support/broker-world.ts';
import { ask, fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const { pair } = ISSUE_REQUEST;

/** Four hours of 20 warm and 5 cold environments; `happens` may change the table every ten minutes. */
async function fourHours(happens: (change: Change, n: number) => void) {
  const fleet = fleetOf(25, { lifetimeSeconds: 1_800 });
  const { clock, shared, requests } = fleet;
  const environments = [...fleet.environments];
  const askEach = () => clock.run(Promise.all(environments.map((environment) => ask(environment))));
  await askEach();
  const backup = shared.peek(pair);
  const change: Change = {
    delete: () => shared.change(pair, () => EMPTY_RECORD),
    restore: () => shared.change(pair, () => backup),
  };
  const end = clock.now() + 4 * HOUR_MS;
  for (let n = 0; clock.now() < end; n += 1) {
    if (n % 40 === 20) happens(change, n);
    // Five of them are always new.
    for (let cold = 20; cold < 25; cold += 1) {
      environments[cold]?.kill();
      environments[cold] = fleet.createEnvironment();
    }
    for (const { problem, waitMs } of await askEach()) {
      expect(problem).toBeUndefined();
      expect(waitMs).toBeLessThan(7 * SECOND_MS);
    }
    await clock.advance(15 * SECOND_MS);
  }
  return requests.length;
}

interface Change {
  readonly delete: () => void;
  readonly restore: () => void;
}

describe('a table whose item is lost', () => {
  it('costs one token request more for each loss: no standstill and no storm', async () => {
    const undisturbed = await fourHours(() => undefined);
    let losses = 0;
    const disturbed = await fourHours((change) => {
      losses += 1;
      change.delete();
    });

    expect(losses).toBeGreaterThan(20);
    expect(disturbed).toBeLessThanOrEqual(undisturbed + losses);
  });

  it('costs as little when an old state is restored, whose fences begin again', async () => {
    const undisturbed = await fourHours(() => undefined);
    let losses = 0;
    const disturbed = await fourHours((change) => {
      losses += 1;
      change.restore();
    });

    expect(disturbed).toBeLessThanOrEqual(undisturbed + losses);
  });

  it('confuses no late holder: a lease of the lost table publishes nothing over that of the new one', async () => {
    const { clock, shared, surroundings, createEnvironment } = fleetOf(0);
    surroundings.serviceLatencyMs = 3_000;
    const late = ask(createEnvironment());
    await clock.advance(500);
    shared.change(pair, () => EMPTY_RECORD);
    const next = ask(createEnvironment());
    await clock.advance(3_000);
    const held: PairRecord = shared.peek(pair);

    expect(held).toMatchObject({ fence: 1, token: undefined, leaseOwner: expect.any(String) });
    await clock.run(late);
    await clock.run(next);
    expect(shared.peek(pair)).toMatchObject({ fence: 1, leaseUntil: 0, token: { fingerprint: 'token-2000000000' } });
  });
});

describe('a refused token', () => {
  it('does not come back into any memory: every look at the table is strongly consistent', async () => {
    const { clock, environments, shared } = fleetOf(3);
    const [first, second] = environments;
    if (first === undefined || second === undefined) throw new Error('no environments');
    const { issue } = await clock.run(ask(first));
    const refused = issue?.token.fingerprint;
    await clock.run(ask(second, { refused }));
    await clock.advance(61 * SECOND_MS);

    for (const environment of environments) {
      const { issue } = await clock.run(ask(environment));
      expect(issue?.token.fingerprint).toBe(shared.peek(pair).token?.fingerprint);
      expect(issue?.token.fingerprint).not.toBe(refused);
    }
  });
});
