import { type Credential, namesService, parseCredential } from '../credential/credential.ts';
import { type SecretReading, type SecretVersion, type StagedVersions, secretProblem } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import { isLatched, waitProblem } from './latch-and-pause.ts';
import type { Pair } from './pair.ts';
import { holdKey, type PairRecord } from './record.ts';

/** A version that may be sent, and what is sent of it. */
export interface UsableVersion {
  readonly version: SecretVersion;
  readonly credential: Credential;
  readonly holdKey: string;
}

interface Subject {
  readonly pair: Pair;
  readonly service: Service;
  readonly settingsDigest: string;
}

/**
 * The first candidate that is not latched. A version that is held is not sent, and unlike a latched one it does not make
 * its predecessor be sent.
 *
 * @throws Problem why no version may be sent
 */
export function chooseVersion(
  { pair, service, settingsDigest }: Subject,
  versions: StagedVersions,
  { rejected, held }: PairRecord,
  now: number,
): UsableVersion {
  const gone = goneProblem(versions, pair);
  if (gone !== undefined) throw gone;
  const [first = versions.listing] = versions.candidates;
  if (first.outcome !== 'found') throw secretProblem(first, versions.name, versions.stage);

  const version = versions.candidates
    .flatMap((reading) => (reading.outcome === 'found' ? [reading.secret] : []))
    .find(({ versionId }) => !isLatched(rejected.get(versionId), now));
  if (version === undefined) throw credentialRejected(pair, first.secret);
  const key = holdKey(version.versionId, settingsDigest);
  const hold = held.get(key);
  if (hold !== undefined && now < hold.until) throw waitProblem(hold, now);
  return { version, credential: parseCredential(version.text, pair.service, service.basicEncoding), holdKey: key };
}

/** Whether choosing needs the previous version too. */
export function needsPrevious(current: SecretReading, { rejected }: PairRecord, now: number): boolean {
  return current.outcome === 'found' && isLatched(rejected.get(current.secret.versionId), now);
}

/**
 * Why the client has no credential for the service any more, or the broker may not read it: an environment that is alone
 * then issues no living token either. `undefined` while Secrets Manager is down: that says nothing of the secret.
 */
export function goneProblem({ listing, name }: StagedVersions, { client, service }: Pair): Problem | undefined {
  if (listing.outcome === 'missing' || listing.outcome === 'deleted' || listing.outcome === 'denied') {
    return secretProblem(listing, name, 'AWSCURRENT');
  }
  const isNamed = listing.outcome !== 'found' || namesService(listing.secret.text, service) !== false;
  if (isNamed) return undefined;
  return new Problem(
    'credential-missing',
    `The secret "${name}" does not name the service ${service}. An operator must add it to "services" if ${client} has a credential for it.`,
  );
}

function credentialRejected({ client, service }: Pair, { versionId }: SecretVersion): Problem {
  return new Problem(
    'credential-rejected',
    `The service ${service} rejected the credential of ${client} (secret version ${versionId}). An operator must store the right one.`,
  );
}
