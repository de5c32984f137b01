import { expect, it } from 'vitest';
import { CREDENTIALS, startHealthFunctionWorld } from './health-function-world.ts';

const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;

/** A world with one client, and the event of its first version. */
async function startWorld() {
  const world = await startHealthFunctionWorld({ services: SERVICES });
  const event = await world.store('acme', CREDENTIALS.acme);
  const linesOfHealth = () =>
    world.healthLines
      .map((line) => JSON.parse(line))
      .toSorted((one, other) => one.service.localeCompare(other.service));
  return { ...world, event, linesOfHealth };
}

it('a good version is proven once on every service before a caller needs it, with one line for each', async () => {
  const { caller, deliver, replace, tokenService, messages, linesOfHealth } = await startWorld();
  const tokens = () => Promise.all(SERVICES.map((service) => caller.token({ client: 'acme', service })));
  await tokens();
  const before = tokenService.requests.length;
  const event = await replace('acme', CREDENTIALS.renewed);
  await deliver(event);
  const requests = tokenService.requests.slice(before).map(({ service, ok }) => `${service} ${ok}`);
  expect(requests.toSorted()).toEqual(SERVICES.map((service) => `${service} true`));
  await tokens();
  expect([tokenService.requests.length, messages]).toEqual([before + 2, []]);
  const { versionId: promoted } = Object(event).detail;
  expect(linesOfHealth()).toMatchObject(
    SERVICES.map((service) => ({
      ...{ environment: 'test', service, outcome: 'accepted', operation: 'health', Findings: 1, provenBy: 'request' },
      ...{ pair: `acme/${service}`, promoted },
    })),
  );
});

it('another event leads to no check, and one line says so', async () => {
  const { deliver, event, lines, linesOfHealth } = await startWorld();
  await deliver({ ...event, detail: { ...event.detail, labelUpdated: 'AWSPENDING' } });
  await deliver({ ...event, detail: null });
  expect(lines).toEqual([]);
  expect(linesOfHealth().map(({ outcome }) => outcome)).toEqual(['foreign', 'malformed']);
});
