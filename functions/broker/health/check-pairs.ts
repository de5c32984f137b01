import type { Finding, ProvenBy } from '../../contract.ts';
import { comparePairs, type Pair, type ServiceName } from '../pair/pair.ts';
import { Sampler } from './failure-sampler.ts';

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

/** A pair about which this run says nothing. */
export interface MissedPair {
  readonly pair: Pair;
  /** `failed`: the broker itself had no finding. */
  readonly reason: 'out-of-time' | 'sampled' | 'failed';
  /** What failed, as one word. */
  readonly failure?: string | undefined;
}

/** Asks the broker about one pair. Never throws, and ends within the time it is given. */
export type CheckPair = (pair: Pair, timeoutMs: number) => Promise<CheckAnswer>;

export type CheckAnswer =
  | ({ readonly kind: 'checked' } & Omit<CheckedPair, 'pair' | 'at'>)
  | { readonly kind: 'failed'; readonly failure: string; readonly retryable: boolean };

/** The pairs are in the same order whichever were checked first. */
export interface Walk {
  readonly checked: readonly CheckedPair[];
  readonly missed: readonly MissedPair[];
}

interface Dependencies {
  readonly checkPair: CheckPair;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** From 0 up to 1. */
  readonly random: () => number;
}

export interface WalkTimes {
  /** Until then the checks are spread, as far as they can keep up. */
  readonly windowEndsAt: number;
  readonly endsAt: number;
}

/**
 * Checks every pair once, in a new order each time, at most five at a time. A service that does not answer ten times in a
 * row is only sampled until it answers again, and so is the broker. What the broker could not say is asked once more.
 */
export async function walkPairs(
  pairs: readonly Pair[],
  { windowEndsAt, endsAt }: WalkTimes,
  { checkPair, now, sleep, random }: Dependencies,
): Promise<Walk> {
  const queue: Visit[] = shuffled(pairs, random).map((pair) => ({ pair, isRepetition: false }));
  const checked: CheckedPair[] = [];
  const missed: MissedPair[] = [];
  const broker = new Sampler<Visit>();
  const services = new Map<ServiceName, Sampler<Visit>>();
  let nextStartAt = now();

  await Promise.all(Array.from({ length: AT_ONCE }, visitNext));
  const leftOut = [broker, ...services.values()].flatMap((sampler) => sampler.leftOut);
  missed.push(...leftOut.map(({ pair }) => ({ pair, reason: 'sampled' as const })));
  return { checked: inOrder(checked), missed: inOrder(missed) };

  async function visitNext(): Promise<void> {
    for (let visit = takeVisit(); visit !== undefined; visit = takeVisit()) {
      await startTime();
      if (now() < endsAt) await check(visit);
      else missed.push({ pair: visit.pair, reason: 'out-of-time' });
    }
  }

  function takeVisit(): Visit | undefined {
    for (let visit = queue.shift(); visit !== undefined; visit = queue.shift()) {
      if (!samplerOf(visit.pair).leavesOut(visit) && !broker.leavesOut(visit)) return visit;
    }
    return undefined;
  }

  /** What is left is always spread evenly over the time that is left: whoever is late catches up without a burst. */
  async function startTime(): Promise<void> {
    const startAt = Math.max(now(), nextStartAt);
    nextStartAt = startAt + Math.min(MAX_GAP_MS, Math.max(0, windowEndsAt - startAt) / (queue.length + 1));
    if (startAt > now()) await sleep(startAt - now());
  }

  async function check(visit: Visit): Promise<void> {
    const { pair, isRepetition } = visit;
    const answer = await checkPair(pair, Math.min(CHECK_TIMEOUT_MS, endsAt - now()));
    if (answer.kind === 'checked') {
      const { kind: _, ...finding } = answer;
      checked.push({ ...finding, pair, at: now() });
      broker.note(false);
      if (wasAsked(answer)) samplerOf(pair).note(isSilent(answer.finding));
      queue.push(...broker.takeBack(), ...samplerOf(pair).takeBack());
    } else if (now() >= endsAt) {
      missed.push({ pair, reason: 'out-of-time' });
    } else {
      broker.note(true);
      if (answer.retryable && !isRepetition) queue.push({ pair, isRepetition: true });
      else missed.push({ pair, reason: 'failed', failure: answer.failure });
    }
  }

  function samplerOf({ service }: Pair): Sampler<Visit> {
    const sampler = services.get(service) ?? new Sampler<Visit>();
    services.set(service, sampler);
    return sampler;
  }
}

/** Whether the service itself was asked lately; a token of earlier traffic says nothing about how it is now. */
export function wasAsked({ provenBy }: Pick<CheckedPair, 'provenBy'>): boolean {
  return provenBy === 'request' || provenBy === 'pause';
}

/** Whether the service had nothing to say about the credential. */
export function isSilent(finding: string): boolean {
  return finding === 'throttled' || finding === 'unreachable';
}

interface Visit {
  readonly pair: Pair;
  readonly isRepetition: boolean;
}

function inOrder<Found extends { readonly pair: Pair }>(found: readonly Found[]): readonly Found[] {
  return found.toSorted((one, other) => comparePairs(one.pair, other.pair));
}

/** So that a run that ends early does not always miss the same pairs. */
function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const tickets = items.map((item) => ({ item, ticket: random() }));
  return tickets.toSorted((one, other) => one.ticket - other.ticket).map(({ item }) => item);
}

const AT_ONCE = 5;
/** A few pairs need no window: two checks a second are gentle enough. */
const MAX_GAP_MS = 500;
/** Longer than the broker's function can take. */
const CHECK_TIMEOUT_MS = 20_000;
