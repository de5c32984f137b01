import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AccessRule, createAuthorize, type Operation } from '../../functions/broker/authorize.ts';
import { createBrokerWorld } from '../support/broker-world.ts';
import { exampleRule } from '../support/example.ts';
import { functionUrlEvent, requestContext, signedBy } from '../support/function-url-events.ts';

const SEED = 8;
const ROLES = ['billing', 'reporting', 'ledger', 'Billing', 'billing-admin', 'admin'];
const CLIENTS = ['acme', 'globex', 'initech', 'umbrella', 'acme-2'];
const SERVICES = ['customer-insights', 'merchant-payment-cleansing'];
const OPERATIONS: readonly Operation[] = ['token', 'check'];
const ALLOWED_ARN = 'arn:aws:sts::111111111111:assumed-role/billing/run-1';

/** Every third of all 120 combinations, so that the sample does not depend on what they say. */
const EVERYTHING = ROLES.flatMap((role) =>
  CLIENTS.flatMap((client) =>
    SERVICES.flatMap((service) => OPERATIONS.map((operation) => ({ role, client, service, operation }))),
  ),
);
const ALLOWED = new Set(EVERYTHING.filter((_, index) => index % 3 === 0));

describe('of every caller, client, service and operation', () => {
  it('exactly the configured combinations succeed, and no other one costs a call to a service or AWS', async () => {
    const world = createBrokerWorld({ accessRules: [...ALLOWED].map(ruleFor) });
    for (const combination of EVERYTHING) {
      const before = { ...world.calls };
      const { statusCode } = await world.invoke(eventFor(combination));
      expect({ ...combination, statusCode }).toEqual({
        ...combination,
        statusCode: ALLOWED.has(combination) ? 200 : 403,
      });
      if (!ALLOWED.has(combination)) expect(world.calls).toEqual(before);
    }
  });

  it('the denied ones are answered with the same bytes, whether what they ask for exists or not', async () => {
    const world = createBrokerWorld({ accessRules: [...ALLOWED].map(ruleFor) });
    const denied = [
      ...EVERYTHING.filter((combination) => !ALLOWED.has(combination)),
      { role: 'billing', client: 'no-such-client', service: 'customer-insights', operation: 'token' as const },
      { role: 'billing', client: 'acme', service: 'no-such-service', operation: 'token' as const },
      { role: 'no-such-role', client: 'acme', service: 'customer-insights', operation: 'check' as const },
    ];
    const answers = await Promise.all(denied.map((combination) => world.invoke(eventFor(combination))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });
});

describe('a thousand random policies', () => {
  it('decide as a second implementation that reads the rules one by one', () => {
    fc.assert(
      fc.property(policy, ({ rules, services }) => {
        const authorize = createAuthorize(rules, new Set(services));
        const wrong = EVERYTHING.flatMap((combination) =>
          ACCOUNTS.map((account) => ({ ...combination, account })),
        ).filter(({ account, role, client, service, operation }) => {
          const caller = { partition: 'aws', account, role, session: 'run-1' };
          const expected =
            services.includes(service) && oracle(rules, `${account}/${role}`, operation, client, service);
          return succeeds(() => authorize(caller, operation, { client, service })) !== expected;
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: 1_000, seed: SEED },
    );
  });
});

describe('an ARN that is nearly the one of an access rule', () => {
  const oneCharacterOff = [...mutations(ALLOWED_ARN)].filter((arn) => !isOtherSession(arn));

  it('is let in unchanged, so that only a change can be the reason for a refusal', async () => {
    expect(await statusFor(signedBy(ALLOWED_ARN))).toBe(200);
    expect(oneCharacterOff.length).toBeGreaterThan(1_000);
  });

  it('is refused with any one character changed, added, left out or in the other case', async () => {
    for (const arn of oneCharacterOff)
      expect({ arn, status: await statusFor(signedBy(arn)) }).toEqual({ arn, status: 403 });
  });

  it('is refused with any one character changed while account and session stay', async () => {
    const rest = { account: '111111111111', session: 'run-1' };
    for (const arn of mutations(ALLOWED_ARN)) {
      expect({ arn, status: await statusFor(signedBy(arn, rest)) }).toEqual({ arn, status: 403 });
    }
  });
});

const ACME = { client: 'acme', service: 'customer-insights' };
const ACCOUNTS = ['111111111111', '222222222222'];

interface Combination {
  readonly role: string;
  readonly client: string;
  readonly service: string;
  readonly operation: Operation;
}

function ruleFor({ role, client, service, operation }: Combination): AccessRule {
  const arn = `arn:aws:iam::111111111111:role/${role}`;
  return exampleRule({ role: arn, clients: [client], services: [service], operations: [operation] });
}

function eventFor({ role, client, service, operation }: Combination) {
  const caller = requestContext(signedBy(`arn:aws:sts::111111111111:assumed-role/${role}/run-1`));
  return functionUrlEvent({ client, service }, { rawPath: `/${operation}`, requestContext: caller });
}

async function statusFor(authorizer: unknown) {
  const world = createBrokerWorld();
  const { statusCode } = await world.invoke(functionUrlEvent(ACME, { requestContext: requestContext(authorizer) }));
  return statusCode;
}

/** The session's name is the caller's own choice, so another one is no other caller. */
function isOtherSession(arn: string): boolean {
  return /^arn:aws:sts::111111111111:assumed-role\/billing\/[\w+=,.@-]{1,64}$/.test(arn);
}

function* mutations(text: string) {
  const alphabet = ['a', 'B', '7', '/', ':', '-', '*', ' ', '\n', '\u0000', '\u0430', '%'];
  for (let at = 0; at < text.length; at += 1) {
    const [before, own, after] = [text.slice(0, at), text.charAt(at), text.slice(at + 1)];
    const swapped = own === own.toLowerCase() ? own.toUpperCase() : own.toLowerCase();
    yield before + after;
    if (swapped !== own) yield before + swapped + after;
    for (const letter of alphabet) {
      if (letter !== own) yield before + letter + after;
      yield before + letter + own + after;
    }
  }
}

const policy = fc.record({
  services: fc.subarray([...SERVICES, 'other-service']),
  rules: fc.array(
    fc.record({
      role: fc
        .tuple(fc.constantFrom(...ACCOUNTS), fc.constantFrom('', 'team/', 'a/billing/'), fc.constantFrom(...ROLES))
        .map(([account, path, role]) => `arn:aws:iam::${account}:role/${path}${role}`),
      clients: fc.oneof(fc.constant('all' as const), fc.subarray(CLIENTS)),
      services: fc.oneof(fc.constant('all' as const), fc.subarray(SERVICES)),
      operations: fc.subarray([...OPERATIONS]),
    }),
    { maxLength: 8 },
  ),
});

/** Reads the rules as a person would: one after the other, each as a list of words. */
function oracle(rules: readonly AccessRule[], who: string, operation: Operation, client: string, service: string) {
  for (const rule of rules) {
    const [, , , , account, resource = ''] = rule.role.split(':');
    if (`${account}/${resource.slice(resource.lastIndexOf('/') + 1)}` !== who) continue;
    if (rule.operations.indexOf(operation) < 0) continue;
    if (rule.clients !== 'all' && rule.clients.indexOf(client) < 0) continue;
    if (rule.services !== 'all' && rule.services.indexOf(service) < 0) continue;
    return true;
  }
  return false;
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('access-denied')) return false;
    throw error;
  }
}
