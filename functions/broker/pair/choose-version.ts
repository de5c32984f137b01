import { secretName } from '../../contract.ts';
import { type SecretVersion, secretProblem } from '../credential/secret.ts';
import type { CredentialReading } from '../credential/secret-cache.ts';
import { Problem } from '../problem.ts';
import { isLatched } from './latch.ts';
import type { Pair } from './pair.ts';
import type { PairRecord } from './record.ts';

/** The version to send, or why there is none. `endsTokens`: no token may be issued any more, not even a living one. */
export type Sendable =
  | { readonly kind: 'version'; readonly version: SecretVersion }
  | { readonly kind: 'none'; readonly version?: undefined; readonly problem: Problem; readonly endsTokens: boolean };

/** What is known of the secret; `previous` matters only while the current version is latched. */
export interface StagedVersions {
  readonly current: CredentialReading;
  readonly previous?: CredentialReading | undefined;
}

/** AWSCURRENT; while that is latched AWSPREVIOUS; while both are, nothing. */
export function chooseSendable(
  environment: string,
  pair: Pair,
  { current, previous }: StagedVersions,
  rejected: PairRecord['rejected'],
  now: number,
): Sendable {
  if (!('secret' in current)) {
    const problem = secretProblem(current, secretName(environment, pair.client), 'AWSCURRENT');
    return { kind: 'none', problem, endsTokens: ENDING_OUTCOMES.has(current.outcome) };
  }
  for (const reading of [current, previous]) {
    const version = reading && 'secret' in reading ? reading.secret : undefined;
    if (version && !isLatched(rejected.get(version.versionId), now)) return { kind: 'version', version };
  }
  return { kind: 'none', problem: credentialRejected(pair, current.secret), endsTokens: false };
}

/** Whether choosing needs the previous version too. */
export function needsPrevious(current: CredentialReading, rejected: PairRecord['rejected'], now: number): boolean {
  return 'secret' in current && isLatched(rejected.get(current.secret.versionId), now);
}

/** Secrets Manager's definitive no: whoever took the secret away wants no token issued. */
const ENDING_OUTCOMES: ReadonlySet<CredentialReading['outcome']> = new Set(['missing', 'deleted', 'denied']);

function credentialRejected({ client, service }: Pair, { versionId }: SecretVersion): Problem {
  return new Problem(
    'credential-rejected',
    `The service ${service} rejected the credential of ${client} (secret version ${versionId}). An operator must store the right one.`,
  );
}
