import { type Credential, repeatsCredential } from '../credential/credential.ts';
import { shows } from '../redacted.ts';
import { openText } from './content.ts';
import type { FoundToken } from './find-token.ts';
import type { Level, Members } from './members.ts';
import { MAX_NAME_LENGTH, plainName } from './names.ts';

/** The parts of an answer that accompany its token. */
export interface Extras {
  readonly tokenType: string;
  readonly scope?: string | undefined;
  /** The members that `passThrough` names, as the service returned them. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/** Reads the extras. Omits values that repeat the credential, and reports them as `hasEcho`. */
export function readExtras({ around, text }: FoundToken, members: Members, credential: Credential) {
  // A client id may be part of a scope or an address. A value that equals it is not passed on.
  const clientId = credential.clientId.reveal();
  const mayShow = (value: unknown) => value !== clientId && !repeatsCredential(value, credential);
  const [type, scope] = [readTokenType(around, text), readScope(around, text)];
  const [showsType, showsScope] = [mayShow(type), mayShow(scope)];
  const passed = readPassThrough(members, text);
  const shown = passed.filter(([, value]) => mayShow(value));
  const extras: Extras = {
    tokenType: showsType ? type : 'Bearer',
    scope: showsScope ? scope : undefined,
    passThrough: Object.fromEntries(shown),
  };
  return { extras, hasEcho: !showsType || !showsScope || shown.length < passed.length };
}

/**
 * Returns the type, or `Bearer` if the type is missing, no word or the token (RFC 6749 §7.1, RFC 9110 §11.1). Apigee
 * writes `BearerToken`.
 */
function readTokenType(around: readonly Level[], token: string): string {
  const type = nearest(around, 'tokentype');
  const word = typeof type === 'string' ? type.trim() : '';
  const isScheme = /^[!#$%&'*+\-.^_`|~\w]{1,64}$/.test(word) && !/^bearer(?:[-_]?token)?$/i.test(word);
  return isScheme && !shows(word, token) ? word : 'Bearer';
}

/** Returns the granted scope, from a text or an array, or `undefined` if no scope may be shown (RFC 6749 §3.3). */
function readScope(around: readonly Level[], token: string): string | undefined {
  const given = nearest(around, 'scope') ?? nearest(around, 'scopes');
  const scope = Array.isArray(given) && given.every((part) => typeof part === 'string') ? given.join(' ') : given;
  return typeof scope === 'string' && /^[\x20-\x7e]{1,4096}$/.test(scope) && !shows(scope, token) ? scope : undefined;
}

function nearest(around: readonly Level[], plain: string): unknown {
  const entries = around.flatMap(({ members }) => Object.entries(members));
  return entries.find(([name, value]) => plainName(name) === plain && value !== null)?.[1];
}

/**
 * Returns the members that `passThrough` names, each under its path. Omits large and deep members, and members that
 * contain a token: the broker returns the token in one place only.
 */
function readPassThrough({ passThrough }: Members, token: string) {
  const isPassable = (name: string, value: unknown) =>
    isFlatAndOpen(name, value, 0) && JSON.stringify(value).length <= 4_096 && !shows(value, token);
  return passThrough.flatMap(([path, member]) =>
    member?.path.length && isPassable(member.path.at(-1) ?? '', member.value) ? [[path, member.value] as const] : [],
  );
}

/** Accepts values that are shallow enough for a JSON writer. Refuses names of secrets, and names too long to read. */
function isFlatAndOpen(name: string, written: unknown, depth: number): boolean {
  const value = openText(written);
  if (name.length > MAX_NAME_LENGTH || SECRET_NAME.test(plainName(name))) return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === MAX_PASSED_DEPTH) return false;
  return Object.entries(value).every(([inner, one]) => isFlatAndOpen(inner, one, depth + 1));
}

const SECRET_NAME = /token$|^jwt|^refresh|^bearer$|^authorization$|secret|password/;
const MAX_PASSED_DEPTH = 4;
