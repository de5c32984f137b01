import { type MemberPath, plainName } from './members.ts';

/**
 * The name under which a member would hold a token, undefined when its name is no such name. Inside of `accessToken` or
 * `access`, a `value`, `token` or `jwtToken` is that access token.
 */
export function tokenNameOf(path: MemberPath): string | undefined {
  const name = plainName(path.at(-1) ?? '');
  const outer = plainName(path.slice(0, -1).findLast((step) => step !== '0') ?? '');
  if (NAMES_WITHIN.has(name) && NAMES_AROUND.has(outer)) return outer === 'access' ? 'accesstoken' : outer;
  return RANKS.has(name) ? name : undefined;
}

/** The place of a name in the search; the lowest is searched first. */
export function rankOf(tokenName: string): number {
  return RANKS.get(tokenName) ?? RANKS.size;
}

/** Whether the search knows this name. */
export function isTokenName(name: string): boolean {
  return RANKS.has(plainName(name));
}

/** Whether such a member comes along with tokens without being one, so that it does not contradict them. */
export function isCompanion(tokenName: string): boolean {
  return COMPANIONS.has(tokenName);
}

/** Whether the word also means something else (`"access": "granted"`): only what looks like a token is taken for one. */
export function isVague(tokenName: string): boolean {
  return VAGUE_NAMES.has(tokenName);
}

const RANKS: ReadonlyMap<string, number> = new Map(
  [
    ...['accesstoken', 'token', 'idtoken', 'jwt', 'jwttoken', 'bearertoken', 'authtoken', 'authenticationtoken'],
    ...['authorizationtoken', 'apitoken', 'oauthtoken', 'securitytoken', 'servicetoken', 'clienttoken', 'usertoken'],
    ...['logintoken', 'xauthtoken', 'tokenvalue', 'tokenstring', 'bearer', 'authorization', 'access'],
    ...['sessiontoken', 'sessionid', 'sessionkey', 'session', 'sid', 'ticket'],
  ].map((name, rank) => [name, rank]),
);

const COMPANIONS: ReadonlySet<string> = new Set([
  ...['idtoken', 'authorization', 'access', 'sessiontoken', 'sessionid', 'sessionkey', 'session', 'sid', 'ticket'],
]);

const VAGUE_NAMES: ReadonlySet<string> = new Set(['access', 'authorization', 'bearer', 'session', 'ticket']);

const NAMES_WITHIN: ReadonlySet<string> = new Set(['value', 'token', 'jwt', 'jwttoken', 'tokenvalue', 'tokenstring']);

const NAMES_AROUND: ReadonlySet<string> = new Set([
  ...['access', 'accesstoken', 'token', 'idtoken', 'jwt', 'bearertoken', 'authtoken', 'apitoken', 'sessiontoken'],
]);
