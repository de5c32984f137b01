import type { Pair } from '../../functions/broker/pair.ts';
import { HOUR_MS, SECOND_MS } from '../../test/support/example.ts';
import type { Day } from './world.ts';

/** A process of an internal service, and the token in its own memory. */
interface CallerProcess {
  readonly pair: Pair;
  /** It is done once it has a token. */
  readonly isJob: boolean;
  /** When the token that it holds ends; 0: it has none. */
  tokenEndsAt: number;
  /** The version of the secret that it read, when it asks the service by itself. */
  version?: string | undefined;
}

/** How a process comes to a token. */
export type Obtain = (
  process: CallerProcess,
) => Promise<{ readonly endsAt: number } | { readonly retryAfterMs: number }>;

/**
 * Starts all who need tokens: services that run all day, each in some processes, and jobs at every full hour, each of many
 * processes that begin together. A process keeps its token for most of the life that it had left when it came.
 */
export function startCallers({ clock, tally, random, scale, pairs }: Day, obtain: Obtain): void {
  const uniform = random('callers');
  for (const pair of pairs) start(pair, PROCESSES_PER_PAIR, START_WITHIN_MS, false);
  for (let hour = 1; hour < scale.hours; hour += 1) {
    clock.after(hour * HOUR_MS, () => {
      for (const pair of pairs) if (uniform() < JOBS_PER_PAIR) start(pair, WORKERS_PER_JOB, JOB_STARTS_WITHIN_MS, true);
    });
  }

  function start(pair: Pair, processes: number, withinMs: number, isJob: boolean): void {
    for (let n = 0; n < processes; n += 1) {
      clock.after(uniform() * withinMs, () => void ask({ pair, isJob, tokenEndsAt: 0 }));
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
      if (!process.isJob) clock.after(renewalMs, () => void ask(process));
      return;
    }
    const hasToken = now < process.tokenEndsAt;
    tally.problems.all += 1;
    if (!hasToken) tally.problems.toCallersWithoutToken += 1;
    clock.after(obtained.retryAfterMs, () => void ask(process, hasToken ? undefined : since));
  }
}

const PROCESSES_PER_PAIR = 5;
/** The worst beginning: no process has a token, and all want one. */
const START_WITHIN_MS = 2 * SECOND_MS;

const JOBS_PER_PAIR = 0.05;
const WORKERS_PER_JOB = 10;
const JOB_STARTS_WITHIN_MS = 200;

/** A process renews its token somewhere in this last part of its life. */
const RENEWAL_SHARE = 0.2;
