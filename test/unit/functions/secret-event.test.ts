import { describe, expect, it } from 'vitest';
import { CREDENTIALS, startHealthFunctionWorld } from './health-function-world.ts';

const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;
const { acme: OLD, renewed: NEW, wrong: WRONG } = CREDENTIALS;

/** A world with one client, and the event of its first version. */
async function startWorld(credential: object = OLD, services?: string) {
  const world = await startHealthFunctionWorld({ services: SERVICES });
  const event = await world.store('acme', credential, services);
  const { tokenService, messages, healthLines, caller } = world;
  return {
    ...world,
    event,
    count: () => tokenService.requests.length,
    tokens: () => Promise.all(SERVICES.map((service) => caller.token({ client: 'acme', service }))),
    subjects: () => messages.map(({ subject }) => subject).toSorted(),
    linesOfHealth: () =>
      healthLines.map((line) => JSON.parse(line)).toSorted((one, other) => one.service.localeCompare(other.service)),
  };
}

it('a good version is proven once on every service before a caller needs it, with one line for each', async () => {
  const { count, tokens, deliver, replace, tokenService, messages, linesOfHealth } = await startWorld();
  await tokens();
  const before = count();
  const event = await replace('acme', NEW);
  await deliver(event);
  const requests = tokenService.requests.slice(before).map(({ service, ok }) => `${service} ${ok}`);
  expect(requests.toSorted()).toEqual(SERVICES.map((service) => `${service} true`));
  await tokens();
  expect([count(), messages]).toEqual([before + 2, []]);
  const { versionId: promoted } = Object(event).detail;
  expect(linesOfHealth()).toMatchObject(
    SERVICES.map((service) => ({
      ...{ environment: 'test', service, outcome: 'accepted', operation: 'health', Findings: 1, provenBy: 'request' },
      ...{ pair: `acme/${service}`, promoted },
    })),
  );
});

describe('a bad version', () => {
  it('costs one token request per service and no caller a token, and is told at most once by each event at once', async () => {
    const { deliver, event: first, count, replace, tokens, tokenService, messages } = await startWorld();
    await deliver(first);
    const before = count();
    const event = await replace('acme', WRONG);
    const deliveries = [1, 2, 3].map(() => deliver(event));
    for (const { accessToken } of [...(await tokens()), ...(await tokens())]) {
      expect(tokenService.issued(accessToken)).toBe(true);
    }
    await Promise.all(deliveries);
    const told = messages.length;
    await deliver(event);
    expect(count() - before).toBeLessThanOrEqual(2);
    expect(told).toBeGreaterThanOrEqual(2);
    expect(told).toBeLessThanOrEqual(6);
    expect(messages).toHaveLength(told);
  });

  it('is told with its version and what to do, on each service that the tag lists', async () => {
    const { deliver, event, messages, subjects, linesOfHealth } = await startWorld(WRONG, 'customer-insights other');
    await deliver(event);
    expect(linesOfHealth().map(({ service }) => service)).toEqual(SERVICES);
    expect(subjects()).toEqual(['[token-broker test] rejected: acme on customer-insights']);
    for (const fact of [event.detail.versionId, '`client put acme`']) expect(messages[0]?.text).toContain(fact);
  });
});

it('an event fails, so that Lambda tries again, when a service does not answer, and sends no message', async () => {
  const { deliver, event, tokenService, messages } = await startWorld();
  tokenService.respondWith('customer-insights', { status: 503 });
  await expect(deliver(event)).rejects.toThrow('acme: customer-insights unreachable');
  expect(messages).toEqual([]);
});

describe('an event that changes nothing', () => {
  it('leads to no token request as a duplicate or as a late one of the version before', async () => {
    const { deliver, event, replace, count, messages } = await startWorld();
    const second = await replace('acme', NEW);
    await deliver(second);
    const before = count();
    await deliver(second);
    await deliver(event);
    expect([count(), messages]).toEqual([before, []]);
  });

  it('leads to no token request and no message when the secret is planned for deletion', async () => {
    const { deliver, event, remove, count, messages, linesOfHealth } = await startWorld();
    await remove('acme');
    await deliver(event);
    expect(linesOfHealth().map(({ outcome }) => outcome)).toEqual(['secret-missing', 'secret-missing']);
    expect([count(), messages]).toEqual([0, []]);
  });

  it('leads to no check when it is not this event, and one line says so', async () => {
    const { deliver, event, lines, linesOfHealth } = await startWorld();
    await deliver({ ...event, detail: { ...event.detail, labelUpdated: 'AWSPENDING' } });
    await deliver({ ...event, detail: null });
    expect(lines).toEqual([]);
    expect(linesOfHealth().map(({ outcome }) => outcome)).toEqual(['foreign', 'malformed']);
  });
});
