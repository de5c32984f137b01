import type { ClientName, Pair, ServiceName } from '../pair/pair.ts';
import { type CheckDependencies, type CheckedPair, type CheckRecord, checkOnce, isSilent } from './check-pairs.ts';
import type { Notified, Notify } from './notify.ts';
import { servicesOf } from './run.ts';

/** A version of a client's secret that was put into use. */
export interface Promotion {
  readonly client: ClientName;
  readonly version: string;
}

/** A client's secret as it looks from outside. */
export interface SecretDescription {
  /** The tag `services`; absent when the secret has none. */
  readonly services?: string | undefined;
  /** The version that is AWSCURRENT. */
  readonly currentVersion?: string | undefined;
}

interface Dependencies extends CheckDependencies {
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  /** Those on which a new token ends the one before: a living one proves the credential, whichever version it is of. */
  readonly singleTokenServices: readonly ServiceName[];
  /** `undefined` when there is none, or when it is planned for deletion. */
  readonly describeSecret: (client: ClientName) => Promise<SecretDescription | undefined>;
  readonly notify: Notify;
}

/**
 * Has the broker check a client's current version on every configured service, so that a new version is proven and its
 * token shared before a caller needs it. What does not work is told to the operators, once, of the services in the tag of
 * the secret. A late or repeated event does no harm: the broker proves what is current, and proves it once.
 *
 * @throws ClientUnchecked when the event is to be repeated: a service told nothing about the version, and it is current
 * still; or the operators could not be told
 */
export function createClientCheck(dependencies: Dependencies) {
  const { services, singleTokenServices, describeSecret, notify, now, sleep } = dependencies;

  return async ({ client, version }: Promotion, endsAt: number): Promise<void> => {
    const records = await Promise.all(services.map((service) => checkService({ client, service }, version, endsAt)));
    const secret = await describeSecret(client);
    const listed = secret === undefined ? [] : servicesOf(secret.services, services);
    const told = records.filter(({ pair }) => listed.includes(pair.service));
    const failures = await tell(told, endsAt);
    // Once another version is current, its own event brings it to traffic.
    const open = secret?.currentVersion === version ? records.flatMap((record) => unfinished(record, version)) : [];
    if (open.length + failures.length > 0) throw new ClientUnchecked(`${client}: ${[...open, ...failures].join(', ')}`);
  };

  /** Asks once more when the answer tells nothing about the version: a read may show the one before for a moment. */
  async function checkService(pair: Pair, version: string, endsAt: number): Promise<CheckRecord> {
    const first = await checkOnce(pair, endsAt, dependencies, version);
    if (unfinished(first, version).length === 0 || now() + AGAIN_AFTER_MS >= endsAt) return first;
    await sleep(AGAIN_AFTER_MS);
    return checkOnce(pair, endsAt, dependencies, version);
  }

  /** What keeps the event from being done, in no or one text. */
  function unfinished({ pair: { service }, answer }: CheckRecord, version: string): readonly string[] {
    if (answer.kind === 'failed') return [`${service} ${answer.failure}`];
    const { finding, provenBy } = answer;
    // A service that does not answer says nothing about the version; whether it answers others is for a run to find out.
    if (isSilent(finding)) return [`${service} ${finding}`];
    // The secret is gone or does not name the service, or the client is stopped: no version of it is sent.
    if (answer.version === version || finding === 'secret-missing' || finding === 'disabled') return [];
    const isKept = finding === 'accepted' && provenBy === 'traffic' && singleTokenServices.includes(service);
    return isKept ? [] : [`${service} another-version`];
  }

  /** One message stands for all services; what does not work comes first, so that it is what the message is about. */
  async function tell(records: readonly CheckRecord[], endsAt: number): Promise<readonly string[]> {
    const answered = records
      .flatMap(({ pair, answer }): CheckedPair[] => (answer.kind === 'checked' ? [{ ...answer, pair, at: now() }] : []))
      .filter(({ finding }) => !isSilent(finding));
    const postscript = overviewOf(answered);
    const rank = ({ finding }: CheckedPair) => Number(finding === 'accepted');
    const notified: Notified[] = [];
    for (const checked of answered.toSorted((one, other) => rank(one) - rank(other))) {
      const isTold = notified.some(({ sent }) => sent > 0);
      const { service } = checked.pair;
      notified.push(await notify({ kind: 'client', service, checked: [checked], postscript, isTold }, endsAt));
    }
    return notified.flatMap(({ failures }) => failures);
  }
}

/** Another try may bring what is missing. The message names the client, and services and failures as one word each. */
export class ClientUnchecked extends Error {
  override readonly name = 'ClientUnchecked';
}

/** How a client's credential did on each of several services; empty where one service is all that there is to tell. */
function overviewOf(checked: readonly CheckedPair[]): string {
  if (checked.length <= 1) return '';
  const lines = checked.map(
    ({ pair, finding, version = 'no version' }) => `  ${pair.service}: ${finding} (${version})\n`,
  );
  return `\nOn all services of the client:\n${lines.join('')}`;
}

/** Longer than a read can be behind, and short enough for the callers. */
const AGAIN_AFTER_MS = 5_000;
