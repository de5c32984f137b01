import { type ClientName, type Pair, type ServiceName, servicesOf } from '../../broker/pair.ts';
import { askUntil, type CheckDependencies, type CheckRecord, checkOnce, isSilent } from './check-pairs.ts';
import type { Findings } from './evaluate.ts';
import type { Notify } from './notify.ts';

/** A version of a client's secret that was put into use. */
export interface Promotion {
  readonly client: ClientName;
  readonly version: string;
}

/** The description of a client's secret: its tag `services`, and the version that is AWSCURRENT. */
export type SecretDescription = Readonly<Record<'services' | 'currentVersion', string | undefined>>;

interface Dependencies extends CheckDependencies {
  readonly services: readonly ServiceName[];
  /** Services where a new token ends the previous token. A valid token of any version proves the credential. */
  readonly singleTokenServices: readonly ServiceName[];
  /** Returns `undefined` if the secret is missing or planned for deletion. */
  readonly describeSecret: (client: ClientName) => Promise<SecretDescription | undefined>;
  readonly notify: Notify;
}

/**
 * Checks a client's current version on every configured service. A new version is proven and its token is shared
 * before a caller needs it. Reports findings on the services in the tag of the secret to the operators.
 * Idempotent: the broker proves the current version, only once, so a late or repeated event has no further effect.
 *
 * @throws Error when Lambda must repeat the event, because a finding on the current version is missing or a message was
 * not sent. The error contains the client, and each service and failure as a word
 */
export function createClientCheck(dependencies: Dependencies) {
  const { services, singleTokenServices, describeSecret, notify, now } = dependencies;

  return async ({ client, version }: Promotion, endsAt: number): Promise<void> => {
    const check = (pair: Pair) =>
      askUntil<CheckRecord>(
        (record) => unfinished(record, version) === undefined,
        (timeoutMs) => checkOnce(pair, timeoutMs, dependencies, version),
        // The first read may still return the previous version.
        { endsAt, attempts: 2 },
        dependencies,
      );
    const records = await Promise.all(services.map((service) => check({ client, service })));
    const secret = await describeSecret(client);
    const listed = secret === undefined ? [] : servicesOf(secret.services, services);
    const reported = records.filter(({ pair }) => listed.includes(pair.service));
    const { failures } = await notify(reported.flatMap(findingsOf), endsAt);
    // If another version is current by now, its own event starts a check.
    const open = secret?.currentVersion === version ? records.map((record) => unfinished(record, version)) : [];
    const reasons = [...open, ...failures].filter((reason) => reason !== undefined);
    if (reasons.length > 0) throw new Error(`${client}: ${reasons.join(', ')}`);
  };

  /** Returns why the event must be repeated for this service, or `undefined`. */
  function unfinished({ pair: { service }, answer }: CheckRecord, version: string): string | undefined {
    if (answer.kind === 'failed') return `${service} ${answer.failure}`;
    const { finding, provenBy } = answer;
    // Without an answer the version is not proven. Only a run can find out whether the service answers other clients.
    if (isSilent(finding)) return `${service} ${finding}`;
    // No version is sent if the secret is missing or does not name the service, or if the client is disabled.
    if (answer.version === version || finding === 'secret-missing' || finding === 'disabled') return undefined;
    const isKept = finding === 'accepted' && provenBy === 'traffic' && singleTokenServices.includes(service);
    return isKept ? undefined : `${service} another-version`;
  }

  /** Returns the findings of an answer that says something about the credential. */
  function findingsOf({ pair, answer }: CheckRecord): readonly Findings[] {
    if (answer.kind === 'failed' || isSilent(answer.finding)) return [];
    return [{ kind: 'client', service: pair.service, checked: [{ ...answer, pair, at: now() }] }];
  }
}
