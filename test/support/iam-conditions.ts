import { arnMatches, globMatches } from './iam-match.ts';
import type { Conditions } from './iam-policy.ts';

/** What a request tells about itself, by condition key; a list for the keys that have many values. */
export type Context = Readonly<Record<string, string | readonly string[]>>;

/**
 * Whether a request meets every condition of a statement. Throws for an operator that it does not know.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-logic-multiple-context-keys-or-values.html
 */
export function conditionsHold(conditions: Conditions, context: Context): boolean {
  const values = new Map(Object.entries(context).map(([key, value]) => [key.toLowerCase(), value]));
  return Object.entries(conditions).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => holds(operator, key, wanted, values.get(key.toLowerCase()))),
  );
}

type Value = Context[string] | undefined;

function holds(operator: string, key: string, wanted: readonly string[], value: Value): boolean {
  if (operator === 'Null') return wanted.includes(`${value === undefined}`);
  const { set, name = '', ifExists } = OPERATOR.exec(operator)?.groups ?? {};
  const test = tests[name];
  if (test === undefined) throw new Error(`A condition operator ${operator}`);
  const { negated, matches } = test;
  const matchesOne = (one: string) => wanted.some((pattern) => matches(pattern, one)) !== negated;

  if (value === undefined) {
    // Nothing is all of nothing. A negated operator holds for what is not there, too.
    return ifExists !== undefined || set === 'ForAllValues' || (set === undefined && negated);
  }
  if (set === 'ForAllValues') return [value].flat().every(matchesOne);
  if (set === 'ForAnyValue') return [value].flat().some(matchesOne);
  if (typeof value !== 'string') throw new Error(`${operator} for ${key}, which has many values`);
  return matchesOne(value);
}

const OPERATOR = /^(?:(?<set>ForAllValues|ForAnyValue):)?(?<name>[A-Za-z]+?)(?<ifExists>IfExists)?$/;

interface Test {
  readonly negated: boolean;
  readonly matches: (pattern: string, value: string) => boolean;
}

const equals = (pattern: string, value: string) => pattern === noVariable(pattern) && pattern === value;
const equalsInAnyCase = (pattern: string, value: string) => equals(pattern.toLowerCase(), value.toLowerCase());

const tests: Readonly<Record<string, Test | undefined>> = {
  StringEquals: { negated: false, matches: equals },
  StringNotEquals: { negated: true, matches: equals },
  StringEqualsIgnoreCase: { negated: false, matches: equalsInAnyCase },
  StringNotEqualsIgnoreCase: { negated: true, matches: equalsInAnyCase },
  StringLike: { negated: false, matches: globMatches },
  StringNotLike: { negated: true, matches: globMatches },
  // Both take wildcards, part by part.
  ArnEquals: { negated: false, matches: arnMatches },
  ArnLike: { negated: false, matches: arnMatches },
  ArnNotEquals: { negated: true, matches: arnMatches },
  ArnNotLike: { negated: true, matches: arnMatches },
  Bool: { negated: false, matches: equalsInAnyCase },
};

function noVariable(pattern: string): string {
  if (pattern.includes('${')) throw new Error(`A policy variable: ${pattern}`);
  return pattern;
}
