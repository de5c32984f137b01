import { duplicateMember, isRecord, parseJson } from '../json.ts';
import type { ServiceName } from '../pair/pair.ts';
import { Problem } from '../problem.ts';
import { Redacted, shows } from '../redacted.ts';
import type { BasicEncoding } from '../service.ts';

/** What the broker authenticates with at a service. The client id is kept out of sight too: it is half of a log-in. */
export interface Credential {
  readonly clientId: Redacted;
  readonly secret: Redacted;
  /** The value of the `Authorization` header, in the dialect that the service speaks. */
  readonly authorization: Redacted;
}

/**
 * Reads the credential for one service out of a client's secret: `{ "client_id", "secret", "services"? }`. What the
 * service's own entry in `services` has wins over the top level. Other members are those of tools that rotate secrets.
 *
 * @throws Problem `credential-malformed`, naming the member that is wrong and none of its content; `credential-missing`
 * when the secret names its services and this is none of them
 */
export function parseCredential(text: Redacted, service: ServiceName, encoding: BasicEncoding): Credential {
  const secret = membersOf('', parseJson(text.reveal()));
  if (secret === undefined) {
    throw malformed('the secret is not a JSON object such as {"client_id":"…","secret":"…"}');
  }
  const twice = duplicateMember(text.reveal());
  if (twice !== undefined) {
    const name = [...ID_NAMES, ...SECRET_NAMES, 'services', service].includes(twice) ? twice : 'a member';
    throw malformed(`${name} is given more than once`);
  }
  const levels = [...entryOf(secret, service), secret];
  const clientId = readPart(ID_NAMES, levels);
  const password = readPart(SECRET_NAMES, levels);
  const authorization = basicAuthorization(clientId, password, encoding);
  return { clientId: new Redacted(clientId), secret: new Redacted(password), authorization };
}

/** Whether a value repeats the secret, or a short one together with its client id (`shows`). */
export function repeatsCredential(value: unknown, { clientId, secret }: Credential): boolean {
  const [id, text] = [clientId.reveal(), secret.reveal()];
  return shows(value, text, [`${id}:${text}`, `${text}:${id}`]);
}

/** Whether a client's secret is for the service; `undefined` when it cannot be read, `parseCredential` then says why. */
export function namesService(text: Redacted, service: ServiceName): boolean | undefined {
  const secret = membersOf('', parseJson(text.reveal()));
  const services = secret && servicesOf(secret);
  return services === 'all' || services?.has(service);
}

const ID_NAMES = ['client_id', 'username'] as const;
const SECRET_NAMES = ['secret', 'client_secret', 'password'] as const;

interface Members {
  /** How the object is named in a message: empty for the top level, else a dotted path that ends in a dot. */
  readonly path: string;
  readonly values: ReadonlyMap<string, unknown>;
}

/** A map, so that a service called `constructor` is not found in a secret that does not name it. */
function membersOf(path: string, value: unknown): Members | undefined {
  return isRecord(value) ? { path, values: new Map(Object.entries(value)) } : undefined;
}

/** What a secret holds for a service alone. */
function entryOf(secret: Members, service: ServiceName): readonly Members[] {
  const services = servicesOf(secret);
  if (services === undefined) throw malformed('services is not an object or an array of names');
  if (services === 'all') return [];
  if (!services.has(service)) {
    const advice = 'An operator must add it to "services" if the client has a credential for it.';
    throw new Problem('credential-missing', `The secret does not name the service ${service}. ${advice}`);
  }
  const entry = membersOf(`services.${service}.`, services.get(service));
  if (entry === undefined) throw malformed(`services.${service} is not an object`);
  return [entry];
}

/** The services that a secret names, with what it holds for each of them alone; `undefined` when they are malformed. */
function servicesOf({ values }: Members): ReadonlyMap<string, unknown> | 'all' | undefined {
  const services = values.get('services');
  if (services === undefined || services === 'all') return 'all';
  if (!Array.isArray(services)) return membersOf('', services)?.values;
  return services.every((name) => typeof name === 'string') ? new Map(services.map((name) => [name, {}])) : undefined;
}

/** A part of a credential has several names in the world; the first is the one to recommend. */
function readPart(names: readonly [string, ...string[]], levels: readonly Members[]): string {
  for (const { path, values } of levels) {
    const found = names.filter((name) => values.has(name));
    const parts = found.map((name) => checkPart(`${path}${name}`, values.get(name)));
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
  if (/\p{Cc}/u.test(value)) throw malformed(`${member} holds a control character, for example a line break`);
  if (!value.isWellFormed()) throw malformed(`${member} is not well-formed Unicode`);
  if (new TextEncoder().encode(value).length > MAX_PART_BYTES) {
    throw malformed(`${member} is longer than ${MAX_PART_BYTES} bytes`);
  }
  return value;
}

const MAX_PART_BYTES = 4_096;

/** The service would split a raw client id at its colon. @see RFC 7617 §2 for `raw`, RFC 6749 §2.3.1 for `form` */
function basicAuthorization(user: string, password: string, encoding: BasicEncoding): Redacted {
  if (encoding === 'raw' && user.includes(':')) {
    throw malformed('the client id holds a colon, which only the form encoding can carry (basicEncoding: "form")');
  }
  const parts = encoding === 'raw' ? [user, password] : [user, password].map(formEncode);
  // `btoa` takes bytes as characters up to U+00FF.
  const bytes = Array.from(new TextEncoder().encode(parts.join(':')), (byte) => String.fromCharCode(byte));
  return new Redacted(`Basic ${btoa(bytes.join(''))}`);
}

function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice('='.length);
}

function malformed(what: string): Problem {
  return new Problem('credential-malformed', `The stored credential cannot be used: ${what}.`);
}
