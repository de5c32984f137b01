import { shows } from '../redacted.ts';
import { type Level, memberAt, plainName } from './members.ts';

/**
 * The token type, `Bearer` when the answer tells none, no word, or the token. It is case-insensitive, so `bearer` becomes
 * `Bearer`; any other type is passed on as its service wrote it, because only its callers know what to do with it.
 *
 * @see RFC 6749 §7.1, RFC 9110 §11.1
 */
export function readTokenType(around: readonly Level[], token: string): string {
  const type = nearest(around, 'tokentype');
  const word = typeof type === 'string' ? type.trim() : '';
  return AUTH_SCHEME.test(word) && word.toLowerCase() !== 'bearer' && !shows(word, token) ? word : 'Bearer';
}

/** The granted scope, also when it comes as an array; undefined when the answer tells none that may be shown (RFC 6749 §3.3). */
export function readScope(around: readonly Level[], token: string): string | undefined {
  const given = nearest(around, 'scope') ?? nearest(around, 'scopes');
  const scope = Array.isArray(given) && given.every((one) => typeof one === 'string') ? given.join(' ') : given;
  if (typeof scope !== 'string' || scope.length > MAX_SCOPE_LENGTH || !SCOPE.test(scope)) return undefined;
  return shows(scope, token) ? undefined : scope;
}

/**
 * The members that `passThrough` names, each under the path that names it. Left out are members that the answer does
 * not have, large or deep ones, and those that hold a token: the broker hands out one token, in one place.
 */
export function readPassThrough(
  body: unknown,
  paths: readonly string[],
  token: string,
): Readonly<Record<string, unknown>> {
  const members = paths.flatMap((path) => {
    const member = memberAt(body, path);
    if (member === undefined || isSecretName(member.path.at(-1) ?? '')) return [];
    return isPassable(member.value, token) ? [[path, member.value] as const] : [];
  });
  return Object.fromEntries(members);
}

const AUTH_SCHEME = /^[!#$%&'*+\-.^_`|~\w]{1,64}$/;
const SCOPE = /^[\x20-\x7e]+$/;
const MAX_SCOPE_LENGTH = 4_096;

function nearest(around: readonly Level[], plain: string): unknown {
  for (const { members } of around) {
    const name = Object.keys(members).find((member) => plainName(member) === plain);
    if (name !== undefined && members[name] !== null) return members[name];
  }
  return undefined;
}

function isSecretName(name: string): boolean {
  return /token$|^jwt|^refresh|^bearer$|^authorization$|secret|password/.test(plainName(name));
}

function isPassable(value: unknown, token: string): boolean {
  if (!isFlatAndOpen(value, 0)) return false;
  return JSON.stringify(value).length <= MAX_PASSED_LENGTH && !shows(value, token);
}

/** Not so deep that writing it as JSON could fail, and without a member that names a secret. */
function isFlatAndOpen(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === MAX_PASSED_DEPTH) return false;
  return Object.entries(value).every(([name, one]) => !isSecretName(name) && isFlatAndOpen(one, depth + 1));
}

const MAX_PASSED_LENGTH = 4_096;
const MAX_PASSED_DEPTH = 4;
