import type { Finding, ProvenBy } from '../../contract.ts';
import type { Pair, ServiceName } from '../pair/pair.ts';

/** A pair of which the broker could say something. Times are epoch milliseconds. */
export interface CheckedPair {
  readonly pair: Pair;
  readonly finding: Finding;
  readonly provenBy: ProvenBy;
  readonly version?: string | undefined;
  /** When the finding was made; may be long before this run. */
  readonly checkedAt: number;
  /** When this run learned it. */
  readonly at: number;
}

/** A pair about which this run says nothing; `failed`: the broker itself had no finding, for a reason of one word. */
export interface MissedPair {
  readonly pair: Pair;
  readonly reason: 'out-of-time' | 'sampled' | 'failed';
  readonly failure?: string | undefined;
}

/** Asks the broker about one pair. Never throws, and ends within the time it is given. */
export type CheckPair = (pair: Pair, timeoutMs: number) => Promise<PairAnswer>;

/** What the broker says about a pair, or why it says nothing. */
export type PairAnswer =
  | ({ readonly kind: 'checked' } & Omit<CheckedPair, 'pair' | 'at'>)
  | { readonly kind: 'failed'; readonly failure: string; readonly retryable: boolean };

/** One answer, for the log. */
export interface CheckRecord {
  readonly pair: Pair;
  readonly answer: PairAnswer;
  readonly milliseconds: number;
  /** The version whose event led to this check; absent in a run. */
  readonly promoted?: string | undefined;
}

/** The pairs are in the same order whichever were checked first. */
export interface Checks {
  readonly checked: readonly CheckedPair[];
  readonly missed: readonly MissedPair[];
}

export interface CheckDependencies {
  readonly checkPair: CheckPair;
  /** Called for every answer. Must not throw. */
  readonly record: (record: CheckRecord) => void;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/**
 * Checks every pair once, in a new order each time, at most five at a time, spread over the time until `windowEndsAt`. A
 * service that does not answer ten times in a row is only sampled until it answers again, and so is the broker. What the
 * broker could not say is asked once more.
 */
export async function checkPairs(
  pairs: readonly Pair[],
  { windowEndsAt, endsAt }: { readonly windowEndsAt: number; readonly endsAt: number },
  random: () => number,
  dependencies: CheckDependencies,
): Promise<Checks> {
  const { now, sleep } = dependencies;
  // A run that ends early does not always miss the same pairs.
  const queue: Job[] = pairs
    .map((pair) => ({ pair, isRepetition: false, ticket: random() }))
    .toSorted((one, other) => one.ticket - other.ticket);
  const checked: CheckedPair[] = [];
  const missed: MissedPair[] = [];
  const broker = new FailureSampler<Job>();
  const services = new Map<ServiceName, FailureSampler<Job>>();
  let nextStartAt = now();

  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const leftOut = [broker, ...services.values()].flatMap((sampler) => sampler.leftOut);
  missed.push(...leftOut.map(({ pair }) => ({ pair, reason: 'sampled' as const })));
  return { checked: inOrder(checked), missed: inOrder(missed) };

  async function work(): Promise<void> {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      if (samplerOf(job.pair).leavesOut(job) || broker.leavesOut(job)) continue;
      await startTime();
      if (now() < endsAt) await check(job);
      else missed.push({ pair: job.pair, reason: 'out-of-time' });
    }
  }

  /** What is left is always spread evenly over the time that is left: a run that is late catches up without a burst. */
  async function startTime(): Promise<void> {
    const startAt = Math.max(now(), nextStartAt);
    nextStartAt = startAt + Math.min(MAX_GAP_MS, Math.max(0, windowEndsAt - startAt) / (queue.length + 1));
    await sleep(startAt - now());
  }

  async function check({ pair, isRepetition }: Job): Promise<void> {
    const { answer } = await checkOnce(pair, endsAt, dependencies);
    if (answer.kind === 'checked') {
      const service = samplerOf(pair);
      checked.push({ ...answer, pair, at: now() });
      broker.note(false);
      if (wasAsked(answer)) service.note(isSilent(answer.finding));
      queue.push(...broker.takeBack(), ...service.takeBack());
    } else if (now() >= endsAt) {
      missed.push({ pair, reason: 'out-of-time' });
    } else {
      broker.note(true);
      if (answer.retryable && !isRepetition) queue.push({ pair, isRepetition: true });
      else missed.push({ pair, reason: 'failed', failure: answer.failure });
    }
  }

  function samplerOf({ service }: Pair): FailureSampler<Job> {
    const sampler = services.get(service) ?? new FailureSampler<Job>();
    services.set(service, sampler);
    return sampler;
  }
}

/** Checks one pair in the time that is left, and records the answer. */
export async function checkOnce(
  pair: Pair,
  endsAt: number,
  { checkPair, record, now }: CheckDependencies,
  promoted?: string,
): Promise<CheckRecord> {
  const startedAt = now();
  const answer = await checkPair(pair, Math.min(CHECK_TIMEOUT_MS, endsAt - startedAt));
  const result = { pair, answer, milliseconds: now() - startedAt, promoted };
  record(result);
  return result;
}

/** Longer than the broker's function can take. */
export const CHECK_TIMEOUT_MS = 20_000;

/**
 * Whether the service itself was asked lately. A token of earlier traffic says nothing about how the service is now, and
 * the budget for checks (`throttled`, proven by `latch`) nothing about the service at all.
 */
export function wasAsked({ provenBy }: Pick<CheckedPair, 'provenBy'>): boolean {
  return provenBy === 'request' || provenBy === 'pause';
}

/** Whether the service had nothing to say about the credential. */
export function isSilent(finding: string): boolean {
  return finding === 'throttled' || finding === 'unreachable';
}

interface Job {
  readonly pair: Pair;
  readonly isRepetition: boolean;
}

/** By client, and those of a client by service. */
function inOrder<Found extends { readonly pair: Pair }>(found: readonly Found[]): readonly Found[] {
  const nameOf = ({ pair }: Found) => `${pair.client} ${pair.service}`;
  return found.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

/** Lets everything through until ten fail in a row, and from then on every tenth, until one succeeds. */
class FailureSampler<Item> {
  readonly leftOut: Item[] = [];
  #failuresInARow = 0;
  #passedOver = 0;

  /** Whether this one is left out. It is kept until it is taken back. */
  leavesOut(item: Item): boolean {
    if (this.#failuresInARow < ENOUGH_FAILURES) return false;
    this.#passedOver = (this.#passedOver + 1) % SAMPLED;
    if (this.#passedOver === 0) return false;
    this.leftOut.push(item);
    return true;
  }

  note(hasFailed: boolean): void {
    this.#failuresInARow = hasFailed ? this.#failuresInARow + 1 : 0;
  }

  /** Those that need not be left out any longer. */
  takeBack(): readonly Item[] {
    return this.#failuresInARow < ENOUGH_FAILURES ? this.leftOut.splice(0) : [];
  }
}

const AT_ONCE = 5;
/** A few pairs need no window: two checks a second are gentle enough. */
const MAX_GAP_MS = 500;
const ENOUGH_FAILURES = 10;
const SAMPLED = 10;
