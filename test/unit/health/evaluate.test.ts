import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../functions/vocabulary.ts';
import { about, checkedAs, clientsNamed, createHealthWorld, DENIED, except, SERVICE } from './health-world.ts';

const DOWN = `[token-broker dev] incident: ${SERVICE} does not answer`;
const BACK = `[token-broker dev] ${SERVICE} answers again`;
/** The first `count` clients get no answer. */
const silent =
  (count: number): ReturnType<typeof except> =>
  ({ client }) =>
    Number(client.slice('client-'.length)) < count ? 'unreachable' : 'accepted';

describe('a service that is down', () => {
  it('is one message for five hundred pairs in each of its runs, and one when it is back', async () => {
    const { world, run, messages } = createHealthWorld({ clients: clientsNamed(500) });
    world.answer = () => ({ finding: 'throttled', provenBy: 'pause' });
    expect(await run()).toMatchObject({ subjects: [DOWN], incidents: [SERVICE] });
    expect(messages[0]?.text).toMatch(/^(\d+) of \1 pairs that were asked got no answer\.$/m);
    expect(messages[0]?.text).toMatch(/^since: +2026-01-01T00:0/m);
    expect(await run()).toMatchObject({ subjects: [], incidents: [SERVICE] });
    world.answer = () => 'accepted';
    expect(await run()).toMatchObject({ subjects: [BACK], incidents: [] });
    expect((await run()).subjects).toEqual([]);
  });

  it('hides nothing that is wrong with other services or with single credentials', async () => {
    const { run } = createHealthWorld({
      services: [SERVICE, 'other'],
      clients: clientsNamed(9),
      answer: ({ client, service }) => {
        if (client === 'client-1' && service === 'other') return 'rejected';
        // These two checks do not ask the service.
        if (client === 'client-3') return { finding: 'accepted', provenBy: 'traffic' };
        if (client === 'client-2' && service === SERVICE) return { finding: 'rejected', provenBy: 'latch' };
        return service === SERVICE ? 'unreachable' : 'accepted';
      },
    });
    // Messages about different services have no order.
    const { subjects, incidents } = await run();
    expect(incidents).toEqual([SERVICE]);
    expect(subjects.toSorted()).toEqual([DOWN, about('rejected', 'client-1', 'other'), about('rejected', 'client-2')]);
  });

  it('stays down until more pairs are answered than are not', async () => {
    const { world, run } = createHealthWorld({ clients: clientsNamed(20), answer: silent(20) });
    expect((await run()).subjects).toEqual([DOWN]);
    world.answer = silent(10);
    expect((await run()).subjects).toEqual([]);
    world.answer = silent(1);
    expect((await run()).subjects).toEqual([BACK, about('unreachable', 'client-0')]);
  });

  it.each([
    ['is back when callers got tokens since it was last seen', 'accepted', 'traffic', 1, [BACK]],
    ['stays down when they got them until then', 'accepted', 'traffic', 0, []],
    ['stays down when credentials are known to be rejected', 'accepted', 'latch', 1, []],
    ['stays down when secrets are missing', 'accepted', 'secret', 1, []],
  ] as const)('%s', async (_what, finding, provenBy, sinceMs, subjects) => {
    const { world, run, memories } = createHealthWorld({ answer: silent(10) });
    await run();
    const seenAt = memories.entries().get('service')?.at ?? 0;
    world.answer = () => ({ finding, provenBy, checkedAt: seenAt + sinceMs });
    expect((await run()).subjects).toEqual(subjects);
  });

  it('takes the place of messages about single clients that were out before, and of those after it', async () => {
    const { world, run } = createHealthWorld();
    world.answer = except({ [`client-1/${SERVICE}`]: 'unreachable' });
    expect((await run()).subjects).toEqual([about('unreachable', 'client-1')]);
    world.answer = () => 'unreachable';
    expect((await run()).subjects).toEqual([DOWN]);
    world.answer = () => 'accepted';
    expect((await run()).subjects).toEqual([BACK]);
  });

  it('is neither begun nor ended by an event, which says nothing about silence meanwhile', async () => {
    const { world, run, tell, clock } = createHealthWorld({ answer: () => 'unreachable' });
    const look = async (finding: Finding) => (await tell([checkedAs('client-1', finding, clock.now())])).subjects;
    expect(await look('unreachable')).toEqual([about('unreachable', 'client-1')]);
    expect((await run()).subjects).toEqual([DOWN]);
    expect(await look('unreachable')).toEqual([]);
    expect(await look('rejected')).toEqual([about('rejected', 'client-1')]);
    expect((await run()).subjects).toEqual([]);
    world.answer = () => 'accepted';
    expect((await run()).subjects).toEqual([BACK, about('accepted', 'client-1')]);
    expect(await look('unreachable')).toEqual([about('unreachable', 'client-1')]);
  });
});

describe('a service without an incident', () => {
  it.each([
    ['fewer than five pairs', 4, 4],
    ['less than 80 % of the pairs', 20, 15],
  ])('has %s silent', async (_what, clients, count) => {
    const { world, run } = createHealthWorld({ clients: clientsNamed(clients), answer: silent(count) });
    expect((await run()).subjects).toEqual([about('unreachable', `${count} clients`)]);
    world.clients = clientsNamed(Math.max(5, clients));
    world.answer = silent(count + 1);
    expect((await run()).subjects).toEqual([DOWN]);
  });

  it('may have any number of checks that met their budget, which say nothing about it', async () => {
    const { run } = createHealthWorld({ answer: () => ({ finding: 'throttled', provenBy: 'latch' }) });
    expect((await run()).subjects).toEqual([]);
  });
});

describe('a broker that has no findings', () => {
  it('sends one message, even with other failures, and one when it has findings again', async () => {
    const { world, run, messages } = createHealthWorld({ services: [SERVICE, 'other'], clients: clientsNamed(100) });
    world.answer = (_, count) => ({ failure: count % 2 === 0 ? 'timeout' : 'network-error' });
    world.probe = () => ({ condition: 'unproven', said: 'network-error' });
    expect((await run()).subjects).toEqual(['[token-broker dev] incident: the broker checks no credential']);
    expect((await run()).subjects).toEqual([]);
    expect(messages[0]?.text).toContain('Checks returned no finding: network-error, timeout.');
    world.answer = () => 'accepted';
    world.probe = () => DENIED;
    expect((await run()).subjects).toEqual(['[token-broker dev] the broker can check credentials again']);
  });

  it('is one that answers a few from memory while its table is away', async () => {
    const away = { failure: 'table-unavailable', detail: 'dynamodb:GetItem' };
    const traffic = { finding: 'accepted', provenBy: 'traffic' } as const;
    const { run } = createHealthWorld({
      clients: clientsNamed(20),
      answer: ({ client }) => (client === 'client-1' ? traffic : away),
    });
    expect((await run()).subjects).toEqual(['[token-broker dev] incident: the broker checks no credential']);
  });

  it('is not one that fails for some pairs', async () => {
    const { run } = createHealthWorld({
      answer: ({ client }) => (client === 'client-1' ? 'accepted' : { failure: 'internal' }),
    });
    expect(await run()).toMatchObject({ subjects: [], missed: { length: 9 } });
  });
});
