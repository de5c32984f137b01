import type { AccessRule, Operation } from './access-rule.ts';
import { type Caller, callerKey } from './caller.ts';
import type { Pair, ServiceName } from './pair/pair.ts';
import { Problem } from './problem.ts';

/** Throws the problem `access-denied` unless an access rule covers the caller, the operation and the pair. */
export type Authorize = (caller: Caller, operation: Operation, pair: Pair) => void;

/** Indexes the rules by role once, so that a decision costs one look-up however many rules there are. */
export function createAuthorize(rules: readonly AccessRule[], services: ReadonlySet<ServiceName>): Authorize {
  const rulesOfRole = Map.groupBy(rules, (rule) => roleKey(rule.role));

  return (caller, operation, pair) => {
    const own = rulesOfRole.get(callerKey(caller)) ?? [];
    if (!services.has(pair.service) || !own.some((rule) => covers(rule, operation, pair))) throw accessDenied();
  };
}

/** Unknown and forbidden look the same from outside, so nobody can find out which clients or services exist. */
export function accessDenied(): Problem {
  return new Problem(
    'access-denied',
    'No access rule lets this role do this for this client on this service. Ask the operators of the broker for a rule.',
  );
}

function covers(rule: AccessRule, operation: Operation, { client, service }: Pair): boolean {
  return (
    rule.operations.includes(operation) &&
    (rule.clients === 'all' || rule.clients.includes(client)) &&
    (rule.services === 'all' || rule.services.includes(service))
  );
}

/** A rule names a role with its path, a caller arrives without: the settings refuse two roles that differ by path only. */
function roleKey(arn: string): string {
  const [, partition, account, role] = ROLE_ARN.exec(arn) ?? [];
  if (partition === undefined || account === undefined || role === undefined) {
    throw new TypeError(`access rule for something that is not a role: ${arn}`);
  }
  return callerKey({ partition, account, role });
}

const ROLE_ARN = /^arn:([a-z-]+):iam::(\d{12}):role\/(?:[!-~]*\/)?([A-Za-z0-9_+=,.@-]{1,64})$/;
