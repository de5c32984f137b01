import { duplicateMember, isRecord, type Members, membersOf, parseJsonObject } from '../json.ts';
import type { ServiceName } from '../pair.ts';
import { Problem } from '../problem.ts';
import { Redacted, shows } from '../redacted.ts';
import type { BasicEncoding, Service } from '../service.ts';

/** The log-in of a client at a service. The client id is half of the log-in, so it is redacted too. */
export interface Credential {
  readonly clientId: Redacted;
  readonly secret: Redacted;
  /** The value of the `Authorization` header. */
  readonly authorization: Redacted;
  /** The headers that `clientHeaders` of the service names. */
  readonly headers: Readonly<Record<string, Redacted>>;
}

/**
 * Reads the credential for a service from a client's secret: `{ "client_id", "secret", "services" }`, and a member for
 * each of its `clientHeaders`. The service's entry in `services` overrides the top level. Ignores unknown members,
 * because rotation tools add their own. Only a single configured service makes `services` optional. A typing error must
 * not send a credential to other services.
 *
 * @throws Problem `credential-malformed` with the name of the wrong member and never its content, `credential-missing`
 * when the secret does not name this service
 */
export function parseCredential(
  text: Redacted,
  service: ServiceName,
  {
    basicEncoding,
    clientHeaders = [],
    isOnlyService,
  }: Pick<Service, 'basicEncoding' | 'clientHeaders'> & { readonly isOnlyService: boolean },
): Credential {
  const secret = parseJsonObject(text.reveal());
  if (secret === undefined) throw malformed(`the secret is ${notAnObject(text)}`);
  const twice = duplicateMember(text.reveal());
  if (twice !== undefined) {
    const name = [...ID_NAMES, ...SECRET_NAMES, 'services', service].includes(twice) ? twice : 'a member';
    throw malformed(`${name} appears more than once`);
  }
  const levels = { [`services.${service}.`]: entryOf(secret, service, isOnlyService), '': secret };
  const clientId = readPart(ID_NAMES, levels);
  const password = readPart(SECRET_NAMES, levels);
  const authorization = basicAuthorization(clientId, password, basicEncoding);
  const headers = clientHeaders.map((name) => {
    const value = readPart([name, ...spellingsOf(name, levels)], levels);
    if (!/^[!-~](?:[ -~]*[!-~])?$/.test(value)) throw malformed(`${name} cannot be the value of a header`);
    return [name, new Redacted(value)] as const;
  });
  return {
    clientId: new Redacted(clientId),
    secret: new Redacted(password),
    authorization,
    headers: Object.fromEntries(headers),
  };
}

/** Describes a text that is not a JSON object, with the blank or invisible character that may be the reason. */
export function notAnObject(text: Redacted): string {
  const hidden = named(/(?! )[\p{Cf}\p{Z}]/u.exec(text.reveal()));
  return `not a JSON object such as {"client_id":"…","secret":"…"}${hidden && `: it ${hidden}`}`;
}

function named(match: RegExpExecArray | null): string {
  const codePoint = match?.[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return codePoint ? `contains U+${codePoint}, which is not visible` : '';
}

/** Returns whether the two Basic encodings differ for a credential. */
export function dependsOnEncoding({ clientId, secret }: Credential): boolean {
  return /[^\w.*-]/.test(clientId.reveal() + secret.reveal());
}

/** Returns whether a value repeats a secret, or a short secret together with its client id (`shows`). */
export function repeatsCredential(value: unknown, credential: Credential): boolean {
  const id = credential.clientId.reveal();
  return secretsOf(credential).some((text) => shows(value, text, [`${id}:${text}`, `${text}:${id}`]));
}

/** Returns all secret texts of a credential but its client id. */
export function secretsOf({ secret, headers }: Credential): readonly string[] {
  return [secret, ...Object.values(headers)].map((text) => text.reveal());
}

/** Returns whether a client's secret is for the service. For `undefined`, `parseCredential` reports what is wrong. */
export function namesService(text: Redacted, service: ServiceName): boolean | undefined {
  const secret = parseJsonObject(text.reveal());
  const services = secret && servicesOf(secret);
  return services && (services === 'all' || Object.hasOwn(services, service));
}

/**
 * Returns when the issuer ends the credential for a service (RFC 3339), or `never`. The service's entry overrides the
 * top level. Anything but epoch seconds is `malformed`, which is no end, so that a mistake stops no client.
 *
 * @see RFC 7591 §3.2.1 `client_secret_expires_at`
 */
export function credentialExpiry(text: Redacted, service: ServiceName): string {
  const secret = membersOf(parseJsonObject(text.reveal()));
  const { client_secret_expires_at: seconds = 0 } = { ...secret, ...membersOf(membersOf(secret.services)[service]) };
  if (seconds === 0) return 'never';
  const isTime = typeof seconds === 'number' && seconds % 1 === 0 && seconds > 0 && seconds <= YEAR_9999_S;
  return isTime ? new Date(seconds * 1_000).toISOString() : 'malformed';
}

/** A larger number is probably in milliseconds. */
const YEAR_9999_S = 253_402_300_799;

const ID_NAMES = ['client_id', 'username'] as const;
const SECRET_NAMES = ['secret', 'client_secret', 'password'] as const;

/** Returns the members of a secret that are only for this service. */
function entryOf(secret: Members, service: ServiceName, isOnlyService: boolean): Members {
  if (!isOnlyService && secret.services === undefined) throw malformed(SERVICES_MISSING);
  const services = servicesOf(secret);
  if (services === undefined) throw malformed('services is not an object or an array of names');
  if (services === 'all') return {};
  if (!Object.hasOwn(services, service)) {
    const advice = 'An operator must add it to "services" if the client has a credential for it.';
    throw new Problem('credential-missing', `The secret does not name the service ${service}. ${advice}`);
  }
  const entry = services[service];
  if (!isRecord(entry)) throw malformed(`services.${service} is not an object`);
  return entry;
}

const SERVICES_MISSING =
  'it does not list its services, and more than one service is configured: add "services": ["<service>"], or "services": "all"';

/** Returns the services that a secret names, with their members, or `undefined` if they are malformed. */
function servicesOf({ services = 'all' }: Members): Members | 'all' | undefined {
  if (services === 'all' || isRecord(services)) return services;
  const areNames = Array.isArray(services) && services.every((name) => typeof name === 'string');
  return areNames ? Object.fromEntries(services.map((name) => [name, {}])) : undefined;
}

/** A header has the same name in any case, and rotation tools may write it otherwise than the settings. */
function spellingsOf(header: string, levels: Readonly<Record<string, Members>>): readonly string[] {
  const names = Object.values(levels).flatMap((members) => Object.keys(members));
  return names.filter((name) => name !== header && name.toLowerCase() === header.toLowerCase());
}

function readPart(names: readonly [string, ...string[]], levels: Readonly<Record<string, Members>>): string {
  for (const [path, members] of Object.entries(levels)) {
    const found = names.filter((name) => Object.hasOwn(members, name));
    const parts = found.map((name) => checkPart(`${path}${name}`, members[name]));
    if (new Set(parts).size > 1) {
      throw malformed(`${found.map((name) => `${path}${name}`).join(' and ')} contradict each other`);
    }
    if (parts[0] !== undefined) return parts[0];
  }
  throw malformed(`${names[0]} is missing`);
}

function checkPart(member: string, value: unknown): string {
  if (typeof value !== 'string') throw malformed(`${member} is not a string`);
  if (value === '') throw malformed(`${member} is empty`);
  const hidden = named(HIDDEN.exec(value));
  if (hidden) throw malformed(`${member} ${hidden}`);
  if (new TextEncoder().encode(value).length > 4_096) throw malformed(`${member} is longer than 4096 bytes`);
  return value;
}

/** Characters that look like nothing or like a blank, except the blank itself and joiners of scripts and of emoji. */
const HIDDEN = /(?![ \u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Z}\u2800]/u;

/**
 * Refuses a colon in a raw client id: the service would split it. @see RFC 7617 §2 for `raw`, RFC 6749 §2.3.1 for
 * `form`
 */
function basicAuthorization(user: string, password: string, encoding: BasicEncoding): Redacted {
  if (encoding === 'raw' && user.includes(':')) {
    throw malformed('the client id contains a colon, which only the form encoding supports (basicEncoding: "form")');
  }
  const formEncode = (part: string) => new URLSearchParams({ '': part }).toString().slice('='.length);
  const parts = encoding === 'raw' ? [user, password] : [user, password].map(formEncode);
  // `btoa` takes bytes as characters up to U+00FF.
  const bytes = Array.from(new TextEncoder().encode(parts.join(':')), (byte) => String.fromCharCode(byte));
  return new Redacted(`Basic ${btoa(bytes.join(''))}`);
}

function malformed(what: string): Problem {
  return new Problem('credential-malformed', `The stored credential cannot be used: ${what}.`);
}
