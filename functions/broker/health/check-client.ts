import type { ClientName, Pair, ServiceName } from '../pair.ts';
import { askUntil, type CheckDependencies, type CheckRecord, checkOnce, isSilent } from './check-pairs.ts';
import type { Notify } from './notify.ts';
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
 * token shared before a caller needs it. What does not work is told to the operators, of the services in the tag of the
 * secret. A late or repeated event does no harm: the broker proves what is current, and proves it once.
 *
 * @throws Error when the event is to be repeated: a service told nothing about the version, and it is current still; or
 * the operators could not be told. Its message names the client, and services and failures as one word each
 */
export function createClientCheck(dependencies: Dependencies) {
  const { services, singleTokenServices, describeSecret, notify, now } = dependencies;

  return async ({ client, version }: Promotion, endsAt: number): Promise<void> => {
    const check = (pair: Pair) =>
      askUntil<CheckRecord>(
        (record) => unfinished(record, version) === undefined,
        (timeoutMs) => checkOnce(pair, timeoutMs, dependencies, version),
        // A read may show the version before for a moment.
        { endsAt, attempts: 2 },
        dependencies,
      );
    const records = await Promise.all(services.map((service) => check({ client, service })));
    const secret = await describeSecret(client);
    const listed = secret === undefined ? [] : servicesOf(secret.services, services);
    const told = records.filter(({ pair }) => listed.includes(pair.service));
    const failures = await Promise.all(told.map((record) => tell(record, endsAt)));
    // Once another version is current, its own event brings it to traffic.
    const open = secret?.currentVersion === version ? records.map((record) => unfinished(record, version)) : [];
    const reasons = [...open, ...failures.flat()].filter((reason) => reason !== undefined);
    if (reasons.length > 0) throw new Error(`${client}: ${reasons.join(', ')}`);
  };

  /** What keeps the event from being done. */
  function unfinished({ pair: { service }, answer }: CheckRecord, version: string): string | undefined {
    if (answer.kind === 'failed') return `${service} ${answer.failure}`;
    const { finding, provenBy } = answer;
    // A service that does not answer says nothing about the version; whether it answers others is for a run to find out.
    if (isSilent(finding)) return `${service} ${finding}`;
    // The secret is gone or does not name the service, or the client is stopped: no version of it is sent.
    if (answer.version === version || finding === 'secret-missing' || finding === 'disabled') return undefined;
    const isKept = finding === 'accepted' && provenBy === 'traffic' && singleTokenServices.includes(service);
    return isKept ? undefined : `${service} another-version`;
  }

  /** What failed, one word each. */
  async function tell({ pair, answer }: CheckRecord, endsAt: number): Promise<readonly string[]> {
    if (answer.kind === 'failed' || isSilent(answer.finding)) return [];
    const checked = [{ ...answer, pair, at: now() }];
    return (await notify({ kind: 'client', service: pair.service, checked }, endsAt)).failures;
  }
}
