import fc from 'fast-check';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../example.ts';
import type { Instance } from './fleet.ts';
import type { FleetModel } from './model.ts';
import { CLIENTS, SERVICE_FAULTS, SERVICES } from './model-world.ts';

type Command = fc.AsyncCommand<object, FleetModel>;

/** So many times among the steps of a story; after each the fleet is asked whether all is still as it must be. */
function steps<Facts>(
  times: number,
  name: string,
  facts: fc.Arbitrary<Facts>,
  run: (fleet: FleetModel, facts: Facts) => unknown,
): fc.Arbitrary<Command>[] {
  const step = facts.map((chosen) => ({
    check: () => true,
    async run(_: object, fleet: FleetModel) {
      await run(fleet, chosen);
      fleet.verify();
    },
    toString: () => `${name} ${JSON.stringify(chosen)}`,
  }));
  return Array.from({ length: times }, () => step);
}

/** The same for one of the instances, if there is any. */
function onHost<Facts>(
  times: number,
  name: string,
  facts: fc.Arbitrary<Facts>,
  run: (fleet: FleetModel, host: Instance, facts: Facts) => unknown,
) {
  return steps(times, name, fc.tuple(fc.nat(4), facts), (fleet, [index, chosen]) => {
    const host = fleet.at(index);
    return host && run(fleet, host, chosen);
  });
}

const from = fc.constantFrom;
/** One pair has most of the story, and one client. */
const PAIRS = CLIENTS.flatMap((client) => SERVICES.map((service) => ({ client, service })));
const pair = fc.oneof({ arbitrary: from(...PAIRS.slice(0, 1)), weight: 3 }, from(...PAIRS));
const client = fc.oneof({ arbitrary: from(...CLIENTS.slice(0, 1)), weight: 2 }, from(...CLIENTS));
const service = from(SERVICES[0], ...SERVICES);
const maybe = <Facts>(facts: fc.Arbitrary<Facts>) => fc.option(facts, { nil: undefined, freq: 2 });
/** Once in four times; the other times such a fault ends. */
const seldom = from(true, false, false, false);

const request = fc.record({
  pair,
  minTtlSeconds: from(0, 0, 0, 8, 60, 3_000),
  refuses: from('nothing', 'nothing', 'nothing', 'the last token', 'an unknown token'),
} as const);

const storeTrouble = fc.record({
  fault: from(
    ...(['busy', 'busy', 'unavailable', 'answer-lost', 'repeated', 'hanging', 'late', 'no-key', 'refused'] as const),
    ...(['answer-lost-then-busy', 'busy-then-hanging', 'busy-then-late', 'busy-then-answer-lost'] as const),
  ),
  share: from(0.05, 0.2, 0.5, 1),
  /** Reads can answer while writes fail. */
  of: from(['read', 'replace'] as const, ['read', 'replace'] as const, ['replace'] as const, ['read'] as const),
} as const);
const secretsTrouble = fc.record({ fault: from('unavailable', 'unavailable', 'denied'), share: from(0.3, 1) } as const);
const mood = fc.record({
  fault: maybe(from(...SERVICE_FAULTS)),
  latencyMs: from(20, 150, 150, 900, 1_900, 3_900, 60_000),
  lifetimeSeconds: from(10, 30, 60, 300, 3_600, 48 * 3_600),
});
const short = from(10, 100, SECOND_MS, 3 * SECOND_MS, 7 * SECOND_MS);
const some = from(16 * SECOND_MS, 31 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 16 * MINUTE_MS, 2 * HOUR_MS, 25 * HOUR_MS);

/** Everything that happens to a fleet, the frequent things more often. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  steps(2, 'service', fc.tuple(service, mood), ({ world }, facts) => world.setMood(...facts)),
  steps(1, 'store', maybe(storeTrouble), (fleet, trouble) => fleet.troubleStore(trouble)),
  steps(1, 'Secrets Manager', maybe(secretsTrouble), (fleet, trouble) => fleet.troubleSecrets(trouble)),
  steps(
    1,
    'store a version (client, stage, whether it is good)',
    fc.tuple(client, from('AWSCURRENT', 'AWSCURRENT', 'AWSPENDING'), fc.boolean()),
    ({ world }, facts) => world.stage(...facts),
  ),
  steps(1, 'promote the pending version of', client, ({ world }, client) => world.promotePending(client)),
  steps(1, 'roll back', client, ({ world }, client) => world.rollBack(client)),
  steps(1, 'delete or restore', fc.tuple(client, seldom), ({ world }, facts) => world.setDeleted(...facts)),
  steps(
    2,
    'let the service accept (pair, stage, whether)',
    fc.tuple(pair, from('AWSCURRENT', 'AWSCURRENT', 'AWSPREVIOUS'), from(false, false, true)),
    ({ world }, [pair, stage, accepts]) => world.setAccepted(pair, world.versionWith(pair.client, stage), accepts),
  ),
  steps(1, 'disable or enable', fc.tuple(pair, seldom), (fleet, [pair, isDisabled]) =>
    isDisabled ? fleet.disable(pair) : fleet.enable(pair),
  ),
  steps(1, 'retry', pair, (fleet, pair) => fleet.retry(pair)),
  steps(1, 'lose the item of', pair, (fleet, pair) => fleet.loseItem(pair)),
  steps(1, 'retire the sealing key', fc.constant(1), (fleet) => fleet.retireKey()),
  onHost(1, 'seal in a format', from(1, 2), (_, { state }, format) => Object.assign(state, { format })),
  onHost(6, 'ask', request, (fleet, host, request) => void fleet.ask(host, request)),
  steps(2, 'all ask at once, and are answered', request, (fleet, request) => {
    for (const each of fleet.living()) void fleet.ask(each, request);
    return fleet.settle();
  }),
  steps(3, 'wait', short, (fleet, ms) => fleet.clock.advance(ms)),
  steps(3, 'wait long', some, (fleet, ms) => fleet.clock.advance(ms)),
  steps(
    2,
    'wait for the soft window, or the last seconds, of',
    fc.tuple(pair, fc.boolean()),
    (fleet, [pair, isLast]) => {
      const { clock, shared } = fleet;
      const { refreshAt = 0, expiresAt = 0 } = shared.peek(pair).token ?? {};
      const until = isLast ? expiresAt - 1_500 : refreshAt;
      return clock.advance(Math.min(2 * HOUR_MS, Math.max(0, until - clock.now())));
    },
  ),
  steps(1, 'refuse for days', pair, (fleet, pair) => fleet.refuseForDays(pair)),
  steps(1, 'start an instance with skew', from(-2_000, 0, 2_000), (fleet, skewMs) => {
    if (fleet.living().length < 5) fleet.start(skewMs);
  }),
  onHost(1, 'kill', fc.constant(1), (fleet, host) => fleet.kill(host)),
  onHost(2, 'check', fc.tuple(pair, from('AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS')), (fleet, host, asked) => {
    void fleet.check(host, ...asked);
  }),
].flat();
