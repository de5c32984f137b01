import type { ProblemType, SecretStage } from '../../vocabulary.ts';
import { LruCache } from '../lru-cache.ts';
import type { ClientName } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { Redacted } from '../redacted.ts';
import { isOver, isWithin } from '../time.ts';

/** A version of a client's secret, with its text unparsed. */
export interface SecretVersion {
  readonly versionId: string;
  readonly stage: SecretStage;
  readonly text: Redacted;
}

/**
 * The result of reading a secret. Only `unavailable` (Secrets Manager is down, slow or refused by the key) says nothing
 * about the secret. Only then may a stale reading serve. `cause` contains nothing of the answer's text.
 */
export type SecretReading =
  | { readonly outcome: 'found'; readonly secret: SecretVersion; readonly isStale?: true }
  | { readonly outcome: 'missing' | 'deleted' | 'binary' }
  /**
   * `stopped`: the secret's own policy denies it to the broker, as `client disable` writes it. `afterStop`: the last
   * answer about AWSCURRENT was stopped, denied, missing or deleted.
   */
  | { readonly outcome: 'denied' | 'stopped'; readonly cause: string }
  | { readonly outcome: 'unavailable'; readonly cause: string; readonly afterStop?: true };

/** The versions of a client's secret that matter to one call. */
export interface StagedVersions {
  readonly name: string;
  /** The stage of the preferred candidate. */
  readonly stage: SecretStage;
  /** The reading whose list of services counts. */
  readonly servicesFrom: SecretReading;
  /** The readings that may be sent, the preferred reading first. */
  readonly candidates: readonly [SecretReading, ...SecretReading[]];
}

/** Reads the version with the stage, by `deadline` in epoch milliseconds. Returns every failure as a reading. */
export type ReadSecret = (client: ClientName, stage: SecretStage, deadline?: number) => Promise<SecretReading>;

type FailedReading = Exclude<SecretReading, { outcome: 'found' }>;

/** Returns the problem of a secret that could not be read. `name` is its name, as from `secretName`. */
export function secretProblem(reading: FailedReading, name: string, stage: SecretStage): Problem {
  const { outcome } = reading;
  const [type, state] = READING_PROBLEMS[outcome];
  const cause = 'cause' in reading ? reading.cause : undefined;
  const retryAfterSeconds = outcome === 'unavailable' ? 1 : undefined;
  const detail = `The secret "${name}" (${stage}) ${state}${outcome === 'denied' ? cause : ''}.`;
  return new Problem(type, detail, { retryAfterSeconds, cause });
}

const READING_PROBLEMS = {
  missing: [
    'credential-missing',
    'does not exist or has no version with this stage: an operator must store one under this name',
  ],
  deleted: ['credential-missing', 'is marked for deletion: an operator must restore it, or disable the client'],
  binary: ['credential-malformed', 'is binary: an operator must store it as text (JSON)'],
  stopped: ['client-disabled', 'is denied to the broker by a statement of its own policy, as client disable writes it'],
  denied: ['secrets-unavailable', 'is refused to the broker by AWS: '],
  unavailable: ['secrets-unavailable', 'could not be read from Secrets Manager'],
} as const satisfies Record<FailedReading['outcome'], readonly [ProblemType, string]>;

export type SecretCache = ReturnType<typeof createSecretCache>;

interface ReadBounds {
  readonly readSince: number;
  readonly deadline: number;
  /** A reading that says nothing counts for 10 s, so that a living token does not wait each time. */
  readonly acceptsSilence?: boolean;
}

/** Keeps the secrets of the clients as this instance has read them. */
export function createSecretCache({ readSecret, now }: { readSecret: ReadSecret; now: () => number }) {
  const entries = new LruCache<Entry>(MAX_SECRETS, MAX_BYTES, bytesOf);

  return {
    /**
     * Returns the version with this stage. Trusts a version for 300 s and its absence for 5 s. While Secrets Manager
     * is down, serves the last version for 24 h. A reading older than `readSince` counts only if it is stale, and then
     * for 10 s. A reading that `deadline` cut off is not kept.
     */
    async read(client: ClientName, stage: SecretStage, { readSince, deadline, acceptsSilence = false }: ReadBounds) {
      const key = `${client}/${stage}`;
      const before = entries.get(key);
      const counts = before && (isSilence(before) ? acceptsSilence : isStale(before) || before.readAt >= readSince);
      if (counts && isWithin(before.trustMs, before.readAt, now())) return before.reading;
      const readAt = now();
      const reading = await readSecret(client, stage, deadline);
      const last = entries.get(key);
      const entry = successor(last, reading, stage, readAt);
      const isCutOff = reading.outcome === 'unavailable' && isOver(deadline, now());
      // Only an answer overtakes a reading that began before it. Silence says nothing.
      const isOvertaken = last !== undefined && last.heardAt > readAt;
      if (!isCutOff && !isOvertaken) entries.set(key, entry);
      return entry.reading;
    },
  };
}

interface Entry {
  readonly reading: SecretReading;
  readonly readAt: number;
  readonly trustMs: number;
  /** The time of the last answer from Secrets Manager. */
  readonly heardAt: number;
}

const isSilence = ({ reading }: Entry) => reading.outcome === 'unavailable';
const isStale = ({ reading }: Entry) => reading.outcome === 'found' && reading.isStale === true;

function successor(before: Entry | undefined, reading: SecretReading, stage: SecretStage, readAt: number): Entry {
  if (reading.outcome !== 'unavailable') {
    const trustMs = reading.outcome === 'found' ? FOUND_TRUST_MS : NEGATIVE_TRUST_MS;
    return { reading, readAt, trustMs, heardAt: readAt };
  }
  const { reading: last, heardAt = -Infinity } = before ?? {};
  const silence = { readAt, trustMs: STALE_TRUST_MS, heardAt };
  const isKept = last?.outcome === 'found' && isWithin(KEPT_WHILE_DOWN_MS, heardAt, readAt);
  if (isKept) return { ...silence, reading: { ...last, isStale: true } };
  // A stop of AWSCURRENT counts until Secrets Manager answers again.
  const wasStopped = last !== undefined && (STOPS.has(last.outcome) || ('afterStop' in last && last.afterStop));
  return { ...silence, reading: wasStopped && stage === 'AWSCURRENT' ? { ...reading, afterStop: true } : reading };
}

const STOPS: ReadonlySet<SecretReading['outcome']> = new Set(['stopped', 'denied', 'missing', 'deleted']);

/** Counts two bytes for each character. Secrets Manager limits a secret to 64 kB. */
function bytesOf({ reading }: Entry): number {
  return reading.outcome === 'found' ? 2 * reading.secret.text.reveal().length : 0;
}

const MAX_SECRETS = 1_000;
const MAX_BYTES = 32 * 1_024 * 1_024;
const FOUND_TRUST_MS = 300_000;
const NEGATIVE_TRUST_MS = 5_000;
/** The interval of reads while Secrets Manager is down. Other calls do not wait for it. */
const STALE_TRUST_MS = 10_000;
const KEPT_WHILE_DOWN_MS = 24 * 60 * 60_000;
