import { accountOf, arnMatches, type Context, conditionsHold, globMatches } from './iam-conditions.ts';
import type { Statement } from './iam-policy.ts';

/** One request to AWS, as IAM sees it. */
export interface Request {
  /** The service is one by itself, not on behalf of a role. */
  readonly requester:
    | { readonly kind: 'role'; readonly arn: string }
    | { readonly kind: 'service'; readonly name: string };
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
  if ([...ofOrganization, ...ofIdentity, ...ofResource].some(({ Effect }) => Effect === 'Deny')) return false;

  const says = (wanted: 'itself' | 'account') =>
    ofResource.some(({ Principal }) => principalMatch(Principal, requester) === wanted);
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

function applies({ Principal, Action, Resource, Condition }: Statement, request: Request): boolean {
  const { requester, action, resource, context = {} } = request;
  return (
    (Principal === undefined || principalMatch(Principal, requester) !== undefined) &&
    // Actions know no upper and lower case.
    Action.some((pattern) => globMatches(pattern.toLowerCase(), action.toLowerCase())) &&
    (Resource === undefined || Resource.some((pattern) => arnMatches(pattern, resource))) &&
    conditionsHold(Condition, { ...globalContext(requester), ...context })
  );
}

/**
 * How a policy's principals name the requester: itself, or only its account, which then decides by its own policies.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
 */
function principalMatch(
  principal: Statement['Principal'],
  requester: Request['requester'],
): 'itself' | 'account' | undefined {
  if (principal === undefined) return undefined;
  if ('Service' in principal) {
    return requester.kind === 'service' && principal.Service.includes(requester.name) ? 'itself' : undefined;
  }
  const unknown = principal.AWS.find((name) => !PRINCIPAL.test(name));
  if (unknown !== undefined) throw new Error(`A principal ${unknown}`);
  if (principal.AWS.includes('*')) return 'itself';
  if (requester.kind === 'service') return undefined;
  if (principal.AWS.includes(requester.arn)) return 'itself';
  const accounts = principal.AWS.map((name) => PRINCIPAL.exec(name)?.groups?.account);
  return accounts.includes(accountOf(requester.arn)) ? 'account' : undefined;
}

/** Every principal, an account by its number or its root, or one role. */
const PRINCIPAL = /^(?:\*|(?:arn:[a-z-]+:iam::)?(?<account>\d{12})(?::root)?|arn:[a-z-]+:iam::\d{12}:role\/[^*?]+)$/;

/** What AWS tells of every request. */
function globalContext(requester: Request['requester']): Context {
  const context = { 'aws:SecureTransport': 'true', 'aws:PrincipalIsAWSService': `${requester.kind === 'service'}` };
  if (requester.kind === 'service') return { ...context, 'aws:PrincipalServiceName': requester.name };
  return { ...context, 'aws:PrincipalArn': requester.arn, 'aws:PrincipalAccount': accountOf(requester.arn) };
}

/** What AWS checks when a Function URL is called: both must be allowed. */
export function callUrl(role: string, functionArn: string): readonly Request[] {
  const asked = { requester: { kind: 'role', arn: role }, resource: functionArn } as const;
  return [
    { ...asked, action: 'lambda:InvokeFunctionUrl', context: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } },
    { ...asked, action: 'lambda:InvokeFunction', context: { 'lambda:InvokedViaFunctionUrl': 'true' } },
  ];
}

/** What AWS checks when a function is invoked past its URL, with any event. */
export function invoke(role: string, functionArn: string): Request {
  const context = { 'lambda:InvokedViaFunctionUrl': 'false' };
  return { requester: { kind: 'role', arn: role }, action: 'lambda:InvokeFunction', resource: functionArn, context };
}
