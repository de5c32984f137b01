import { type Credential, namesService, parseCredential } from '../credential/credential.ts';
import { type SecretVersion, type StagedVersions, secretProblem } from '../credential/secret.ts';
import type { Pair } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { Service } from '../service.ts';
import { isLatched, waitProblem } from './latch-and-pause.ts';
import { holdKey, type PairRecord } from './record.ts';

/** A version that may be sent, and what is sent of it. */
export interface UsableVersion {
  readonly version: SecretVersion;
  readonly credential: Credential;
  readonly holdKey: string;
}

/**
 * The first candidate that is not latched. A version that is held is not sent, and unlike a latched one it does not make
 * its predecessor be sent.
 *
 * @throws Problem why no version may be sent
 */
export function chooseVersion(
  call: Readonly<{ pair: Pair; service: Service; isOnlyService: boolean; settingsDigest: string }>,
  versions: StagedVersions,
  { rejected, held }: PairRecord,
  now: number,
): UsableVersion {
  const { pair, service, isOnlyService, settingsDigest } = call;
  const gone = goneProblem(versions, pair);
  if (gone !== undefined) throw gone;
  const [first = versions.listing] = versions.candidates;
  if (first.outcome !== 'found') throw secretProblem(first, versions.name, versions.stage);

  const version = versions.candidates
    .flatMap((reading) => (reading.outcome === 'found' ? [reading.secret] : []))
    .find(({ versionId }) => !isLatched(rejected.get(versionId), now));
  if (version === undefined) {
    const who = `The service ${pair.service} rejected the credential of ${pair.client}`;
    const detail = `${who} (secret version ${first.secret.versionId}). An operator must store the right one.`;
    throw new Problem('credential-rejected', detail);
  }
  const key = holdKey(version.versionId, settingsDigest);
  const hold = held.get(key);
  if (hold !== undefined && now < hold.until) throw waitProblem(hold, now);
  const rules = { basicEncoding: service.basicEncoding, isOnlyService };
  return { version, credential: parseCredential(version.text, pair.service, rules), holdKey: key };
}

/**
 * Why the client has no credential for the service any more, or the broker may not read it: an environment that is alone
 * then issues no living token either. `undefined` while Secrets Manager is down: that says nothing of the secret.
 */
export function goneProblem({ listing, name }: StagedVersions, { client, service }: Pair): Problem | undefined {
  if (listing.outcome === 'missing' || listing.outcome === 'deleted' || listing.outcome === 'denied') {
    return secretProblem(listing, name, 'AWSCURRENT');
  }
  if (listing.outcome !== 'found' || namesService(listing.secret.text, service) !== false) return undefined;
  const advice = `An operator must add it to "services" if ${client} has a credential for it.`;
  return new Problem('credential-missing', `The secret "${name}" does not name the service ${service}. ${advice}`);
}
