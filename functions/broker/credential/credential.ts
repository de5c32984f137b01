import type { ServiceName } from '../pair/pair.ts';
import { Problem } from '../problem.ts';
import { Redacted } from '../redacted.ts';

/** What the broker authenticates with at a service. The client id is kept out of sight too: it is half of a log-in. */
export interface Credential {
  readonly clientId: Redacted;
  readonly secret: Redacted;
}

/**
 * Reads the credential for one service out of a client's secret:
 * `{ "client_id", "secret", "services"?: { "<service>": { … } } }`, where `username` may stand for `client_id` and
 * `client_secret` or `password` for `secret`. What the service's own entry has wins, what it leaves out comes from the
 * top level. Other members are tolerated, because tools that rotate secrets add their own.
 *
 * @throws Problem `credential-malformed`, naming the member that is wrong and none of its content
 */
export function parseCredential(text: Redacted, service: ServiceName): Credential {
  const secret = parseObject(text);
  const own = serviceEntry(secret, service);
  return { clientId: readPart(CLIENT_ID, secret, own), secret: readPart(SECRET, secret, own) };
}

interface Members {
  /** How the object is named in a message: empty for the top level, else a dotted path that ends in a dot. */
  readonly path: string;
  readonly values: ReadonlyMap<string, unknown>;
}

/** A part of a credential has several names in the world; the first is the one to recommend. */
const CLIENT_ID = ['client_id', 'username'] as const;
const SECRET = ['secret', 'client_secret', 'password'] as const;

const MAX_PART_BYTES = 4_096;

function parseObject(text: Redacted): Members {
  const members = membersOf('', parseJson(text));
  if (members === undefined) {
    throw malformed('the secret is not a JSON object such as {"client_id":"…","secret":"…"}');
  }
  return members;
}

/** The parser's own error quotes the text that it stumbled over, so it is dropped. */
function parseJson(text: Redacted): unknown {
  try {
    return JSON.parse(text.reveal());
  } catch {
    return undefined;
  }
}

function serviceEntry(secret: Members, service: ServiceName): Members | undefined {
  const services = secret.values.get('services');
  if (services === undefined) return undefined;

  const entries = membersOf('services.', services);
  if (entries === undefined) throw malformed('services is not an object');
  if (!entries.values.has(service)) return undefined;

  const entry = membersOf(`services.${service}.`, entries.values.get(service));
  if (entry === undefined) throw malformed(`services.${service} is not an object`);
  return entry;
}

/** A map, so that a service called `constructor` is not found where nobody put it. */
function membersOf(path: string, value: unknown): Members | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return { path, values: new Map(Object.entries(value)) };
}

function readPart(names: readonly [string, ...string[]], secret: Members, own: Members | undefined): Redacted {
  const part = (own && findPart(names, own)) ?? findPart(names, secret);
  if (part === undefined) throw malformed(`${names[0]} is missing`);
  return new Redacted(part);
}

function findPart(names: readonly string[], { path, values }: Members): string | undefined {
  const found = names.filter((name) => values.has(name));
  const parts = found.map((name) => checkPart(`${path}${name}`, values.get(name)));
  if (new Set(parts).size > 1) {
    throw malformed(`${found.map((name) => `${path}${name}`).join(' and ')} contradict each other`);
  }
  return parts[0];
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

function malformed(what: string): Problem {
  return new Problem('credential-malformed', `The stored credential cannot be used: ${what}.`);
}
