import type { IssueRequest } from '../../../functions/broker/pair/decision.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import { ISSUE_REQUEST } from '../broker-world.ts';
import { START } from '../example.ts';
import { type Answer, ask, createFleet } from '../fleet/fleet.ts';
import type { StoreFault, Surroundings } from '../fleet/surroundings.ts';
import { VirtualClock } from '../virtual-clock.ts';

/** What may go wrong once at any call to the store; an environment may also crash after a token request. */
export type Fault = Extract<StoreFault, 'crash' | 'answer-lost' | 'repeated' | 'unavailable' | 'delay'>;

export interface Scenario extends Partial<Surroundings> {
  /** What the shared record holds at the start. */
  readonly record?: Partial<PairRecord>;
  readonly request?: Partial<IssueRequest>;
  /** What an operator does at any moment in between. */
  readonly operator?: (surroundings: Surroundings) => void;
  readonly faults?: readonly Fault[];
  /** How many faults there may be in one run; 1 when left out. */
  readonly maxFaults?: number;
}

/** Chooses one of the options; every choice that a run leaves open is made here, so that all of them get made. */
type Pick = <Option>(options: readonly [Option, ...Option[]], what: string) => Option;

export type RunResult = Awaited<ReturnType<typeof interleave>>;

/**
 * Lets two environments ask for one pair in every order of their steps, and with every fault: depth first, each run from
 * the start, the last choice that has an option left is changed next.
 */
export async function explore(scenario: Scenario, check: (result: RunResult) => Promise<void> | void): Promise<void> {
  let path: number[] = [];
  for (let runs = 1; runs <= MAX_RUNS; runs += 1) {
    const taken: { readonly index: number; readonly width: number; readonly story: string }[] = [];
    const pick: Pick = (options, what) => {
      const index = path[taken.length] ?? 0;
      const option = options[index] ?? options[0];
      taken.push({ index, width: options.length, story: `${what}: ${option}` });
      return option;
    };
    try {
      await check(await interleave(scenario, pick));
    } catch (error) {
      const story = taken.map((choice) => choice.story).join('\n  ');
      throw new Error(`${error instanceof Error ? error.message : error}\nafter:\n  ${story}`, { cause: error });
    }
    const last = taken.findLastIndex(({ index, width }) => index + 1 < width);
    if (last === -1) return;
    path = taken.slice(0, last + 1).map(({ index }, n) => (n === last ? index + 1 : index));
  }
  throw new Error(`not everything was explored in ${MAX_RUNS} runs`);
}

async function interleave(scenario: Scenario, pick: Pick) {
  const { record = {}, request, operator, faults: possible = [], maxFaults = 1, ...changes } = scenario;
  const faults: Fault[] = [];
  let isQuiet = false;
  /** The next fault, if there is to be one here. */
  const pickFault = (kinds: readonly Fault[], where: string): Fault | undefined => {
    if (isQuiet || faults.length >= maxFaults || kinds.length === 0) return undefined;
    const fault = pick([undefined, ...kinds], where);
    if (fault !== undefined) faults.push(fault);
    return fault;
  };
  const nth = (count: number) => Array.from({ length: count - 1 }, (_, index) => index + 1);
  const clock = new VirtualClock(START, (count) => (isQuiet ? 0 : pick([0, ...nth(count)], 'next')));
  const fleet = createFleet({
    clock,
    storeLatencyMs: 0,
    serviceLatencyMs: 0,
    secretsLatencyMs: 0,
    ...changes,
    storeFault: (operation, from) =>
      pickFault(
        possible.filter((fault) => fault !== 'repeated' || operation !== 'read'),
        `${operation} of ${from}`,
      ),
    answer: (n, sent) => {
      const isCrash = pickFault(possible.includes('crash') ? ['crash'] : [], `request of ${sent.from}`);
      if (isCrash) environments[sent.from]?.kill();
      return changes.answer?.(n, sent);
    },
  });
  fleet.shared.change(ISSUE_REQUEST.pair, (empty) => ({ ...empty, ...record }));
  const environments = [fleet.createInstance(), fleet.createInstance()];

  if (operator) void clock.sleep(0).then(() => operator(fleet.surroundings));
  /** What each environment answered; `undefined` for one that crashed. */
  const answers: (Answer | undefined)[] = [undefined, undefined];
  let defect: unknown;
  const fail = (error: unknown) => {
    defect = error;
  };
  for (const [index, environment] of environments.entries()) {
    void ask(environment, request).then((answer) => answers.splice(index, 1, answer), fail);
  }
  await clock.settle();
  if (defect !== undefined) throw defect;

  return {
    answers,
    requests: fleet.requests,
    faults,
    record: fleet.shared.peek(ISSUE_REQUEST.pair),
    now: clock.now(),
    /** What an environment answers that asks after all others have ended, this much time later. */
    async later(ms: number): Promise<Answer> {
      isQuiet = true;
      await clock.advance(ms);
      return clock.run(ask(fleet.createInstance(), request));
    },
  };
}

/** More than any scenario here needs; an exploration that is cut off fails. */
const MAX_RUNS = 60_000;
