import { expect, it } from 'vitest';
import type { AccessRule, Operation } from '../../../functions/broker/authorize.ts';
import { functionUrlEvent, requestContext, signedBy } from '../../support/aws/function-url-events.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { exampleRule } from '../../support/example.ts';

const ROLES = ['billing', 'reporting', 'ledger', 'Billing', 'billing-admin', 'admin'];
const CLIENTS = ['acme', 'globex', 'initech', 'umbrella', 'acme-2'];
const SERVICES = ['customer-insights', 'merchant-payment-cleansing'];
const OPERATIONS: readonly Operation[] = ['token', 'check'];

const EVERYTHING = ROLES.flatMap((role) =>
  CLIENTS.flatMap((client) =>
    SERVICES.flatMap((service) => OPERATIONS.map((operation) => ({ role, client, service, operation }))),
  ),
);
/** Every third of all 120 combinations, so that the sample does not depend on their members. */
const ALLOWED = new Set(EVERYTHING.filter((_, index) => index % 3 === 0));

it('of every caller, client, service and operation exactly the configured combinations succeed', async () => {
  const world = createBrokerWorld({ accessRules: [...ALLOWED].map(ruleFor) });
  for (const combination of ALLOWED) {
    expect((await world.invoke(eventFor(combination))).statusCode, JSON.stringify(combination)).toBe(200);
  }
  const before = { ...world.counts };
  // All denials have the same bytes, whether the client and the service exist or not.
  const denied = [
    ...EVERYTHING.filter((combination) => !ALLOWED.has(combination)),
    { role: 'billing', client: 'no-such-client', service: 'customer-insights', operation: 'token' as const },
    { role: 'billing', client: 'acme', service: 'no-such-service', operation: 'token' as const },
    { role: 'no-such-role', client: 'acme', service: 'customer-insights', operation: 'check' as const },
  ];
  // Caches answer the first round at no cost in any case; a day later every lookup would be a call again.
  for (const laterMs of [0, 86_400_000]) {
    world.clock.now += laterMs;
    const answers = await Promise.all(denied.map((combination) => world.invoke(eventFor(combination))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.statusCode).toBe(403);
    expect(world.counts).toEqual(before);
  }
});

type Combination = (typeof EVERYTHING)[number];

function ruleFor({ role, client, service, operation }: Combination): AccessRule {
  const arn = `arn:aws:iam::111111111111:role/${role}`;
  return exampleRule({ role: arn, clients: [client], services: [service], operations: [operation] });
}

function eventFor({ role, client, service, operation }: Combination) {
  const caller = requestContext(signedBy(`arn:aws:sts::111111111111:assumed-role/${role}/run-1`));
  return functionUrlEvent({ client, service }, { rawPath: `/${operation}`, requestContext: caller });
}
