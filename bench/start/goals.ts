import type { Variant } from './bundles.ts';
import type { ColdStart } from './cold-start.ts';
import type { FleetWaves } from './fleet-waves.ts';
import type { Round, Samples } from './samples.ts';
import { median, quantile } from './statistics.ts';

export interface Goal {
  readonly id: string;
  readonly value: number;
  readonly goal: number;
  readonly met: boolean;
}

export interface Skipped {
  readonly id: string;
  readonly why: string;
}

/** One line of the table of goals: what is measured, how little it shall be, and what it consists of. */
interface Definition {
  readonly id: string;
  readonly name: string;
  readonly goal: number;
  /** `undefined` when the samples do not tell. */
  readonly measure: (samples: Samples) => number | undefined;
  /** The measured values that the measure is made of. */
  readonly parts: (samples: Samples) => string;
  /** What stands in the way when it is missed. */
  readonly why: string;
}

/** The goals whose measure the samples tell. */
export function goalsOf(samples: Samples): readonly Goal[] {
  return GOALS.flatMap(({ id, goal, measure }) => {
    const value = measure(samples);
    return value === undefined || Number.isNaN(value) ? [] : { id, value, goal, met: value <= goal };
  });
}

/** Why a time is missed or a size. */
const START = 'reading and compiling the clients of the SDK is most of it, and the reference does that too';
const FIRST =
  'lease, token request and publishing follow one another on both sides; the broker saves what comes before';
const RESIDENT = 'the code of two clients of the SDK, and the buffers of three connections over TLS';

const toFirstToken = ({ initMs, firstMs }: ColdStart) => initMs + firstMs;

export const GOALS: readonly Definition[] = [
  {
    id: 'init',
    name: 'init ÷ empty, first reads excluded',
    goal: 1.95,
    measure: ({ rounds }) => median(rounds.map((round) => round.initWithoutReadsMs / round.full.empty.initMs)),
    why: 'two clients of the SDK are read and compiled, and Node loads TLS for them',
    parts: ({ rounds }) =>
      `${ms(rounds.map((round) => round.initWithoutReadsMs))} against ${ms(rounds.map((round) => round.full.empty.initMs))}`,
  },
  ratio('first-token-sdk', 'start to first token ÷ sdk', 0.85, toFirstToken, 'full', 'sdk', START),
  ratio('first-token-sdk-limited', 'the same with 0.29 CPU', 0.6, toFirstToken, 'limited', 'sdk', START),
  ratio('first-token-stack', 'start to first token ÷ stack', 0.5, toFirstToken, 'full', 'stack', START),
  ratio('first-token-stack-limited', 'the same with 0.29 CPU', 0.4, toFirstToken, 'limited', 'stack', START),
  ratio('first-miss-sdk', 'first invocation, a miss ÷ sdk', 0.35, ({ firstMs }) => firstMs, 'full', 'sdk', FIRST),
  {
    id: 'memory-hit-microseconds',
    name: 'memory hit p50 − empty p50, in µs',
    goal: 40,
    measure: ({ hits }) => 1_000 * median(hits.map(({ broker, empty }) => median(broker) - median(empty))),
    parts: ({ hits }) => hitParts(hits, 0.5),
    why: 'code that runs once per call runs from cold caches, and writing the line takes about a third of it',
  },
  {
    id: 'memory-hit-p99',
    name: 'memory hit p99 ÷ empty p99',
    goal: 1.3,
    measure: ({ hits }) => median(hits.map(({ broker, empty }) => quantile(broker, 0.99) / quantile(empty, 0.99))),
    parts: ({ hits }) => hitParts(hits, 0.99),
    why: 'the slowest calls wait for a processor, or for Node to collect garbage',
  },
  ratio('resident-memory', 'memory after the first token ÷ empty', 1.35, residentMegabytes, 'full', 'empty', RESIDENT),
  fleet('cold-fleet', '200 cold environments, one pair: token requests', 1, 'coldTokenRequests'),
  fleet('soft-window', '200 in the soft window: token requests', 1, 'softWindowTokenRequests'),
  fleet('soft-window-waiting', '200 in the soft window: waiting for the refresher', 0, 'softWindowWaiting'),
  {
    id: 'simulated-fleet',
    name: 'simulated fleet of 10 000: token requests ÷ what it may make',
    goal: 1,
    measure: ({ simulated }) => simulated && simulated.tokenRequests / simulated.atMost,
    parts: ({ simulated }) => `${simulated?.tokenRequests} against ${simulated?.atMost}`,
    why: 'environments asked although another one had asked already',
  },
  {
    id: 'bundle-kilobytes',
    name: 'bundle of the token function, in kB',
    goal: 260,
    measure: ({ bundleBytes }) => bundleBytes / 1_000,
    parts: ({ bundleBytes }) => `${bundleBytes} bytes`,
    why: 'two clients of the SDK are two thirds of it, and cannot be left out piece by piece',
  },
];

function residentMegabytes({ residentBytes }: ColdStart): number {
  return (residentBytes ?? Number.NaN) / 1e6;
}

/** The median of the ratios within the rounds: what slows a machine down for a moment slows both sides of a ratio. */
function ratio(
  id: string,
  name: string,
  goal: number,
  of: (start: ColdStart) => number,
  share: 'full' | 'limited',
  reference: Variant,
  why: string,
): Definition {
  const startsOf = ({ rounds }: Samples) => rounds.flatMap((round: Round) => round[share] ?? []);
  return {
    id,
    name,
    goal,
    measure: (samples) => median(startsOf(samples).map((starts) => of(starts.broker) / of(starts[reference]))),
    parts(samples) {
      const starts = startsOf(samples);
      if (of === residentMegabytes) {
        return `${median(starts.map(({ broker }) => of(broker))).toFixed(1)} MB against ${median(starts.map((each) => of(each[reference]))).toFixed(1)} MB`;
      }
      const sides = (['broker', reference] as const).map((side) => {
        const init = ms(starts.map((each) => each[side].initMs));
        return `${init} to start and ${ms(starts.map((each) => each[side].firstMs))} for the first invocation`;
      });
      return sides.join(' against ');
    },
    why,
  };
}

function fleet(id: string, name: string, goal: number, count: keyof FleetWaves): Definition {
  return {
    id,
    name,
    goal,
    measure: (samples) => samples.fleet?.[count],
    parts: ({ fleet: waves }) => `${waves?.[count]} counted`,
    why: 'an environment that gets no answer of DynamoDB in time goes by itself',
  };
}

function hitParts(hits: Samples['hits'], share: number): string {
  const [broker, empty] = (['broker', 'empty'] as const).map((side) =>
    median(hits.map((each) => quantile(each[side], share))),
  );
  const [brokerCpu, emptyCpu] = (['brokerCpuMs', 'emptyCpuMs'] as const).map((side) =>
    median(hits.flatMap((each) => each[side] ?? [])),
  );
  const times = `${broker?.toFixed(3)} ms against ${empty?.toFixed(3)} ms`;
  if (!brokerCpu || !emptyCpu) return times;
  return `${times}, with ${brokerCpu.toFixed(3)} ms against ${emptyCpu.toFixed(3)} ms of processor time for each`;
}

function ms(values: readonly number[]): string {
  return `${median(values).toFixed(1)} ms`;
}
