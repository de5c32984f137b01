import { ASSUMED_ROLE_ARN, ROLE_ARN } from '../vocabulary.ts';
import type { ClientName, Pair, ServiceName } from './pair.ts';
import { Problem } from './problem.ts';

/** Throws the problem `access-denied` unless an access rule covers the caller, the operation and the pair. */
export type Authorize = (caller: Caller, operation: Operation, pair: Pair) => void;

/** Which role may act for which clients on which services. */
export interface AccessRule {
  /** `arn:aws:iam::<account>:role/<path/><name>`; matched on partition, account and role name. */
  readonly role: string;
  /** The role's unique id (`AROA…`): a role that was deleted and made again under the same name has another one. */
  readonly roleId?: string | undefined;
  readonly clients: readonly ClientName[] | 'all';
  readonly services: readonly ServiceName[] | 'all';
  readonly operations: readonly Operation[];
}

export type Operation = 'token' | 'check';

/** @param principalOrgId the organization that every caller's account must be in, when there is one */
export function createAuthorize(
  rules: readonly AccessRule[],
  services: ReadonlySet<ServiceName>,
  principalOrgId?: string,
): Authorize {
  // Indexed once, so that each decision is one look-up.
  const rulesOfRole = Map.groupBy(rules, (rule) => roleKey(rule.role));
  return (caller, operation, pair) => {
    const own = rulesOf(rulesOfRole.get(callerKey(caller)) ?? [], caller, principalOrgId);
    if (!services.has(pair.service) || !own.some((rule) => covers(rule, operation, pair))) throw accessDenied();
  };
}

/** The rules that name the caller's role, in their order; none for a role of another organization than this one. */
export function rulesOf(rules: readonly AccessRule[], caller: Caller, principalOrgId?: string): readonly AccessRule[] {
  if (principalOrgId !== undefined && caller.principalOrgId !== principalOrgId) return [];
  const key = callerKey(caller);
  return rules.filter(({ role, roleId = caller.roleId }) => roleKey(role) === key && roleId === caller.roleId);
}

/** Unknown and forbidden look the same from outside, so no caller can find out which clients or services exist. */
export function accessDenied(): Problem {
  const denied = 'No access rule lets this role do this for this client on this service';
  const advice = 'POST /whoami tells what it may. Ask the operators of the broker for a rule.';
  return new Problem('access-denied', `${denied}; ${advice}`);
}

/** As `callerKey`. A rule's role has a path, a caller's has none: the settings refuse two roles that differ by path only. */
export function roleKey(arn: string): string {
  const [matched, partition = '', account = '', role = ''] = ROLE_ARN.exec(arn) ?? [];
  if (matched === undefined) throw new TypeError(`access rule for something that is not a role: ${arn}`);
  return callerKey({ partition, account, role });
}

function covers(rule: AccessRule, operation: Operation, { client, service }: Pair): boolean {
  return (
    rule.operations.includes(operation) &&
    (rule.clients === 'all' || rule.clients.includes(client)) &&
    (rule.services === 'all' || rule.services.includes(service))
  );
}

/** The AWS role that signed a request. */
export interface Caller {
  readonly partition: string;
  readonly account: string;
  readonly role: string;
  /** Chosen by the caller itself: for the audit line, never for a decision. */
  readonly session: string;
  readonly roleId?: string | undefined;
  readonly principalOrgId?: string | undefined;
  readonly accessKeyId?: string | undefined;
}

/** Reads the ARN under which an assumed role arrives; anything else (a user, a root, a service) is no caller. */
export function parseCaller(arn: string): Caller | undefined {
  const [matched, partition = '', account = '', role = '', session = ''] = ASSUMED_ROLE_ARN.exec(arn) ?? [];
  return matched === undefined ? undefined : { partition, account, role, session };
}

/** The identity that access rules are matched on. */
export function callerKey({ partition, account, role }: Pick<Caller, 'partition' | 'account' | 'role'>): string {
  return `${partition}:${account}:${role}`;
}
