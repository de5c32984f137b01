import type { Pair } from '../../../../functions/broker/pair.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../example.ts';
import type { Day } from './world.ts';

/** A process of an internal service, and the token in its own memory. */
interface CallerProcess {
  readonly pair: Pair;
  /** It is done once it has a token. */
  readonly isJob: boolean;
  readonly endsAt: number;
  /** When the token that it holds ends; 0: it has none. */
  tokenEndsAt: number;
  /** The secret's version that it uses, when it asks the service by itself. */
  version?: string | undefined;
}

/** How a process comes to a token. */
export type Obtain = (
  process: CallerProcess,
) => Promise<{ readonly endsAt: number } | { readonly retryAfterMs: number }>;

/**
 * Starts all who need tokens. Services run all the time, those of popular pairs in many processes, each for some
 * hours; jobs start at every full hour. A process keeps its token for most of the life that it had left when it came.
 */
export function startCallers({ clock, tally, random, scale, pairs }: Day, obtain: Obtain): void {
  const { uniform, index, exponential } = random('callers');

  const processes = processesOfPairs(pairs.length);
  for (const [rank, pair] of pairs.entries()) {
    for (let n = 0; n < (processes[rank] ?? 0); n += 1) {
      clock.after(uniform() * START_WITHIN_MS, () => startService(pair));
    }
  }
  for (let hour = 1; hour < scale.hours; hour += 1) clock.after(hour * HOUR_MS, startJobs);

  function startService(pair: Pair): void {
    void ask({ pair, isJob: false, endsAt: clock.now() + exponential(MEAN_LIFE_MS), tokenEndsAt: 0 });
  }

  /** A job is many processes that work for one pair and begin together. */
  function startJobs(): void {
    for (let n = 0; n < pairs.length * JOBS_PER_PAIR; n += 1) {
      const pair = pairs[index(pairs.length)];
      if (pair === undefined) continue;
      const job = { pair, isJob: true, endsAt: clock.now() + JOB_PATIENCE_MS, tokenEndsAt: 0 };
      for (let worker = 0; worker < WORKERS_PER_JOB; worker += 1) {
        clock.after(uniform() * JOB_STARTS_WITHIN_MS, () => void ask({ ...job }));
      }
    }
  }

  async function ask(process: CallerProcess, since = clock.now()): Promise<void> {
    const obtained = await obtain(process);
    const now = clock.now();
    if ('endsAt' in obtained) {
      tally.tokensIssued += 1;
      tally.waitsMs.push(now - since);
      process.tokenEndsAt = obtained.endsAt;
      const renewalMs = (obtained.endsAt - now) * (1 - RENEWAL_SHARE * uniform());
      if (!process.isJob) whileItLives(process, renewalMs);
      return;
    }
    tally.problems.all += 1;
    const hasToken = now < process.tokenEndsAt;
    if (!hasToken) tally.problems.toCallersWithoutToken += 1;
    whileItLives(process, obtained.retryAfterMs, hasToken ? undefined : since);
  }

  /** Asks again, unless it ends before: another process of the service takes over at once. */
  function whileItLives(process: CallerProcess, ms: number, since?: number): void {
    const restMs = process.endsAt - clock.now();
    if (ms < restMs) clock.after(ms, () => void ask(process, since));
    else if (!process.isJob) clock.after(restMs, () => startService(process.pair));
  }
}

/** By rank of popularity: one process for every pair, the others unevenly. */
function processesOfPairs(pairs: number): readonly number[] {
  const weights = Array.from({ length: pairs }, (_, rank) => (rank + 1) ** -POPULARITY);
  const sum = weights.reduce((one, other) => one + other, 0);
  const others = (PROCESSES_PER_PAIR - 1) * pairs;
  return weights.map((weight) => 1 + Math.round((others * weight) / sum));
}

const PROCESSES_PER_PAIR = 5;
/** Zipf's exponent: the more, the more uneven. */
const POPULARITY = 0.6;
/** The worst beginning: no process has a token, and all want one. */
const START_WITHIN_MS = 2 * SECOND_MS;
const MEAN_LIFE_MS = 6 * HOUR_MS;

const JOBS_PER_PAIR = 0.05;
const WORKERS_PER_JOB = 10;
const JOB_STARTS_WITHIN_MS = 200;
const JOB_PATIENCE_MS = 10 * MINUTE_MS;

/** A process renews its token somewhere in this last part of its life. */
const RENEWAL_SHARE = 0.2;
