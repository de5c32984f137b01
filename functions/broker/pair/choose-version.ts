import { type Credential, dependsOnEncoding, namesService, parseCredential } from '../credential/credential.ts';
import { type SecretVersion, type StagedVersions, secretProblem } from '../credential/secret.ts';
import type { Pair } from '../pair.ts';
import { Problem } from '../problem.ts';
import type { Call } from './call.ts';
import { holdKey, isLatched, isProven, type PairRecord, waitProblem } from './record.ts';

/** Chooses the first candidate that is not latched, even if it is held. @throws Problem why no version may be sent */
export function chooseVersion(call: Call, versions: StagedVersions, record: PairRecord, now: number) {
  const { rejected, held } = record;
  const { pair, service, isOnlyService, settingsDigest } = call;
  const credentialOf = ({ text }: SecretVersion) => parseCredential(text, pair.service, { ...service, isOnlyService });
  const gone = goneProblem(versions, pair);
  if (gone !== undefined) throw gone;
  const [first, previous] = versions.candidates;
  if (first.outcome !== 'found') throw secretProblem(first, versions.name, versions.stage);

  const version = versions.candidates
    .flatMap((reading) => (reading.outcome === 'found' ? [reading.secret] : []))
    .find(({ versionId }) => !isLatched(rejected.get(versionId), now));
  if (version === undefined) {
    // While Secrets Manager is down, the previous version may serve later: the caller should come back.
    if (previous?.outcome === 'unavailable') throw secretProblem(previous, versions.name, 'AWSPREVIOUS');
    throw rejectedProblem(pair, record, first.secret.versionId, credentialOf(first.secret));
  }
  const key = holdKey(version.versionId, settingsDigest);
  const hold = held.get(key);
  if (hold !== undefined && now < hold.until) throw waitProblem(hold, now);
  return { version, credential: credentialOf(version), holdKey: key };
}

/**
 * The problem of a caller whose credential the service rejected. The settings may be the fault for a version that the
 * service never accepted.
 */
export function rejectedProblem(pair: Pair, record: PairRecord, version: string, credential: Credential): Problem {
  const who = `The service ${pair.service} rejected the credential of ${pair.client}`;
  const differs = dependsOnEncoding(credential) ? ' (this credential differs under the two)' : '';
  const settings = `, or its settings are wrong: tokenPath, basicEncoding${differs}, parameters; after changed settings client retry`;
  const advice = `An operator must store the right one${isProven(record, version) ? '' : settings}.`;
  return new Problem('credential-rejected', `${who} (secret version ${version}). ${advice}`);
}

/**
 * Returns why the broker has no credential for the service. Without the table an instance then issues no living token
 * either. `undefined` while Secrets Manager is down, unless it reported a stop before.
 */
export function goneProblem({ servicesFrom, name }: StagedVersions, { client, service }: Pair): Problem | undefined {
  if (servicesFrom.outcome === 'binary') return undefined;
  if (servicesFrom.outcome === 'unavailable' && !servicesFrom.afterStop) return undefined;
  if (servicesFrom.outcome !== 'found') return secretProblem(servicesFrom, name, 'AWSCURRENT');
  if (namesService(servicesFrom.secret.text, service) !== false) return undefined;
  const advice = `An operator must add it to "services" if ${client} has a credential for it.`;
  return new Problem('credential-missing', `The secret "${name}" does not name the service ${service}. ${advice}`);
}
