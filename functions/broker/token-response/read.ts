import type { Warning } from '../../vocabulary.ts';
import { type Credential, repeatsCredential } from '../credential/credential.ts';
import { membersOf } from '../json.ts';
import { Problem } from '../problem.ts';
import { Redacted, shows } from '../redacted.ts';
import type { Service } from '../service.ts';
import { type Content, openText, readContent, type TokenResponse } from './content.ts';
import { type Expiry, type RequestTimes, readExpiry } from './expiry.ts';
import { type FoundToken, findToken } from './find-token.ts';
import { type Answer, type Level, listMembers, memberAt, UnusableAnswer } from './members.ts';
import { MAX_NAME_LENGTH, plainName } from './names.ts';
import { createPathPrinter, shapeOf } from './shape.ts';
import { oauthErrorOf, type Refusal, readStatus } from './status.ts';

export type TokenResponseReading =
  | { readonly outcome: 'token'; readonly token: ServiceToken; readonly warnings: readonly Warning[] }
  /** `lapsed`: the token had expired when it arrived. */
  | (Refusal & { readonly lapsed?: Redacted | undefined });

/** A token as its service returned it. */
export interface ServiceToken extends Expiry {
  readonly accessToken: Redacted;
  readonly tokenType: string;
  readonly scope?: string | undefined;
  /** The members that `passThrough` names, as the service returned them. */
  readonly passThrough: Readonly<Record<string, unknown>>;
}

/**
 * Reads a token endpoint's answer to a request with the credential (RFC 6749 §5). Never throws. A problem contains no
 * value of the answer. A success without a usable token is held.
 */
export function readTokenResponse(
  response: TokenResponse,
  times: RequestTimes,
  service: Service,
  credential: Credential,
): TokenResponseReading {
  const content = readContent(response);
  const print = createPathPrinter(content.value, credential);
  const answer = { response, content, members: listMembers(content), print };
  const refusal = readStatus(answer, times.receivedAt, service);
  if (refusal !== undefined) return refusal;
  try {
    const { tokenMember, tokenHeader, passThrough } = service.response;
    const isWholeText = tokenMember === '$' && content.value !== undefined;
    if (content.doubt !== undefined && tokenHeader === undefined && !isWholeText)
      throw new UnusableAnswer(content.doubt);
    // An error in a success has no defined meaning. Without a word that says so, it is no rejection.
    const errors = ['error', 'errors'].map((name) => memberAt(content, name)?.value);
    if (!errors.every(isNoError)) {
      const error = oauthErrorOf(errors[0]) ?? 'an error';
      throw new UnusableAnswer(`it reports ${error}, although its status says success.`);
    }
    const token = findToken(answer, service.response);
    if (repeatsCredential(token.text, credential)) {
      throw new UnusableAnswer('where its token should be, it repeats the credential.');
    }
    const { warnings, ...expiry } = readExpiry(token, answer, times, service);
    const { extras, hasEcho } = readExtras(token, answer, passThrough, credential);
    return {
      outcome: 'token',
      token: { ...expiry, accessToken: new Redacted(token.text), ...extras },
      warnings: hasEcho ? [...warnings, 'credential-echoed'] : warnings,
    };
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
    const detail = `The answer of the token endpoint (${response.status}) is unusable: ${error.message}`;
    const problem = new Problem('token-response-unusable', detail, { shape: shapeOf(response, content, print) });
    return { outcome: 'held', problem, lapsed: error.lapsed };
  }
}

/** Returns whether an error, or its `code`, means success: `null`, `""`, `0`, `"ok"` and `{}` accompany good tokens. */
function isNoError(value: unknown): boolean {
  const { code = value } = membersOf(value);
  if (typeof code === 'object' && code !== null) return Object.keys(code).length === 0;
  return !code || /^(?:0|false|null|none|no error|ok|success)$/i.test(`${code}`);
}

/** Reads the extras. Omits values that repeat the credential, and reports them as `hasEcho`. */
function readExtras(
  { around, text }: FoundToken,
  { content }: Answer,
  names: readonly string[],
  credential: Credential,
) {
  // A client id may be part of a scope or an address. A value that equals it is not passed on.
  const clientId = credential.clientId.reveal();
  const mayShow = (value: unknown) => value !== clientId && !repeatsCredential(value, credential);
  const [type, scope] = [readTokenType(around, text), readScope(around, text)];
  const [showsType, showsScope] = [mayShow(type), mayShow(scope)];
  const passed = readPassThrough(content, names, text);
  const shown = passed.filter(([, value]) => mayShow(value));
  const extras = {
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
function readPassThrough(content: Content, names: readonly string[], token: string) {
  const isPassable = (name: string, value: unknown) =>
    isFlatAndOpen(name, value, 0) && JSON.stringify(value).length <= 4_096 && !shows(value, token);
  return names.flatMap((setting) => {
    const { path, value } = memberAt(content, setting) ?? {};
    const name = path?.at(-1);
    return name !== undefined && isPassable(name, value) ? [[setting, value] as const] : [];
  });
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
