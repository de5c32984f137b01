import type { ProblemType, SecretStage } from '../../contract.ts';
import type { ClientName } from '../pair/pair.ts';
import { Problem } from '../problem.ts';
import type { Redacted } from '../redacted.ts';

/** One version of a client's secret, its text still unparsed. */
export interface SecretVersion {
  readonly versionId: string;
  readonly stage: SecretStage;
  readonly text: Redacted;
}

/** What came of reading a secret. Only `unavailable` says nothing about the secret, so only then may an older reading serve. */
export type SecretReading =
  | {
      readonly outcome: 'found';
      readonly secret: SecretVersion;
      /** Secrets Manager is down, and this is the last version that it gave. */
      readonly isStale?: true;
    }
  /** There is no such secret, or none of its versions has the stage. */
  | { readonly outcome: 'missing' }
  /** Marked for deletion; an operator can still restore it. */
  | { readonly outcome: 'deleted' }
  | { readonly outcome: 'binary' }
  /** The broker may not read it. `cause` names the refusal and holds nothing of the answer's text. */
  | { readonly outcome: 'denied'; readonly cause: string }
  /** Secrets Manager is down, slow, throttling or unreadable, or refused by the key. `cause` as above. */
  | { readonly outcome: 'unavailable'; readonly cause: string };

/** The versions of a client's secret that matter to one call. */
export interface StagedVersions {
  /** The secret's name, see `secretName`. */
  readonly name: string;
  /** That of the preferred candidate. */
  readonly stage: SecretStage;
  /** The one whose list of services counts. */
  readonly listing: SecretReading;
  /** Those that may be sent, the preferred one first. */
  readonly candidates: readonly SecretReading[];
}

/**
 * Reads the version of a client's secret that has the stage. Never throws: every failure is a reading.
 *
 * @param deadline epoch milliseconds; what has not come by then is `unavailable`
 */
export type ReadSecret = (client: ClientName, stage: SecretStage, deadline?: number) => Promise<SecretReading>;

/** The problem that a caller sees when a secret could not be read; `name` is the secret's, see `secretName`. */
export function secretProblem(reading: FailedReading, name: string, stage: SecretStage): Problem {
  const cause = 'cause' in reading ? reading.cause : undefined;
  const retryAfterSeconds = reading.outcome === 'unavailable' ? 1 : undefined;
  return new Problem(PROBLEM_TYPES[reading.outcome], detailOf(reading, name, stage), { retryAfterSeconds, cause });
}

type FailedReading = Exclude<SecretReading, { outcome: 'found' }>;

const PROBLEM_TYPES = {
  missing: 'credential-missing',
  deleted: 'credential-missing',
  binary: 'credential-malformed',
  denied: 'secrets-unavailable',
  unavailable: 'secrets-unavailable',
} as const satisfies Record<FailedReading['outcome'], ProblemType>;

function detailOf({ outcome }: FailedReading, name: string, stage: SecretStage): string {
  switch (outcome) {
    case 'missing':
      return `No secret "${name}" has a version ${stage}. An operator must store one with Secrets Manager under this name.`;
    case 'deleted':
      return `The secret "${name}" is marked for deletion. An operator must restore it, or disable the client for good.`;
    case 'binary':
      return `Version ${stage} of the secret "${name}" is binary. An operator must store it as text (JSON).`;
    case 'denied':
      return `The broker may not read the secret "${name}". Its role needs secretsmanager:GetSecretValue on it.`;
    case 'unavailable':
      return `Secrets Manager could not give the secret "${name}".`;
  }
}
