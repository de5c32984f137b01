import { type Context, conditionsHold } from './iam-conditions.ts';
import { accountOf, actionMatches, arnMatches, principalMatch, type Requester } from './iam-match.ts';
import type { Statement } from './iam-policy.ts';

/** One request to AWS, as IAM sees it. */
export interface Request {
  readonly requester: Requester;
  readonly action: string;
  /** An ARN, or `*` for an action that knows no resource. */
  readonly resource: string;
  readonly context?: Context;
}

/** All policies that could have a say. */
export interface Policies {
  /** What a role's own policies say. */
  readonly ofRole: (arn: string) => readonly Statement[];
  /** What the policy of a resource says; empty without one. */
  readonly ofResource: (arn: string) => readonly Statement[];
  /** What a service control policy of the roles' account says, beside that it allows everything else. */
  readonly ofOrganization?: readonly Statement[];
}

/**
 * Whether AWS lets a request through, by its documented logic: an explicit Deny anywhere ends it; within an account the
 * requester's own policy or one of the resource naming it is enough, but for keys and for roles to be assumed, whose
 * own policies must agree; from another account it takes both sides; a service has nothing but the resource's policy, and no
 * service control policy binds it.
 *
 * Not modelled, because nothing here has them: permission boundaries, session policies, RCPs, grants and ACLs.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 * @see https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
 */
export function isAllowed(policies: Policies, request: Request): boolean {
  const { requester, action, resource } = request;
  const guard = requester.kind === 'role' ? (policies.ofOrganization ?? []) : [];
  const own = requester.kind === 'role' ? policies.ofRole(requester.arn) : [];
  const ofIdentity = own.filter((statement) => applies(statement, request));
  const ofResource = policies.ofResource(resource).filter((statement) => applies(statement, request));
  const ofOrganization = guard.filter((statement) => applies(statement, request));
  if ([...ofOrganization, ...ofIdentity, ...ofResource].some(({ effect }) => effect === 'Deny')) return false;

  const says = (wanted: 'itself' | 'account') =>
    ofResource.some(({ principals = {} }) => principalMatch(principals, requester) === wanted);
  const identityAllows = ofIdentity.length > 0;
  if (requester.kind === 'service') return says('itself');
  if (resource !== '*' && accountOf(requester.arn) !== accountOf(resource))
    return identityAllows && (says('itself') || says('account'));
  if (says('itself')) return true;
  return identityAllows && (says('account') || !decidesItself(action));
}

/** A key and a role let in only principals that their own policy allows, be it by naming their account. */
function decidesItself(action: string): boolean {
  return action.startsWith('kms:') || action === 'sts:AssumeRole';
}

function applies({ principals, actions, resources, conditions }: Statement, request: Request): boolean {
  const { requester, action, resource, context = {} } = request;
  return (
    (principals === undefined || principalMatch(principals, requester) !== undefined) &&
    actions.some((pattern) => actionMatches(pattern, action)) &&
    (resources === undefined || resources.some((pattern) => arnMatches(pattern, resource))) &&
    conditionsHold(conditions, { ...globalContext(requester), ...context })
  );
}

/** What AWS tells of every request. */
function globalContext(requester: Requester): Context {
  const context = { 'aws:SecureTransport': 'true', 'aws:PrincipalIsAWSService': `${requester.kind === 'service'}` };
  if (requester.kind === 'service') return { ...context, 'aws:PrincipalServiceName': requester.name };
  return { ...context, 'aws:PrincipalArn': requester.arn, 'aws:PrincipalAccount': accountOf(requester.arn) };
}
