import { ASSUMED_ROLE_ARN, ROLE_ARN } from '../vocabulary.ts';
import type { ClientName, Pair, ServiceName } from './pair.ts';
import { Problem } from './problem.ts';

/** Allows a role to act for clients on services. */
export interface AccessRule {
  /** `arn:aws:iam::<account>:role/<path/><name>`, matched on partition, account and role name. */
  readonly role: string;
  /** The role's unique id (`AROA…`). A role that is deleted and created again under the same name has another id. */
  readonly roleId?: string | undefined;
  readonly clients: readonly ClientName[] | 'all';
  readonly services: readonly ServiceName[] | 'all';
  readonly operations: readonly Operation[];
}

export type Operation = 'token' | 'check';

/** Returns the rules that name a caller's role, in their order. A role of another organization has no rules. */
export type RulesOf = (caller: Caller) => readonly AccessRule[];

/** @param principalOrgId the organization that every caller's account must be in, if it is set */
export function createRulesOf(rules: readonly AccessRule[], principalOrgId?: string): RulesOf {
  // Indexed once. Each decision is one look-up.
  const rulesOfRole = Map.groupBy(rules, (rule) => roleKey(rule.role));
  return (caller) => (rulesOfRole.get(callerKey(caller)) ?? []).filter((rule) => isFor(caller, rule, principalOrgId));
}

/** Returns whether a rule for the caller's role name fits its id and organization, which may both be left open. */
function isFor(caller: Caller, { roleId = caller.roleId }: AccessRule, organization = caller.principalOrgId): boolean {
  return roleId === caller.roleId && organization === caller.principalOrgId;
}

/** Returns whether one of a caller's rules covers the operation and the pair. */
export function isAllowed(rules: readonly AccessRule[], operation: Operation, { client, service }: Pair): boolean {
  return rules.some(
    ({ operations, clients, services }) =>
      operations.includes(operation) &&
      (clients === 'all' || clients.includes(client)) &&
      (services === 'all' || services.includes(service)),
  );
}

/**
 * Returns the same problem for unknown and forbidden pairs. No caller can find out which clients or services exist.
 *
 * @param signer the ARN of a signer that is not a role
 */
export function accessDenied(signer?: string): Problem {
  if (signer !== undefined) return new Problem('access-denied', 'Only roles may call: assume one.');
  const denied = 'No access rule lets this role do this for this client on this service';
  const advice = 'POST /whoami lists its rules. Ask the operators of the broker for a rule.';
  return new Problem('access-denied', `${denied}; ${advice}`);
}

/** Returns the `callerKey` of a role, without its path. The settings refuse two roles that differ by path only. */
export function roleKey(arn: string): string {
  const [matched, partition = '', account = '', role = ''] = ROLE_ARN.exec(arn) ?? [];
  if (matched === undefined) throw new TypeError(`access rule for something that is not a role: ${arn}`);
  return callerKey({ partition, account, role });
}

/** The AWS role that signed a request. */
export interface Caller {
  readonly partition: string;
  readonly account: string;
  readonly role: string;
  /** Chosen by the caller itself. Serves the audit line, and never a decision. */
  readonly session: string;
  readonly roleId?: string | undefined;
  readonly principalOrgId?: string | undefined;
  readonly accessKeyId?: string | undefined;
}

/** Reads the ARN of an assumed role. Returns `undefined` for a user, a root or a service. */
export function parseCaller(arn: string): Caller | undefined {
  const [matched, partition = '', account = '', role = '', session = ''] = ASSUMED_ROLE_ARN.exec(arn) ?? [];
  return matched === undefined ? undefined : { partition, account, role, session };
}

/** Returns the identity that access rules are matched on. */
export function callerKey({ partition, account, role }: Pick<Caller, 'partition' | 'account' | 'role'>): string {
  return `${partition}:${account}:${role}`;
}
