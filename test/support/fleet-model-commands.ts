import fc from 'fast-check';
import type { FleetModel } from './fleet-model.ts';
import { CLIENTS, PAIRS, SERVICES, type ServiceFault } from './fleet-model-world.ts';
import type { StoreFault } from './fleet-surroundings.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

type Command = fc.AsyncCommand<object, FleetModel>;
type Run = (fleet: FleetModel) => Promise<void> | void;

/** A step of a story; after each the fleet is asked whether all is still as it must be. */
function step(name: string, run: Run): Command {
  return {
    check: () => true,
    async run(_, fleet) {
      await run(fleet);
      fleet.verify();
    },
    toString: () => name,
  };
}

function steps<Facts>(
  facts: fc.Arbitrary<Facts>,
  name: string,
  run: (facts: Facts, fleet: FleetModel) => Promise<void> | void,
) {
  return facts.map((chosen) => step(`${name} ${JSON.stringify(chosen)}`, (fleet) => run(chosen, fleet)));
}

/** One pair has most of the story. */
const pair = fc.oneof({ arbitrary: fc.constantFrom(...PAIRS.slice(0, 1)), weight: 3 }, fc.constantFrom(...PAIRS));
const client = fc.oneof({ arbitrary: fc.constantFrom(...CLIENTS.slice(0, 1)), weight: 2 }, fc.constantFrom(...CLIENTS));
const host = fc.nat(4);

const request = fc.record({
  pair,
  minTtlSeconds: fc.constantFrom(0, 0, 0, 8, 60, 3_000),
  refuses: fc.constantFrom('nothing', 'nothing', 'nothing', 'the last token', 'an unknown token'),
} as const);

const storeFault: fc.Arbitrary<StoreFault> = fc.constantFrom(
  'unavailable',
  'answer-lost',
  'repeated',
  'hanging',
  'late',
  'no-key',
);
const serviceFault: fc.Arbitrary<ServiceFault> = fc.constantFrom(
  'connection refused',
  '503',
  '429 for seconds',
  '429 until a date',
  '429 for an hour',
  'silence',
  'odd body',
  'redirect',
  'not found',
  'error in a 200',
);

const mood = fc.record({
  fault: fc.option(serviceFault, { nil: undefined, freq: 2 }),
  latencyMs: fc.constantFrom(20, 150, 150, 900, 1_900, 3_900, 60_000),
  lifetimeSeconds: fc.constantFrom(0, 10, 30, 60, 300, 3_600, 48 * 3_600),
  repeats: fc.boolean(),
});

/** Everything that happens to a fleet, the frequent things more often. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  ...often(
    6,
    steps(fc.record({ host, request }), 'ask', ({ host, request }, fleet) => {
      const chosen = fleet.at(host);
      if (chosen !== undefined) void fleet.ask(chosen, request);
    }),
  ),
  ...often(
    2,
    steps(request, 'all ask at once, and are answered', async (request, fleet) => {
      for (const each of fleet.living()) void fleet.ask(each, request);
      await fleet.settle();
    }),
  ),
  ...often(
    3,
    steps(fc.constantFrom(10, 100, SECOND_MS, 3 * SECOND_MS, 7 * SECOND_MS), 'wait', (ms, fleet) =>
      fleet.clock.advance(ms),
    ),
  ),
  ...often(
    3,
    steps(
      fc.constantFrom(
        16 * SECOND_MS,
        31 * SECOND_MS,
        MINUTE_MS,
        5 * MINUTE_MS,
        16 * MINUTE_MS,
        2 * HOUR_MS,
        25 * HOUR_MS,
      ),
      'wait long',
      (ms, fleet) => fleet.clock.advance(ms),
    ),
  ),
  steps(fc.constantFrom(-2_000, 0, 2_000), 'start an environment with skew', (skewMs, fleet) => {
    if (fleet.living().length < 5) fleet.start(skewMs);
  }),
  steps(host, 'kill', (host, fleet) => {
    const chosen = fleet.at(host);
    if (chosen !== undefined) fleet.kill(chosen);
  }),
  steps(
    fc.record({ host, jumpMs: fc.constantFrom(-10 * MINUTE_MS, 0, 10 * MINUTE_MS) }),
    'set clock',
    async ({ host, jumpMs }, fleet) => {
      const chosen = fleet.at(host);
      if (chosen !== undefined) await fleet.setClock(chosen, jumpMs);
    },
  ),
  ...often(
    2,
    steps(
      fc.record({ service: fc.constantFrom(SERVICES[0], ...SERVICES), mood }),
      'service',
      ({ service, mood }, fleet) => {
        fleet.world.setMood(service, mood);
      },
    ),
  ),
  steps(
    fc.option(fc.record({ fault: storeFault, share: fc.constantFrom(0.2, 0.5, 1), seed: fc.nat(1_000) }), {
      nil: undefined,
      freq: 2,
    }),
    'store',
    (trouble, fleet) => fleet.troubleStore(trouble),
  ),
  steps(
    fc.option(
      fc.record({
        fault: fc.constantFrom('unavailable', 'unavailable', 'denied'),
        share: fc.constantFrom(0.3, 1),
        seed: fc.nat(1_000),
      } as const),
      { nil: undefined, freq: 2 },
    ),
    'Secrets Manager',
    (trouble, fleet) => fleet.troubleSecrets(trouble),
  ),
  steps(
    fc.record({
      client,
      stage: fc.constantFrom('AWSCURRENT', 'AWSCURRENT', 'AWSPENDING'),
      isGood: fc.boolean(),
    } as const),
    'store a version',
    ({ client, stage, isGood }, fleet) => {
      fleet.world.stage(client, stage, isGood);
    },
  ),
  steps(client, 'promote the pending version of', (client, fleet) => fleet.world.promotePending(client)),
  ...often(
    2,
    steps(
      fc.record({ host, pair, stage: fc.constantFrom('AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS') } as const),
      'check',
      ({ host, pair, stage }, fleet) => {
        const chosen = fleet.at(host);
        if (chosen !== undefined) void fleet.check(chosen, pair, stage);
      },
    ),
  ),
  steps(client, 'roll back', (client, fleet) => fleet.world.rollBack(client)),
  steps(
    fc.record({ client, isDeleted: fc.constantFrom(true, false, false, false) }),
    'delete or restore',
    ({ client, isDeleted }, fleet) => fleet.world.setDeleted(client, isDeleted),
  ),
  steps(
    fc.record({ pair, isNamed: fc.constantFrom(true, true, true, false) }),
    'name the service in the secret, or leave it out',
    ({ pair, isNamed }, fleet) => fleet.world.setNamed(pair, isNamed),
  ),
  ...often(
    2,
    steps(
      fc.record({
        pair,
        stage: fc.constantFrom('AWSCURRENT', 'AWSCURRENT', 'AWSPREVIOUS'),
        accepts: fc.constantFrom(false, false, true),
      } as const),
      'let the service accept',
      ({ pair, stage, accepts }, fleet) => {
        const version = fleet.world.versionWith(pair.client, stage);
        if (version !== undefined) fleet.world.setAccepted(pair, version, accepts);
      },
    ),
  ),
  steps(
    fc.record({ pair, isDisabled: fc.constantFrom(true, false, false, false) }),
    'disable or enable',
    ({ pair, isDisabled }, fleet) => fleet.setDisabled(pair, isDisabled),
  ),
  steps(pair, 'retry', (pair, fleet) => fleet.retry(pair)),
];

function often<Value>(times: number, value: Value): Value[] {
  return Array.from({ length: times }, () => value);
}
