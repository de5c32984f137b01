import { type ClientName, type Pair, type ServiceName, servicesOf } from '../../broker/pair.ts';
import { askUntil, type CheckDependencies, type CheckRecord, checkOnce, isSilent } from './check-pairs.ts';
import type { Notify } from './notify.ts';

/** A version of a client's secret that was put into use. */
export interface Promotion {
  readonly client: ClientName;
  readonly version: string;
}

/** A client's secret as it looks from outside: its tag `services`, and the version that is AWSCURRENT. */
export type SecretDescription = Readonly<Record<'services' | 'currentVersion', string | undefined>>;

interface Dependencies extends CheckDependencies {
  /** The configured ones. */
  readonly services: readonly ServiceName[];
  /** Those where a new token ends the old one: a living token of any version proves the credential. */
  readonly singleTokenServices: readonly ServiceName[];
  /** `undefined` when there is none, or when it is planned for deletion. */
  readonly describeSecret: (client: ClientName) => Promise<SecretDescription | undefined>;
  readonly notify: Notify;
}

/**
 * Has the broker check a client's current version on every configured service, so that a new version is proven and its
 * token shared before a caller needs it. Tells the operators of failures on the services in the tag of the secret.
 * Idempotent: the broker proves the current version, and proves it once, however late or often the event comes.
 *
 * @throws Error when Lambda must repeat the event: a service gave no finding on the current version, or a message was not
 * sent. The error names the client, and services and failures as one word each
 */
export function createClientCheck(dependencies: Dependencies) {
  const { services, singleTokenServices, describeSecret, notify, now } = dependencies;

  return async ({ client, version }: Promotion, endsAt: number): Promise<void> => {
    const check = (pair: Pair) =>
      askUntil<CheckRecord>(
        (record) => unfinished(record, version) === undefined,
        (timeoutMs) => checkOnce(pair, timeoutMs, dependencies, version),
        // The first read may still show the previous version.
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

  /** Why the event must be repeated for this service; `undefined` when it need not. */
  function unfinished({ pair: { service }, answer }: CheckRecord, version: string): string | undefined {
    if (answer.kind === 'failed') return `${service} ${answer.failure}`;
    const { finding, provenBy } = answer;
    // Without an answer the version is not proven. Whether the service answers other clients is for a run to find out.
    if (isSilent(finding)) return `${service} ${finding}`;
    // The secret is gone or does not name the service, or the client is stopped: no version of it is sent.
    if (answer.version === version || finding === 'secret-missing' || finding === 'disabled') return undefined;
    const isKept = finding === 'accepted' && provenBy === 'traffic' && singleTokenServices.includes(service);
    return isKept ? undefined : `${service} another-version`;
  }

  /** Gives the failures, one word each. */
  async function tell({ pair, answer }: CheckRecord, endsAt: number): Promise<readonly string[]> {
    if (answer.kind === 'failed' || isSilent(answer.finding)) return [];
    const checked = [{ ...answer, pair, at: now() }];
    return (await notify({ kind: 'client', service: pair.service, checked }, endsAt)).failures;
  }
}
