import type { ProblemType, SecretStage } from '../../vocabulary.ts';
import { LruCache } from '../lru-cache.ts';
import type { ClientName } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { Redacted } from '../redacted.ts';
import { isWithin } from '../time.ts';

/** One version of a client's secret, its text still unparsed. */
export interface SecretVersion {
  readonly versionId: string;
  readonly stage: SecretStage;
  readonly text: Redacted;
}

/**
 * What came of reading a secret. Only `unavailable` (Secrets Manager is down, slow or refused by the key) says nothing
 * about the secret, so only then may an older reading serve: a stale one. `cause` holds nothing of the answer's text.
 */
export type SecretReading =
  | { readonly outcome: 'found'; readonly secret: SecretVersion; readonly isStale?: true }
  | { readonly outcome: 'missing' | 'deleted' | 'binary' }
  /**
   * `stopped`: a statement of the secret's own policy denies it to the broker, as `client disable` writes one. `afterStop`: the
   * last answer about AWSCURRENT was that it is stopped, denied, missing or deleted.
   */
  | { readonly outcome: 'denied' | 'stopped'; readonly cause: string }
  | { readonly outcome: 'unavailable'; readonly cause: string; readonly afterStop?: true };

/** The versions of a client's secret that matter to one call. */
export interface StagedVersions {
  readonly name: string;
  /** That of the preferred candidate. */
  readonly stage: SecretStage;
  /** The one whose list of services counts. */
  readonly listing: SecretReading;
  /** Those that may be sent, the preferred one first. */
  readonly candidates: readonly SecretReading[];
}

/** Reads the version that has the stage, by `deadline` in epoch milliseconds; every failure is a reading. */
export type ReadSecret = (client: ClientName, stage: SecretStage, deadline?: number) => Promise<SecretReading>;

type FailedReading = Exclude<SecretReading, { outcome: 'found' }>;

/** The problem that a caller sees when a secret could not be read; `name` is the secret's, see `secretName`. */
export function secretProblem(reading: FailedReading, name: string, stage: SecretStage): Problem {
  const { outcome } = reading;
  const [type, state] = READING_PROBLEMS[outcome];
  const cause = 'cause' in reading ? reading.cause : undefined;
  const retryAfterSeconds = outcome === 'unavailable' ? 1 : undefined;
  return new Problem(type, `The secret "${name}" (${stage}) ${state}.`, { retryAfterSeconds, cause });
}

const READING_PROBLEMS = {
  missing: [
    'credential-missing',
    'does not exist or has no version with this stage: an operator must store one under this name',
  ],
  deleted: ['credential-missing', 'is marked for deletion: an operator must restore it, or disable the client'],
  binary: ['credential-malformed', 'is binary: an operator must store it as text (JSON)'],
  stopped: [
    'client-disabled',
    'may not be read: a statement of its own policy denies it to the broker, as client disable writes one',
  ],
  denied: ['secrets-unavailable', 'may not be read by the broker: its role needs secretsmanager:GetSecretValue on it'],
  unavailable: ['secrets-unavailable', 'could not be read from Secrets Manager'],
} as const satisfies Record<FailedReading['outcome'], readonly [ProblemType, string]>;

/** The secrets of the clients, as this instance read them. */
export interface SecretCache {
  /**
   * The version with this stage: trusted for 300 s when there is one, for 5 s when there is none; while Secrets Manager is
   * down, the last that it gave for 24 h. A reading from before `readSince` does not count, except for 10 s after Secrets Manager
   * was found down; one that `deadline` cut off is not kept.
   */
  read(client: ClientName, stage: SecretStage, bounds: { readSince: number; deadline: number }): Promise<SecretReading>;
}

export function createSecretCache({ readSecret, now }: { readSecret: ReadSecret; now: () => number }): SecretCache {
  const entries = new LruCache<Entry>(MAX_SECRETS, MAX_BYTES, bytesOf);

  return {
    async read(client, stage, { readSince, deadline }) {
      const key = `${client}/${stage}`;
      const before = entries.get(key);
      const isStale = before?.reading.outcome === 'found' && before.reading.isStale;
      const counts = before !== undefined && (before.readAt >= readSince || isStale);
      if (counts && isWithin(before.trustMs, before.readAt, now())) return before.reading;
      const readAt = now();
      const reading = await readSecret(client, stage, deadline);
      const entry = successor(before, reading, readAt);
      if (entry === undefined) return withMark(reading, stage, before);
      const isCutOff = reading.outcome === 'unavailable' && now() >= deadline - TIMER_SLACK_MS;
      const isOvertaken = (entries.get(key)?.readAt ?? readAt) > readAt;
      if (!isCutOff && !isOvertaken) entries.set(key, entry);
      return entry.reading;
    },
  };
}

interface Entry {
  readonly reading: SecretReading;
  readonly readAt: number;
  readonly trustMs: number;
  /** When Secrets Manager last said what there is. */
  readonly toldAt: number;
}

function successor(before: Entry | undefined, reading: SecretReading, readAt: number): Entry | undefined {
  if (reading.outcome !== 'unavailable') {
    const trustMs = reading.outcome === 'found' ? FOUND_TRUST_MS : NEGATIVE_TRUST_MS;
    return { reading, readAt, trustMs, toldAt: readAt };
  }
  if (before?.reading.outcome !== 'found' || !isWithin(KEPT_WHILE_DOWN_MS, before.toldAt, readAt)) return undefined;
  return { reading: { ...before.reading, isStale: true }, readAt, trustMs: STALE_TRUST_MS, toldAt: before.toldAt };
}

/** Marks silence after a stop of AWSCURRENT, which counts until Secrets Manager answers again. */
function withMark(reading: SecretReading, stage: SecretStage, before: Entry | undefined): SecretReading {
  const wasStopped = before !== undefined && STOPS.has(before.reading.outcome);
  if (reading.outcome !== 'unavailable' || stage !== 'AWSCURRENT' || !wasStopped) return reading;
  return { ...reading, afterStop: true };
}

const STOPS: ReadonlySet<SecretReading['outcome']> = new Set(['stopped', 'denied', 'missing', 'deleted']);

/** Two for each character, because Secrets Manager bounds a secret, at 64 kB, by bytes. */
function bytesOf({ reading }: Entry): number {
  return reading.outcome === 'found' ? 2 * reading.secret.text.reveal().length : 0;
}

/** Timers can be a little early. */
const TIMER_SLACK_MS = 5;

const MAX_SECRETS = 1_000;
const MAX_BYTES = 32 * 1_024 * 1_024;
const FOUND_TRUST_MS = 300_000;
const NEGATIVE_TRUST_MS = 5_000;
/** While Secrets Manager is down not every call waits for it. */
const STALE_TRUST_MS = 10_000;
const KEPT_WHILE_DOWN_MS = 24 * 60 * 60_000;
