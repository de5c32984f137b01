import { describe, expect, it } from 'vitest';
import { CREDENTIALS, startHealthFunctionWorld } from './health-function-world.ts';

const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;
const { acme: OLD, renewed: NEW, wrong: WRONG } = CREDENTIALS;

const startWorld = () => startHealthFunctionWorld({ services: SERVICES });

describe('a good version that is put into use', () => {
  it('is proven once on every service before a caller needs it', async () => {
    const world = await startWorld();
    await world.store('acme', OLD);
    await Promise.all(SERVICES.map((service) => world.caller.token({ client: 'acme', service })));
    const before = world.tokenService.requests.length;

    await world.deliver(await world.replace('acme', NEW));

    expect(
      world.tokenService.requests
        .slice(before)
        .map(({ service, ok }) => ({ service, ok }))
        .toSorted(byService),
    ).toEqual(SERVICES.map((service) => ({ service, ok: true })));
    await Promise.all(SERVICES.map((service) => world.caller.token({ client: 'acme', service })));
    expect(world.tokenService.requests).toHaveLength(before + 2);
    expect(world.messages).toEqual([]);
  });

  it('is checked on every configured service, and told of those alone that the tag of its secret lists', async () => {
    const world = await startWorld();
    const event = await world.store('acme', WRONG, 'customer-insights no-such-service');
    await world.deliver(event);
    expect(linesOfHealth(world.healthLines).map(({ service }) => service)).toEqual(SERVICES);
    expect(world.messages.map(({ subject }) => subject)).toEqual([
      '[token-broker test] rejected: acme on customer-insights',
    ]);
    expect(world.messages[0]?.text).not.toContain('merchant-payment-cleansing');
  });

  it('is said to work in one line for each service', async () => {
    const world = await startWorld();
    const event = await world.store('acme', OLD);
    await world.deliver(event);
    expect(linesOfHealth(world.healthLines)).toMatchObject(
      SERVICES.map((service) => ({
        environment: 'test',
        service,
        outcome: 'accepted',
        operation: 'health',
        Findings: 1,
        pair: `acme/${service}`,
        promoted: event.detail.versionId,
        provenBy: 'request',
      })),
    );
  });
});

describe('a bad version that is put into use', () => {
  it('costs one token request per service and no caller a token, and is told at most once by each event at once', async () => {
    const world = await startWorld();
    await world.deliver(await world.store('acme', OLD));
    const before = world.tokenService.requests.length;

    const event = await world.replace('acme', WRONG);
    const [, , , ...tokens] = await Promise.all([
      world.deliver(event),
      world.deliver(event),
      world.deliver(event),
      ...[...SERVICES, ...SERVICES].map((service) => world.caller.token({ client: 'acme', service })),
    ]);
    const told = world.messages.length;
    await world.deliver(event);

    expect(world.tokenService.requests.length - before).toBeLessThanOrEqual(2);
    expect(tokens.every(({ accessToken }) => world.tokenService.issued(accessToken))).toBe(true);
    expect(told).toBeGreaterThanOrEqual(1);
    expect(told).toBeLessThanOrEqual(3);
    expect(world.messages).toHaveLength(told);
  });

  it('is told with everything that an operator needs', async () => {
    const world = await startWorld();
    await world.deliver(await world.store('acme', OLD));
    const ClientRequestToken = 'ffffffff-0000-4000-8000-000000000002';
    await world.deliver(await world.replace('acme', WRONG, { ClientRequestToken }));

    const [message] = world.messages;
    expect(message?.subject).toBe('[token-broker test] rejected: acme on customer-insights');
    for (const fact of ['customer-insights: rejected', 'merchant-payment-cleansing: rejected', ClientRequestToken]) {
      expect(message?.text).toContain(fact);
    }
    expect(message?.text).toContain('client put acme');
  });
});

it('an event fails, so that Lambda tries again, when a service does not answer, and sends no message', async () => {
  const world = await startWorld();
  const event = await world.store('acme', OLD);
  world.tokenService.respondWith('customer-insights', { status: 503 });
  await expect(world.deliver(event)).rejects.toThrow('acme: customer-insights unreachable');
  expect(world.messages).toEqual([]);
});

describe('an event that changes nothing', () => {
  it.each(['a duplicate', 'a late one of the version before'])('leads to no token request: %s', async (which) => {
    const world = await startWorld();
    const first = await world.store('acme', OLD);
    const second = await world.replace('acme', NEW);
    await world.deliver(second);
    const before = world.tokenService.requests.length;
    await world.deliver(which === 'a duplicate' ? second : first);
    expect(world.tokenService.requests).toHaveLength(before);
    expect(world.messages).toEqual([]);
  });

  it.each(['is gone', 'is planned for deletion'])(
    'leads to no token request and no message when the secret %s',
    async (how) => {
      const world = await startWorld();
      const event = await world.store('acme', OLD);
      const { store } = world.secretsManager;
      if (how === 'is gone') store.remove(store.get('token-broker/test/acme'));
      else await world.remove('acme');
      await world.deliver(event);
      expect(linesOfHealth(world.healthLines).map(({ outcome }) => outcome)).toEqual([
        'secret-missing',
        'secret-missing',
      ]);
      expect(world.tokenService.requests).toEqual([]);
      expect(world.messages).toEqual([]);
    },
  );

  it('leads to no check when it is not this event, and one line says so', async () => {
    const world = await startWorld();
    const event = await world.store('acme', OLD);
    await world.deliver({ ...event, detail: { ...event.detail, labelUpdated: 'AWSPENDING' } });
    await world.deliver({ ...event, detail: null });
    expect(world.checks).toEqual([]);
    expect(linesOfHealth(world.healthLines).map(({ outcome }) => outcome)).toEqual(['foreign', 'malformed']);
  });
});

interface Line {
  readonly outcome: string;
  readonly service: string;
}

function linesOfHealth(lines: readonly string[]): readonly Line[] {
  return lines.map((line): Line => JSON.parse(line)).toSorted(byService);
}

function byService(one: { readonly service: string }, other: { readonly service: string }): number {
  return one.service.localeCompare(other.service);
}
