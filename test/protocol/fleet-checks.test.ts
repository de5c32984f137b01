import { describe, expect, it } from 'vitest';
import type { SecretStage } from '../../functions/contract.ts';
import { exchange, found, ISSUE_REQUEST } from '../support/broker-world.ts';
import { fleetOf } from '../support/fleet-asks.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const { pair } = ISSUE_REQUEST;
const STAGES = { AWSCURRENT: 'v2', AWSPREVIOUS: 'v1' };

function checkedFleet(changes: Parameters<typeof fleetOf>[1] = {}) {
  const fleet = fleetOf(5, { stages: STAGES, ...changes });
  const check = (stage: SecretStage, index = 0) =>
    fleet.clock.run(fleet.environments[index]?.check({ pair, stage }) ?? Promise.reject());
  const sent = (version: string) => fleet.requests.filter((request) => request.version === version).length;
  return { ...fleet, check, sent };
}

describe('a check of a version that is not in use', () => {
  it('makes one token request in 30 s, however often it is asked for', async () => {
    const { clock, check, sent } = checkedFleet();
    const findings = new Set<string>();
    for (let n = 0; n < 500; n += 1) {
      findings.add((await check('AWSPREVIOUS', n % 5)).finding);
      await clock.advance(30);
    }

    expect(sent('v1')).toBeLessThanOrEqual(Math.ceil((500 * 40) / 30_000) + 1);
    expect(findings).toEqual(new Set(['accepted']));
  });

  it('repeats its finding with the time at which it was found', async () => {
    const { clock, check } = checkedFleet();
    const first = await check('AWSPREVIOUS');
    await clock.advance(20 * SECOND_MS);

    expect(await check('AWSPREVIOUS', 1)).toEqual({ ...first, expiresAt: undefined, checkedAt: expect.any(Number) });
    expect((await check('AWSPREVIOUS', 2)).checkedAt).toBeLessThan(clock.now() - 19 * SECOND_MS);
  });

  it('never repeats what it found of another version: that one is throttled, and says for how long', async () => {
    const { clock, check, sent, surroundings } = checkedFleet({ stages: { ...STAGES, AWSPENDING: 'v3' } });
    surroundings.accepted = new Set(['v2', 'v3']);
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'accepted', version: 'v3', provenBy: 'request' });
    await clock.advance(10 * SECOND_MS);

    expect(await check('AWSPREVIOUS')).toMatchObject({
      finding: 'throttled',
      version: 'v1',
      provenBy: 'latch',
      retryAfterSeconds: 20,
    });
    expect(sent('v1')).toBe(0);
    await clock.advance(20 * SECOND_MS);
    expect(await check('AWSPREVIOUS')).toMatchObject({ finding: 'rejected', version: 'v1' });
  });

  it('is made at once for an AWSPENDING version that was not checked yet', async () => {
    const { check, surroundings } = checkedFleet({ stages: { ...STAGES, AWSPENDING: 'v3' } });
    await check('AWSPENDING');
    surroundings.stages = { ...STAGES, AWSPENDING: 'v4' };
    surroundings.accepted = new Set(['v2', 'v4']);

    expect(await check('AWSPENDING')).toMatchObject({ finding: 'accepted', version: 'v4', provenBy: 'request' });
  });
});

describe('checks beside callers', () => {
  it('postpone no renewal', async () => {
    const { clock, check, askAll, sent, recordNow } = checkedFleet();
    await askAll();
    const { refreshAt = 0 } = recordNow().token ?? {};
    while (clock.now() < refreshAt + MINUTE_MS) {
      await check('AWSPREVIOUS');
      await clock.advance(10 * SECOND_MS);
      if (clock.now() > refreshAt - MINUTE_MS) await askAll();
    }

    expect(sent('v2')).toBe(2);
  });

  it('never delay the first check of a new version', async () => {
    const { clock, check, askAll, surroundings, recordNow } = checkedFleet();
    await askAll();
    await check('AWSCURRENT');
    surroundings.stages = { AWSCURRENT: 'v3', AWSPREVIOUS: 'v2' };
    await clock.advance(SECOND_MS);

    expect(await check('AWSCURRENT')).toMatchObject({ finding: 'accepted', version: 'v3', provenBy: 'request' });
    expect(recordNow().token?.credentialVersion).toBe('v3');
  });

  it('send nothing while a token lives that a new one would end', async () => {
    const { clock, check, askAll, sent, surroundings } = checkedFleet({ service: { singleActiveToken: true } });
    await askAll();
    surroundings.stages = { AWSCURRENT: 'v3', AWSPREVIOUS: 'v2' };
    await clock.advance(10 * MINUTE_MS);

    expect(await check('AWSCURRENT')).toMatchObject({ finding: 'accepted', version: 'v2', provenBy: 'traffic' });
    expect(sent('v3')).toBe(0);
  });
});

describe('a check that finds the secret gone', () => {
  const GONE = { outcome: 'deleted' } as const;

  it('withdraws the living token, so that no environment issues it a minute later', async () => {
    const { clock, check, askAll, surroundings, recordNow } = checkedFleet();
    await askAll();
    surroundings.secretsFault = GONE;
    expect(await check('AWSCURRENT')).toMatchObject({ finding: 'secret-missing', provenBy: 'secret' });
    expect(recordNow()).toMatchObject({ token: undefined, leaseUntil: 0 });

    await clock.advance(MINUTE_MS);
    for (const { problem } of await askAll()) expect(problem?.type).toBe('credential-missing');
  });

  it('withdraws the token of a service that the secret no longer names', async () => {
    const { check, askAll, surroundings, recordNow, sent } = checkedFleet();
    await askAll();
    surroundings.secret = (client, stage) => named(client, stage, ['merchant-payment-cleansing']);
    expect(await check('AWSCURRENT')).toMatchObject({ finding: 'secret-missing' });

    expect(recordNow().token).toBeUndefined();
    expect(sent('v2')).toBe(1);
  });

  it('withdraws nothing when the secret is back at the second look, under the lease', async () => {
    const { check, askAll, surroundings, recordNow } = checkedFleet();
    await askAll();
    let looks = 0;
    surroundings.secret = (client, stage) => (looks++ === 0 ? GONE : named(client, stage));
    expect(await check('AWSCURRENT')).toMatchObject({ finding: 'accepted' });

    expect(recordNow()).toMatchObject({ token: { credentialVersion: 'v2' }, leaseUntil: 0 });
  });

  it('withdraws nothing when the broker may not read it: one release with a broken role must not stop the fleet', async () => {
    const { check, askAll, surroundings, recordNow } = checkedFleet();
    await askAll();
    surroundings.secretsFault = { outcome: 'denied', cause: 'AccessDeniedException' };

    await expect(check('AWSCURRENT')).rejects.toMatchObject({ type: 'secrets-unavailable' });
    expect(recordNow().token).toBeDefined();
  });
});

describe('a bad AWSPENDING version', () => {
  it('holds itself and never AWSCURRENT', async () => {
    const { check, askAll, surroundings, sent } = checkedFleet({ stages: { ...STAGES, AWSPENDING: 'v3' } });
    surroundings.answer = (_, { version }) => (version === 'v3' ? exchange(404, {}) : undefined);
    expect(await check('AWSPENDING')).toMatchObject({ finding: 'misconfigured' });

    for (const { problem } of await askAll()) expect(problem).toBeUndefined();
    expect([sent('v3'), sent('v2')]).toEqual([1, 1]);
  });
});

/** The client's secret, for these services or for all. */
function named(client: string, stage: SecretStage, services?: readonly string[]) {
  const versionId = stage === 'AWSCURRENT' ? 'v2' : 'v1';
  return found(versionId, { client_id: client, secret: versionId, services }, stage);
}
