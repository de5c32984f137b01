/** A statement of a policy, with every list in it as a list. */
export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  /** Absent in an identity's own policy. */
  readonly principals: Principals | undefined;
  readonly actions: readonly string[];
  /** Absent in a role's trust policy. */
  readonly resources: readonly string[] | undefined;
  /** Operator → key → values. */
  readonly conditions: Conditions;
}

/** Kind → who; `*` by itself is `AWS: ['*']`. */
export type Principals = Readonly<Record<string, readonly string[]>>;

export type Conditions = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/**
 * Reads a policy whose intrinsics are resolved. Throws for what it does not know, `NotAction` and its like included: an
 * element that is passed over would change what the policy means.
 */
export function parsePolicy(document: unknown): readonly Statement[] {
  const { Version, Id, Statement: statements, ...unknown } = members(document);
  refuse(unknown);
  // The older version knows no policy variables, and no stack here uses it.
  if (Version !== '2012-10-17') throw new Error(`A policy of version ${Version}`);
  return list(statements).map(parseStatement);
}

function parseStatement(statement: unknown): Statement {
  const { Sid, Effect, Principal, Action, Resource, Condition, ...unknown } = members(statement);
  refuse(unknown);
  if (Effect !== 'Allow' && Effect !== 'Deny') throw new Error(`An effect ${JSON.stringify(Effect)}`);
  return {
    effect: Effect,
    principals: Principal === undefined ? undefined : parsePrincipals(Principal),
    actions: texts(Action),
    resources: Resource === undefined ? undefined : texts(Resource),
    conditions: mapValues(members(Condition ?? {}), (keys) => mapValues(members(keys), texts)),
  };
}

function parsePrincipals(principal: unknown): Principals {
  return principal === '*' ? { AWS: ['*'] } : mapValues(members(principal), texts);
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`Not an object: ${JSON.stringify(value)}`);
  }
  return Object.fromEntries(Object.entries(value));
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function texts(value: unknown): readonly string[] {
  const all = list(value).map((item) => (typeof item === 'boolean' || typeof item === 'number' ? `${item}` : item));
  if (all.length === 0 || !all.every((item) => typeof item === 'string')) {
    throw new Error(`Not texts: ${JSON.stringify(value)}`);
  }
  return all;
}

function refuse(unknown: Readonly<Record<string, unknown>>): void {
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw new Error(`A policy with ${name}`);
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
