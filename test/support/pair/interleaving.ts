import type { CheckResult } from '../../../functions/broker/check-credential.ts';
import type { IssueRequest } from '../../../functions/broker/pair/decision.ts';
import { isIssuable } from '../../../functions/broker/pair/record.ts';
import { ISSUE_REQUEST } from '../broker-world.ts';
import { START } from '../example.ts';
import { type Answer, AT_ONCE, ask, createFleet } from '../fleet/fleet.ts';
import { createHosts } from '../fleet/model-hosts.ts';
import { keepLedger } from '../fleet/model-ledger.ts';
import type { StoreFault } from '../fleet/surroundings.ts';
import { VirtualClock } from '../virtual-clock.ts';

/**
 * What may go wrong at any call to the store. An instance may also crash after a token request, and the item of the pair may
 * be lost, or restored as it was at the start.
 */
export type Fault =
  | Exclude<StoreFault, 'busy' | 'hanging'>
  | 'busy-read'
  | 'busy-write'
  | 'item-lost'
  | 'item-restored';

type Fleet = ReturnType<typeof createFleet>;

export interface Scenario extends NonNullable<Parameters<typeof createFleet>[0]> {
  readonly request?: Partial<IssueRequest>;
  /** How many instances ask: 2 when left out. */
  readonly callers?: 1 | 2;
  /** A third instance checks the credential meanwhile. */
  readonly hasCheck?: boolean;
  /** What an operator does at any moment in between. */
  readonly operator?: (fleet: Fleet) => void;
  /** Each happens at most once in a run, if `maxFaults` allows that many. */
  readonly faults?: readonly Fault[];
  /** How many faults there may be in one run; 1 when left out. */
  readonly maxFaults?: number;
}

/** Chooses one of the options; every choice that a run leaves open is made here, so that all of them get made. */
type Pick = <Option>(options: readonly [Option, ...Option[]], what: string) => Option;

export type RunResult = Awaited<ReturnType<typeof interleave>>;

/**
 * Lets two instances ask for one pair in every order of their steps, and with every fault: depth first, each run from the
 * start, the last choice that has an option left is changed next.
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
      const result = await interleave(scenario, pick);
      if (result.broken.length > 0) throw new Error(result.broken.join('\n'));
      await check(result);
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
  const { request, hasCheck, operator, callers = 2, faults: possible = [], maxFaults = 1, ...changes } = scenario;
  const faults: Fault[] = [];
  let isQuiet = false;
  /** The next fault, if there is to be one here. */
  const pickFault = (kinds: readonly Fault[], where: string): Fault | undefined => {
    const open = kinds.filter((kind) => possible.includes(kind) && !faults.includes(kind));
    if (isQuiet || faults.length >= maxFaults || open.length === 0) return undefined;
    const fault = pick([undefined, ...open], where);
    if (fault !== undefined) faults.push(fault);
    return fault;
  };
  const nth = (count: number) => Array.from({ length: count - 1 }, (_, index) => index + 1);
  const clock = new VirtualClock(START, (count) => (isQuiet ? 0 : pick([0, ...nth(count)], 'next')));
  const fleet = createFleet({
    clock,
    ...AT_ONCE,
    ...changes,
    storeFault: (operation, from) => {
      const fault = pickFault(
        operation === 'read' ? [...READ_FAULTS, 'busy-read'] : [...ALL_FAULTS, 'busy-write'],
        `${operation} of ${from}`,
      );
      if (fault === 'item-lost' || fault === 'item-restored') {
        fleet.shared.restore(pair, fault === 'item-lost' ? undefined : start);
        ledger.forget(pair);
        return undefined;
      }
      return fault === 'busy-read' || fault === 'busy-write' ? 'busy' : fault;
    },
    answer: (n, sent) => {
      const holder = instances[sent.from];
      if (pickFault(['crash'], `request of ${sent.from}`) !== undefined && holder) hosts.kill(holder);
      return changes.answer?.(n, sent);
    },
  });
  const { pair } = ISSUE_REQUEST;
  const start = await fleet.shared.read(pair, { deadline: Infinity });
  const hosts = createHosts(fleet);
  const ledger = keepLedger(fleet, hosts);
  const instances = [hosts.start(0), hosts.start(0), hosts.start(0)];
  const [first, second, checker] = instances;

  if (operator) void clock.sleep(0).then(() => operator(fleet));
  /** What each instance answered; `undefined` for one that crashed. */
  const answers: (Answer | undefined)[] = [undefined, undefined];
  let finding: CheckResult | undefined;
  let defect: unknown;
  const calls = [first, second].slice(0, callers).map(async (instance, index) => {
    answers[index] = instance && (await hosts.follow(instance, pair, ask(instance, request)));
  });
  const checking = async () => {
    finding = checker && (await hosts.follow(checker, pair, checker.check()));
  };
  for (const call of hasCheck ? [...calls, checking()] : calls) {
    call.catch((error: unknown) => {
      defect = error;
    });
  }
  await clock.settle();
  if (defect !== undefined) throw defect;
  const broken = [...hosts.accusations];
  for (const answer of answers) {
    if (answer?.issue && !isIssuable(answer.issue.token, answer.at)) broken.push('a lapsed token was issued');
    if (answer?.issue && request?.refused === answer.issue.token.fingerprint) broken.push('a refused token was issued');
  }

  return {
    answers,
    finding,
    requests: fleet.requests,
    faults,
    /** The promises that were broken. */
    broken,
    record: fleet.shared.peek(pair),
    now: clock.now(),
    /** What an instance answers that asks after all others have ended, this much time later. */
    async later(ms: number): Promise<Answer> {
      isQuiet = true;
      await clock.advance(ms);
      return clock.run(ask(fleet.createInstance(), request));
    },
  };
}

/** A read that comes twice, or too late, changes nothing. */
const READ_FAULTS: readonly Fault[] = [
  ...(['crash', 'answer-lost', 'unavailable', 'delay', 'freeze', 'no-key', 'refused'] as const),
  ...(['item-lost', 'item-restored'] as const),
];
export const ALL_FAULTS: readonly Fault[] = [
  ...READ_FAULTS,
  ...(['repeated', 'late', 'answer-lost-then-busy', 'busy-then-hanging', 'busy-then-late'] as const),
  'busy-then-answer-lost',
];

/** One lease or more may end without a result: a request more each. A store that repeats costs nothing. */
export const COSTLY = ALL_FAULTS.filter((fault) => fault !== 'repeated');

export const count = (faults: readonly Fault[], kinds: readonly Fault[]) =>
  faults.filter((fault) => kinds.includes(fault)).length;

/** More than any scenario here needs; an exploration that is cut off fails. */
const MAX_RUNS = 120_000;
