import { z } from 'zod';

/** One request to AWS, as IAM sees it. */
export interface Request {
  /** The ARN of a role, or the name of a service that asks by itself. */
  readonly requester: string;
  readonly action: string;
  /** An ARN, or `*` for an action that knows no resource. */
  readonly resource: string;
  /** The context of the request, by condition key; a list for the keys that have many values. */
  readonly context?: Context;
}

export type Context = Readonly<Record<string, string | readonly string[]>>;

/** All policies that could have a say. */
export interface Policies {
  /** The statements of a role's own policies. */
  readonly ofRole: (arn: string) => readonly Statement[];
  /** The statements of a resource's policy; empty without one. */
  readonly ofResource: (arn: string) => readonly Statement[];
  /** A service control policy of the roles' account, beside one that allows everything. */
  readonly ofOrganization?: readonly Statement[];
  /** The permissions boundary of a role, if it has one. */
  readonly boundaryOf?: (arn: string) => readonly Statement[] | undefined;
}

/**
 * Whether AWS lets a request through, by its documented logic: an explicit Deny anywhere ends it; within an account the
 * requester's own policy or one of the resource naming it is enough, but for keys and for roles to be assumed, whose
 * own policies must agree; from another account it takes both sides; a service has nothing but the resource's policy, and no
 * service control policy binds it. A permissions boundary must allow what a role does, whatever else allows it.
 *
 * Not modelled, because nothing here has them: session policies, RCPs and ACLs. A grant is a statement of the key's policy.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 * @see https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
 */
export function isAllowed(policies: Policies, request: Request): boolean {
  const { requester, action, resource } = request;
  const [own, guard] = isRole(requester) ? [policies.ofRole(requester), policies.ofOrganization ?? []] : [[], []];
  const applying = (statements: readonly Statement[]) => statements.filter((statement) => applies(statement, request));
  const [ofIdentity, ofResource] = [applying(own), applying(policies.ofResource(resource))];
  const boundary = isRole(requester) ? policies.boundaryOf?.(requester) : undefined;
  const within = applying(boundary ?? []);
  if ([...applying(guard), ...within, ...ofIdentity, ...ofResource].some(({ Effect }) => Effect === 'Deny'))
    return false;
  if (boundary !== undefined && within.length === 0) return false;

  const named = ofResource.map(({ Principal }) => principalMatch(Principal, requester));
  if (!isRole(requester)) return named.includes('itself');
  // The ARN of a bucket names no account: it is one of the requester's here.
  const account = resource === '*' ? '' : accountOf(resource);
  if (account !== '' && account !== accountOf(requester)) return ofIdentity.length > 0 && named.length > 0;
  if (named.includes('itself')) return true;
  // A key and a role let in only principals that their own policy allows, be it by naming their account.
  const decidesItself = resource !== '*' && (action.startsWith('kms:') || action === 'sts:AssumeRole');
  return ofIdentity.length > 0 && (named.includes('account') || !decidesItself);
}

function isRole(requester: string): boolean {
  return requester.startsWith('arn:');
}

function applies({ Principal, Action, Resource, NotResource, Condition }: Statement, request: Request): boolean {
  const { requester, action, resource, context } = request;
  return (
    (Principal === undefined || principalMatch(Principal, requester) !== undefined) &&
    Action.some((pattern) => globMatches(pattern, action)) &&
    (Resource === undefined || Resource.some((pattern) => arnMatches(pattern, resource))) &&
    !NotResource?.some((pattern) => arnMatches(pattern, resource)) &&
    conditionsHold(Condition, { 'aws:SecureTransport': 'true', 'aws:PrincipalArn': requester, ...context })
  );
}

/** How a policy's principals name the requester: itself, or only its account, which then decides by its own policies. */
function principalMatch(principal: Statement['Principal'], requester: string): 'itself' | 'account' | undefined {
  if (principal === undefined) return undefined;
  if ('Service' in principal) return principal.Service.includes(requester) ? 'itself' : undefined;
  const unknown = principal.AWS.find((name) => !PRINCIPAL.test(name));
  if (unknown !== undefined) throw new Error(`A principal ${unknown}`);
  if (principal.AWS.includes('*') || principal.AWS.includes(requester)) return 'itself';
  const accounts = principal.AWS.map((name) => PRINCIPAL.exec(name)?.groups?.account);
  return isRole(requester) && accounts.includes(accountOf(requester)) ? 'account' : undefined;
}

/** Every principal, an account by its number or its root, or one role. */
const PRINCIPAL = /^(?:\*|(?:arn:[a-z-]+:iam::)?(?<account>\d{12})(?::root)?|arn:[a-z-]+:iam::\d{12}:role\/[^*?]+)$/;

/**
 * Whether a request meets every condition of a statement. Throws for an operator that it does not know.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-logic-multiple-context-keys-or-values.html
 */
function conditionsHold(conditions: Statement['Condition'], context: Context): boolean {
  const values = new Map(Object.entries(context).map(([key, value]) => [key.toLowerCase(), value]));
  return Object.entries(conditions).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => {
      if (operator === 'Null') return wanted.includes(`${!values.has(key.toLowerCase())}`);
      const [, all, name = '', ifExists] = /^(ForAllValues:)?(\w+?)(IfExists)?$/.exec(operator) ?? [];
      const isNegated = name.includes('Not');
      const matches = OPERATORS[name.replace('Not', '')];
      if (matches === undefined) throw new Error(`A condition operator ${operator}`);
      const value = values.get(key.toLowerCase());
      if (value === undefined) return isNegated || (all ?? ifExists) !== undefined;
      if (all === undefined && typeof value !== 'string') throw new Error(`${operator} for many values`);
      return [value].flat().every((one) => wanted.some((pattern) => matches(pattern, one)) !== isNegated);
    }),
  );
}

/** The operators that the policies here use. Each can be negated, for a key that may be absent, or for many values. */
const OPERATORS: Readonly<Record<string, (pattern: string, value: string) => boolean>> = {
  StringEquals: (pattern, value) => withoutVariable(pattern) === value,
  StringLike: globMatches,
  NumericGreaterThanEquals: (least, value) => Number(value) >= Number(least),
  // Both take wildcards.
  ArnEquals: arnMatches,
  ArnLike: arnMatches,
  Bool: (pattern, value) => pattern === value,
};

/** ARNs are compared part by part, so that a wildcard never reaches into the next part; the sixth is the rest. */
function arnMatches(pattern: string, arn: string): boolean {
  if (pattern === '*') return true;
  if (!isRole(arn)) return false;
  const parts = arnParts(arn);
  return arnParts(pattern).every((part, index) => globMatches(part, parts[index] ?? ''));
}

/** Whether any resource fits both ARNs, each part by itself. */
export function arnsOverlap(one: string, other: string): boolean {
  if (one === '*' || other === '*') return true;
  const parts = arnParts(other);
  return arnParts(one).every((part, index) => globsOverlap(part, parts[index] ?? ''));
}

/** Whether any text fits both patterns. */
export function globsOverlap(one: string, other: string): boolean {
  if (one === '' || other === '') return /^\**$/.test(one + other);
  if (one.startsWith('*')) return globsOverlap(one.slice(1), other) || globsOverlap(one, other.slice(1));
  if (other.startsWith('*')) return globsOverlap(other, one);
  return (one[0] === other[0] || one[0] === '?' || other[0] === '?') && globsOverlap(one.slice(1), other.slice(1));
}

function accountOf(arn: string): string {
  return arnParts(arn)[4] ?? '';
}

function arnParts(arn: string): readonly string[] {
  const parts = arn.split(':');
  if (parts[0] !== 'arn' || parts.length < 6) throw new Error(`Not an ARN: ${arn}`);
  return [...parts.slice(0, 5), parts.slice(5).join(':')];
}

/** Whether `*` (any characters) and `?` (one) make a pattern into the text. */
function globMatches(pattern: string, text: string): boolean {
  if (!/[*?$]/.test(pattern)) return pattern === text;
  const escaped = withoutVariable(pattern).replace(/[.+^$(){}|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
}

function withoutVariable(pattern: string): string {
  if (pattern.includes('${')) throw new Error(`A policy variable: ${pattern}`);
  return pattern;
}

/** A statement of a policy, with every list in it as a list. */
export type Statement = z.output<typeof statement>;

/**
 * Reads a policy whose intrinsics are resolved. Throws for an unknown element, `NotAction` and its like included: an
 * element that is passed over would change the meaning of the policy.
 */
export function parsePolicy(document: unknown): readonly Statement[] {
  return policy.parse(document).Statement;
}

function oneOrMore<Item extends z.ZodType>(item: Item) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(item));
}

const texts = oneOrMore(z.union([z.string(), z.boolean().transform(String)]));
const everyPrincipal = z.literal('*').transform(() => ({ AWS: ['*'] }));

const statement = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(['Allow', 'Deny']),
  /** Absent in an identity's own policy. */
  Principal: z.union([everyPrincipal, z.strictObject({ AWS: texts }), z.strictObject({ Service: texts })]).optional(),
  Action: texts,
  /** Absent in a role's trust policy. */
  Resource: texts.optional(),
  NotResource: texts.optional(),
  Condition: z.record(z.string(), z.record(z.string(), texts)).default({}),
});

const policy = z.strictObject({
  // The older version knows no policy variables, and no stack here uses it.
  Version: z.literal('2012-10-17'),
  Id: z.string().optional(),
  Statement: oneOrMore(statement),
});
