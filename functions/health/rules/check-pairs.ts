import type { Pair } from '../../broker/pair.ts';
import type { Finding, ProvenBy } from '../../vocabulary.ts';

/** A pair with a finding of the broker. Times are epoch milliseconds. */
export interface CheckedPair {
  readonly pair: Pair;
  readonly finding: Finding;
  /** Why the secret is malformed. */
  readonly detail?: string | undefined;
  /** The cause of the finding `throttled`. */
  readonly cause?: string | undefined;
  readonly provenBy: ProvenBy;
  readonly version?: string | undefined;
  /** The expiry of the credential, as in `/check`. Absent if the secret was not read. */
  readonly credentialExpiresAt?: string | undefined;
  /** The tag that should contain this expiry, if the version has the tag. */
  readonly expiryTag?: string | undefined;
  /** The time of the finding, possibly long before this run. */
  readonly checkedAt: number;
  /** When this run received the finding. */
  readonly at: number;
}

/**
 * A pair without a finding in this run. If the broker failed, `failure` is a word for the reason. `detail` names the
 * right or the key that the broker lacks for its table.
 */
export interface MissedPair {
  readonly pair: Pair;
  readonly reason: 'out-of-time' | 'sampled' | 'failed';
  readonly failure?: string | undefined;
  readonly detail?: string | undefined;
}

/** Returns the failure of a pair as a part of a sentence. */
export function failureText({ failure = 'unknown', detail }: Pick<MissedPair, 'failure' | 'detail'>): string {
  return detail === undefined ? failure : `${failure}: ${detail}`;
}

/** Asks the broker about a pair. Never throws, and ends within `timeoutMs`. */
export type CheckPair = (pair: Pair, timeoutMs: number) => Promise<PairAnswer>;

/** The finding about a pair, or the failure of the broker. */
export type PairAnswer =
  | ({ readonly kind: 'checked' } & Omit<CheckedPair, 'pair' | 'at'>)
  | {
      readonly kind: 'failed';
      readonly failure: string;
      readonly detail?: string | undefined;
      readonly retryable: boolean;
    };

/** An answer, for the log. */
export interface CheckRecord {
  readonly pair: Pair;
  readonly answer: PairAnswer;
  readonly milliseconds: number;
  /** The version whose event started this check. Absent in a run. */
  readonly promoted?: string | undefined;
}

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
 * Checks every pair once, in random order, at most five at a time, spread over the time until `windowEndsAt`. After ten
 * failures in a row a service, or the broker, is only sampled until it answers again. A check that failed in the broker
 * is repeated once.
 */
export async function checkPairs(
  pairs: readonly Pair[],
  { windowEndsAt, endsAt }: { readonly windowEndsAt: number; readonly endsAt: number },
  random: () => number,
  dependencies: CheckDependencies,
): Promise<Checks> {
  const { now, sleep } = dependencies;
  const tickets = new Map(pairs.map((pair) => [pair, random()]));
  // The order is random, so that runs that end early miss different pairs.
  const queue = pairs.toSorted((a, b) => (tickets.get(a) ?? 0) - (tickets.get(b) ?? 0));
  const repeated = new Set<Pair>();
  const checked: CheckedPair[] = [];
  const missed: MissedPair[] = [];
  const broker = new FailureSampler();
  const services = new Map(pairs.map(({ service }) => [service, new FailureSampler()]));
  let nextStartAt = now();

  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { checked, missed };

  async function work(): Promise<void> {
    for (let pair = queue.shift(); pair !== undefined; pair = queue.shift()) {
      if (services.get(pair.service)?.leavesOut() || broker.leavesOut()) {
        missed.push({ pair, reason: 'sampled' });
        continue;
      }
      // Spreads the remaining pairs evenly over the remaining time: a late run catches up without a burst.
      const askedAt = now();
      const startAt = Math.max(askedAt, nextStartAt);
      nextStartAt = startAt + Math.min(MAX_GAP_MS, Math.max(0, windowEndsAt - startAt) / (queue.length + 1));
      await sleep(startAt - askedAt);
      if (now() < endsAt) await check(pair);
      else missed.push({ pair, reason: 'out-of-time' });
    }
  }

  async function check(pair: Pair): Promise<void> {
    const { answer } = await checkOnce(pair, endsAt - now(), dependencies);
    if (answer.kind === 'checked') {
      checked.push({ ...answer, pair, at: now() });
      broker.note(false);
      if (wasAsked(answer)) services.get(pair.service)?.note(isSilent(answer.finding));
    } else if (now() >= endsAt) {
      missed.push({ pair, reason: 'out-of-time' });
    } else {
      broker.note(true);
      const { failure, detail, retryable } = answer;
      if (!retryable || repeated.has(pair)) missed.push({ pair, reason: 'failed', failure, detail });
      else queue.push(pair);
      repeated.add(pair);
    }
  }
}

/** Checks a pair and records the answer. */
export async function checkOnce(pair: Pair, timeoutMs: number, dependencies: CheckDependencies, promoted?: string) {
  const { checkPair, record, now } = dependencies;
  const startedAt = now();
  const answer = await checkPair(pair, Math.min(CHECK_TIMEOUT_MS, timeoutMs));
  const result = { pair, answer, milliseconds: now() - startedAt, promoted };
  record(result);
  return result;
}

/** Asks every 5 s until an answer is final, at most `attempts` times, and never after `endsAt` (epoch milliseconds). */
export async function askUntil<Answer>(
  isFinal: (answer: Answer) => boolean,
  ask: (timeoutMs: number) => Promise<Answer>,
  { endsAt, attempts = Number.POSITIVE_INFINITY }: { readonly endsAt: number; readonly attempts?: number },
  { now, sleep }: Pick<CheckDependencies, 'now' | 'sleep'>,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask(Math.min(CHECK_TIMEOUT_MS, endsAt - now()));
    if (isFinal(answer) || attempt === attempts || now() + PAUSE_MS >= endsAt) return answer;
    await sleep(PAUSE_MS);
  }
}

/** Longer than the time limit of the broker's function. */
const CHECK_TIMEOUT_MS = 20_000;
/** Longer than a read of a secret can be stale, but short for waiting callers. */
const PAUSE_MS = 5_000;

/**
 * Returns whether the finding comes from a recent token request. A token of earlier traffic does not prove the present
 * state of the service. The budget for checks (`throttled`, proven by `latch`) says nothing about the service.
 */
export function wasAsked({ provenBy }: Pick<CheckedPair, 'provenBy'>): boolean {
  return provenBy === 'request' || provenBy === 'pause';
}

/** Returns whether the finding says nothing about the credential. */
export function isSilent(finding: string): boolean {
  return finding === 'throttled' || finding === 'unreachable';
}

/** Allows all checks until ten fail in a row, then every tenth check until a check succeeds. */
class FailureSampler {
  #failuresInARow = 0;
  #passedOver = 0;

  leavesOut(): boolean {
    if (this.#failuresInARow < ENOUGH_FAILURES) return false;
    this.#passedOver = (this.#passedOver + 1) % SAMPLED;
    return this.#passedOver !== 0;
  }

  note(hasFailed: boolean): void {
    this.#failuresInARow = hasFailed ? this.#failuresInARow + 1 : 0;
  }
}

const AT_ONCE = 5;
/** Few pairs need no full window: two checks a second are a low load. */
const MAX_GAP_MS = 500;
const ENOUGH_FAILURES = 10;
const SAMPLED = 10;
