/**
 * Turns `accessToken`, `access_token`, `Access-Token` and `access.token` into one name, and a too long name into
 * `""`.
 */
export function plainName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? '' : plainText(name);
}

export function plainText(text: string): string {
  return text.toLowerCase().replace(/[-_. ]/g, '');
}

export const MAX_NAME_LENGTH = 64;

const SESSION_NAMES = ['sessiontoken', 'sessionid', 'sessionkey', 'session', 'sid', 'ticket'];

/**
 * The plain names of members that contain a token, in search order: `access_token` (RFC 6749 §5.1), `token`,
 * `id_token` (OpenID Connect Core §3.1.3.3), other tokens, sessions.
 */
export const TOKEN_NAMES: readonly string[] = [
  ...['accesstoken', 'token', 'idtoken', 'jwt', 'jwttoken', 'bearertoken', 'authtoken', 'authenticationtoken'],
  ...['authorizationtoken', 'apitoken', 'oauthtoken', 'securitytoken', 'servicetoken', 'clienttoken', 'usertoken'],
  ...['logintoken', 'xauthtoken', 'tokenvalue', 'tokenstring', 'bearer', 'authorization', 'access', ...SESSION_NAMES],
];

/** Members that accompany a token. Their different values do not contradict it. */
export const COMPANIONS: ReadonlySet<string> = new Set(['idtoken', 'authorization', 'access', ...SESSION_NAMES]);

/** Ambiguous names (`"access": "granted"`), whose value must look like a token. */
export const VAGUE_NAMES: ReadonlySet<string> = new Set(['access', 'authorization', 'bearer', 'session', 'ticket']);

/** Whether a name means a moment (`expires_at`) or a length of time (`expires_in`), and in which unit. */
export interface ExpiryMeaning {
  readonly isMoment: boolean;
  readonly unitMs: number;
}

/**
 * Returns the meaning of a member's name if it names an expiry: `expires_in`, `ttl`, `valid_until` …, in all spellings.
 * The name may begin with the token's name (`accessTokenExpiresAt`) and end with `ms` (`expiresInMs`).
 */
export function expiryNameOf(name: string): ExpiryMeaning | undefined {
  const bare = plainName(name).replace(TOKEN_PREFIX, '');
  const [, stem = bare, milliseconds] = UNIT_SUFFIX.exec(bare) ?? [];
  const isMoment = MOMENT.test(stem);
  return isMoment || LENGTH.test(stem) ? { isMoment, unitMs: milliseconds === undefined ? 1_000 : 1 } : undefined;
}

/** Does the same for a header. `expires` and `cache-control` are about the answer, not the token (RFC 9111 §5). */
export function expiryHeaderOf(header: string): ExpiryMeaning | undefined {
  const name = plainName(header).replace(/^x/, '');
  return name === 'expiresin' || name === 'expiresat' || TOKEN_PREFIX.test(name) ? expiryNameOf(name) : undefined;
}

const TOKEN_PREFIX = /^(?:(?:access|api|auth|bearer|security|session)?token|access|auth|jwt|session)/;
const UNIT_SUFFIX = /^(.+?)(?:in)?(?:(ms|millis|milliseconds)|secs?|seconds?)$/;

const LENGTH =
  /^(?:expir(?:es?|y|ation)(?:in|after)?|expiredin|ttl|timetolive|valid(?:for|ityperiod)|life(?:time|span)|maxage|(?:time|seconds)(?:to|until)expir[ey])$/;

const MOMENT =
  /^(?:expir(?:es?|ed|y|ation)(?:at|on|date|time|stamp|utc|instant)+|valid(?:until|till|to)|notafter|exp)$/;
