import { describe, expect, it } from 'vitest';
import type { ProbeAnswer } from '../../../functions/broker/health/evaluate.ts';
import { probeAccess } from '../../../functions/broker/health/run.ts';
import { START } from '../../support/example.ts';
import { createHealthWorld } from '../../support/health-world.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const DENIED: ProbeAnswer = { condition: 'denied', said: 'access-denied' };

describe('the role that must be refused', () => {
  it('is tried in each run, on a pair that there is, and says nothing while it is refused', async () => {
    const { world, run, probed } = createHealthWorld();
    expect((await run()).subjects).toEqual([]);
    expect((await run()).subjects).toEqual([]);
    expect(probed).toHaveLength(2);
    for (const { client } of probed) expect(world.clients.map((listed) => listed.client)).toContain(client);
  });

  it('is tried on one pair as well as on another', async () => {
    const { run, probed } = createHealthWorld();
    for (let runs = 0; runs < 20; runs += 1) await run();
    expect(new Set(probed.map(({ client }) => client)).size).toBeGreaterThan(5);
  });

  it('is tried although there is no client', async () => {
    const { run, probed } = createHealthWorld({ clients: [] });
    expect(await run()).toMatchObject({ probe: DENIED });
    expect(probed).toEqual([{ client: 'no-such-client', service: 'customer-insights' }]);
  });

  it('causes a message when it is not refused, one when it is again, and none in between', async () => {
    const { world, run, messages } = createHealthWorld();
    world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] SECURITY: a role without an access rule was not refused',
    ]);
    expect(messages[0]?.text).toContain('The answer was: a-token.');
    expect((await run()).subjects).toEqual([]);
    world.probe = () => DENIED;
    expect((await run()).subjects).toEqual(['[token-broker dev] a role without an access rule is refused again']);
  });

  it('is tried again when an attempt proves nothing', async () => {
    const { world, run } = createHealthWorld();
    const answers: ProbeAnswer[] = [
      { condition: 'unproven', said: 'timeout' },
      { condition: 'unproven', said: 'timeout' },
    ];
    world.probe = () => answers.shift() ?? DENIED;
    expect(await run()).toMatchObject({ probe: DENIED, subjects: [] });
  });

  it('causes a message when no attempt proves anything', async () => {
    const { world, run, probed } = createHealthWorld();
    world.probe = () => ({ condition: 'unproven', said: 'aws-forbidden' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] not proven that roles without an access rule are refused',
    ]);
    expect(probed).toHaveLength(3);
  });

  it('causes a message when it was not refused, although the broker has no findings', async () => {
    const { world, run } = createHealthWorld({ answer: () => ({ failure: 'access-denied' }) });
    world.probe = () => ({ condition: 'not-denied', said: 'a-token' });
    expect((await run()).subjects).toEqual([
      '[token-broker dev] incident: the broker checks no credential',
      '[token-broker dev] SECURITY: a role without an access rule was not refused',
    ]);
  });
});

describe('the time of the tries', () => {
  it.each([
    ['is twenty seconds, and five in between', 100_000, [20_000, 20_000, 20_000]],
    ['is what is left', 15_000, [15_000, 10_000, 5_000]],
    ['ends them where no time would be left after the next pause', 10_000, [10_000, 5_000]],
    ['leaves a millisecond to a run that has none', 0, [1]],
  ])('%s', async (_what, timeMs, expected) => {
    const clock = new VirtualClock(START);
    const timeouts: number[] = [];
    const askAsProbe = async (_pair: unknown, timeoutMs: number): Promise<ProbeAnswer> => {
      timeouts.push(timeoutMs);
      return { condition: 'unproven', said: 'timeout' };
    };
    const pair = { client: 'acme', service: 'customer-insights' };
    await clock.run(probeAccess(pair, START + timeMs, { ...clock, askAsProbe }));
    expect(timeouts).toEqual(expected);
  });
});
