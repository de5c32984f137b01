import { type PairRecord, withoutFutureTimes } from '../../broker/pair/record.ts';
import type { Pair } from '../../broker/pair.ts';
import type { Finding } from '../../vocabulary.ts';
import type { PairAdmin } from './pair-admin.ts';

/** The state of a pair, read from its record. Times are epoch milliseconds. */
export interface PairState extends Pair {
  /** The most urgent state for an operator, if several apply. */
  readonly state: 'held' | 'paused' | 'ok' | 'unproven' | Exclude<Finding, 'accepted'>;
  /** Absent for `ok` and `unproven`, and when the record does not contain it. */
  readonly since?: number | undefined;
  /** When a pause or a hold expires. */
  readonly until?: number | undefined;
  /** When the service last issued a token for the current version. */
  readonly provenAt?: number | undefined;
  /** When the token in use expires, also a token of another version. */
  readonly tokenExpiresAt?: number | undefined;
  /** The last trial, of any version. */
  readonly trial?: PairRecord['checked'];
}

/** Reads the state of a pair from the table. `current` is the id of the credential's current version. */
export async function readPairState(
  table: Pick<PairAdmin, 'read'>,
  pair: Pair,
  current: string | undefined,
  now = Date.now(),
): Promise<PairState> {
  const { disabled, pause, held, rejected, token, checked } = withoutFutureTimes(await table.read(pair), now);
  const issued = token && { version: token.credentialVersion, finding: 'accepted' as const, at: token.issuedAt };
  const found = [issued, checked].find((look) => look?.version === current);
  const proof = {
    ...pair,
    trial: checked,
    ...(found?.finding === 'accepted' && { provenAt: found.at }),
    ...(token !== undefined && token.expiresAt > now && { tokenExpiresAt: token.expiresAt }),
  };
  if (disabled) return { ...proof, state: 'disabled', since: disabled.since || undefined };
  const latch = current === undefined ? undefined : rejected.get(current);
  if (latch !== undefined) return { ...proof, state: 'rejected', since: latch.at || undefined };
  const hold = [...held].find(([key, { until }]) => key.startsWith(`${current}:`) && until > now)?.[1];
  if (hold !== undefined) return { ...proof, state: 'held', until: hold.until };
  if (pause !== undefined && pause.until > now) return { ...proof, state: 'paused', until: pause.until };
  if (found === undefined) return { ...proof, state: 'unproven' };
  return found.finding === 'accepted' ? { ...proof, state: 'ok' } : { ...proof, state: found.finding, since: found.at };
}

/** The severity of a state or finding: good, idle (stopped or unproven), passing, or bad (needs an operator). */
export type Severity = 'good' | 'idle' | 'passing' | 'bad';

/** The severity of each state in `client list` and each finding in `health`. */
export const SEVERITIES = {
  ok: 'good',
  accepted: 'good',
  unproven: 'idle',
  disabled: 'idle',
  held: 'passing',
  paused: 'passing',
  throttled: 'passing',
  unreachable: 'passing',
  rejected: 'bad',
  misconfigured: 'bad',
  'secret-missing': 'bad',
  'secret-malformed': 'bad',
} as const satisfies Readonly<Record<PairState['state'] | Finding, Severity>>;
