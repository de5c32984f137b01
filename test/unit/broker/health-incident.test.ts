import { describe, expect, it } from 'vitest';
import { pairKey } from '../../../functions/broker/pair/pair.ts';
import type { Finding } from '../../../functions/contract.ts';
import { clientsNamed, createHealthWorld, except, SERVICE } from '../../support/health-world.ts';

const DOWN = `[token-broker dev] incident: ${SERVICE} does not answer`;
const BACK = `[token-broker dev] ${SERVICE} answers again`;

describe('a service that is down', () => {
  it('is one message for five hundred pairs, and one when it is back', async () => {
    const { world, run } = createHealthWorld({ clients: clientsNamed(500) });
    expect((await run()).subjects).toEqual([]);
    world.answer = () => 'unreachable';
    expect((await run()).subjects).toEqual([DOWN]);
    world.answer = () => 'accepted';
    expect((await run()).subjects).toEqual([BACK]);
    expect((await run()).subjects).toEqual([]);
  });

  it('hides nothing that is wrong with other services or with single credentials', async () => {
    const { run } = createHealthWorld({
      services: [SERVICE, 'other'],
      clients: clientsNamed(9),
      answer: ({ client, service }) => {
        if (client === 'client-1' && service === 'other') return 'rejected';
        // A latched version is told without asking the service.
        if (client === 'client-2' && service === SERVICE) return { finding: 'rejected', provenBy: 'latch' };
        return service === SERVICE ? 'unreachable' : 'accepted';
      },
    });
    // Each service is reported by itself.
    expect((await run()).subjects.toSorted()).toEqual([
      DOWN,
      '[token-broker dev] rejected: client-1 on other',
      '[token-broker dev] rejected: client-2 on customer-insights',
    ]);
  });

  it('stays down until more pairs are answered than are not', async () => {
    const { world, run } = createHealthWorld({ clients: clientsNamed(20) });
    const silent = (count: number) => {
      world.answer = ({ client }) => (Number(client.slice('client-'.length)) < count ? 'unreachable' : 'accepted');
    };
    silent(20);
    expect((await run()).subjects).toEqual([DOWN]);
    silent(11);
    expect((await run()).subjects).toEqual([]);
    silent(2);
    expect((await run()).subjects).toEqual([
      BACK,
      '[token-broker dev] unreachable: client-0 on customer-insights',
      '[token-broker dev] unreachable: client-1 on customer-insights',
    ]);
  });

  it('stays down while the broker cannot say anything about it', async () => {
    const { world, run } = createHealthWorld({ services: [SERVICE, 'other'] });
    world.answer = ({ service }) => (service === SERVICE ? 'unreachable' : 'accepted');
    expect((await run()).subjects).toEqual([DOWN]);
    world.answer = ({ service }) => (service === SERVICE ? { failure: 'secrets-unavailable' } : 'accepted');
    expect((await run()).subjects).toEqual([]);
    world.answer = () => 'accepted';
    expect((await run()).subjects).toEqual([BACK]);
  });

  it('takes the place of messages about single clients that were out before, and of those after it', async () => {
    const { world, run } = createHealthWorld();
    world.answer = except({ [`client-1/${SERVICE}`]: 'unreachable' });
    expect((await run()).subjects).toEqual(['[token-broker dev] unreachable: client-1 on customer-insights']);
    world.answer = () => 'unreachable';
    expect((await run()).subjects).toEqual([DOWN]);
    world.answer = () => 'accepted';
    expect((await run()).subjects).toEqual([BACK]);
  });
});

describe('what is no incident of a service', () => {
  it('is fewer than five pairs', async () => {
    const { world, run } = createHealthWorld({ clients: clientsNamed(4), answer: () => 'unreachable' });
    const { subjects } = await run();
    expect(subjects).toHaveLength(4);
    expect(subjects).not.toContain(DOWN);
    world.clients = clientsNamed(5);
    expect((await run()).subjects).toEqual([DOWN]);
  });

  it('is less than 80 % of the pairs', async () => {
    const { world, run } = createHealthWorld({ clients: clientsNamed(100) });
    const bad =
      (percent: number): typeof world.answer =>
      ({ client }) =>
        Number(client.slice('client-'.length)) % 10 < percent / 10 ? 'unreachable' : 'accepted';
    world.answer = bad(70);
    const { subjects } = await run();
    expect(subjects).toHaveLength(70);
    expect(subjects).not.toContain(DOWN);
    world.answer = bad(80);
    expect((await run()).subjects).toEqual([DOWN]);
  });

  it.each(['rejected', 'misconfigured', 'disabled', 'secret-missing', 'secret-malformed'] satisfies Finding[])(
    'is a service on which every credential is %s',
    async (finding) => {
      const { run } = createHealthWorld({ clients: clientsNamed(6), answer: () => finding });
      expect((await run()).subjects).toHaveLength(6);
    },
  );
});

describe('a broker that has no findings', () => {
  const SILENT = '[token-broker dev] incident: the broker checks no credential';

  it('sends one message, even with other failures, and one when it has findings again', async () => {
    const { world, run, messages } = createHealthWorld({ services: [SERVICE, 'other'], clients: clientsNamed(100) });
    world.answer = (_, count) => ({ failure: count % 2 === 0 ? 'timeout' : 'network-error' });
    world.probe = () => ({ condition: 'unproven', said: 'network-error' });
    expect((await run()).subjects).toEqual([SILENT]);
    expect((await run()).subjects).toEqual([]);
    expect(messages[0]?.text).toMatch(/No check brought a finding: network-error \(\d+\), timeout \(\d+\)\./);
    world.answer = () => 'accepted';
    world.probe = () => ({ condition: 'denied', said: 'access-denied' });
    expect((await run()).subjects).toEqual(['[token-broker dev] the broker can check credentials again']);
  });

  it('is not one that fails for some pairs', async () => {
    const { run } = createHealthWorld({
      answer: (pair) => (pairKey(pair) === `client-1/${SERVICE}` ? 'accepted' : { failure: 'internal' }),
    });
    expect(await run()).toMatchObject({ subjects: [], missed: { length: 9 } });
  });
});
