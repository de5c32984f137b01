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
    Object.entries(keys).every(([key, wanted]) => holds(operator, wanted, values.get(key.toLowerCase()))),
  );
}

function holds(operator: string, wanted: readonly string[], value: Context[string] | undefined): boolean {
  const { all, type = '', not, test = '', ifExists } = OPERATOR.exec(operator)?.groups ?? {};
  const matches = TESTS[`${type}${test}`];
  if (matches === undefined) throw new Error(`A condition operator ${operator}`);
  // Nothing is all of nothing. A negated operator holds for what is not there, too.
  if (value === undefined) return [all, not, ifExists].some((one) => one !== undefined);
  if (all === undefined && typeof value !== 'string') throw new Error(`${operator} for many values`);
  return [value].flat().every((one) => wanted.some((pattern) => matches(pattern, one)) === (not === undefined));
}

const OPERATOR =
  /^(?<all>ForAllValues:)?(?<type>String|Arn|Bool)(?<not>Not)?(?<test>Equals|Like)?(?<ifExists>IfExists)?$/;

const TESTS: Readonly<Record<string, (pattern: string, value: string) => boolean>> = {
  StringEquals: (pattern, value) => withoutVariable(pattern) === value,
  StringLike: globMatches,
  // Both take wildcards, part by part.
  ArnEquals: arnMatches,
  ArnLike: arnMatches,
  Bool: (pattern, value) => pattern.toLowerCase() === value.toLowerCase(),
};

/** ARNs are compared part by part, so that a wildcard never reaches into the next part; the sixth is the rest. */
export function arnMatches(pattern: string, arn: string): boolean {
  if (pattern === '*') return true;
  if (arn === '*') return false;
  const parts = arnParts(arn);
  return arnParts(pattern).every((part, index) => globMatches(part, parts[index] ?? ''));
}

export function accountOf(arn: string): string {
  return arnParts(arn)[4] ?? '';
}

function arnParts(arn: string): readonly string[] {
  const parts = arn.split(':');
  if (parts[0] !== 'arn' || parts.length < 6) throw new Error(`Not an ARN: ${arn}`);
  return [...parts.slice(0, 5), parts.slice(5).join(':')];
}

/** Whether `*` (any characters) and `?` (one) make a pattern into the text. */
export function globMatches(pattern: string, text: string): boolean {
  const escaped = withoutVariable(pattern).replace(/[.+^$(){}|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
}

function withoutVariable(pattern: string): string {
  if (pattern.includes('${')) throw new Error(`A policy variable: ${pattern}`);
  return pattern;
}
