import type { Principals } from './iam-policy.ts';

/** Who makes a request. */
export type Requester =
  | { readonly kind: 'role'; readonly arn: string }
  /** An AWS service by itself, not on behalf of a role. */
  | { readonly kind: 'service'; readonly name: string };

/** Whether `*` (any characters) and `?` (one) make a pattern into the text. */
export function globMatches(pattern: string, text: string): boolean {
  if (/\$\{/.test(pattern)) throw new Error(`A policy variable: ${pattern}`);
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}

/** Actions know no upper and lower case. */
export function actionMatches(pattern: string, action: string): boolean {
  return globMatches(pattern.toLowerCase(), action.toLowerCase());
}

/** ARNs are compared part by part, so that a wildcard never reaches into the next part; the sixth is the rest. */
export function arnMatches(pattern: string, arn: string): boolean {
  if (pattern === '*') return true;
  if (arn === '*') return false;
  const [patternParts, parts] = [arnParts(pattern), arnParts(arn)];
  return patternParts.every((part, index) => globMatches(part, parts[index] ?? ''));
}

function arnParts(arn: string): readonly string[] {
  const parts = arn.split(':');
  if (parts[0] !== 'arn' || parts.length < 6) throw new Error(`Not an ARN: ${arn}`);
  return [...parts.slice(0, 5), parts.slice(5).join(':')];
}

/**
 * How a policy's principals name the requester: itself, or only its account, which then decides by its own policies.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
 */
export function principalMatch(principals: Principals, requester: Requester): 'itself' | 'account' | undefined {
  const kinds = Object.entries(principals).flatMap(([kind, names]) =>
    names.map((name) => oneMatch(kind, name, requester)),
  );
  return kinds.find((kind) => kind === 'itself') ?? kinds.find((kind) => kind === 'account');
}

function oneMatch(kind: string, name: string, requester: Requester): 'itself' | 'account' | undefined {
  if (kind === 'Service') return requester.kind === 'service' && requester.name === name ? 'itself' : undefined;
  if (kind !== 'AWS') throw new Error(`A principal of kind ${kind}`);
  if (name === '*') return 'itself';
  if (/[*?]/.test(name)) throw new Error(`A principal with a wildcard: ${name}`);
  if (requester.kind === 'service') return undefined;
  const account = /^(?:arn:[a-z-]+:iam::)?(\d{12})(?::root)?$/.exec(name)?.[1];
  if (account !== undefined) return account === accountOf(requester.arn) ? 'account' : undefined;
  if (!/^arn:[a-z-]+:iam::\d{12}:role\//.test(name)) throw new Error(`A principal that is no role: ${name}`);
  return name === requester.arn ? 'itself' : undefined;
}

export function accountOf(arn: string): string {
  return arnParts(arn)[4] ?? '';
}
