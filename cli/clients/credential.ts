import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { aborted, CommandFailure } from '../../client/commands/failure.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import {
  credentialExpiry,
  dependsOnEncoding,
  notAnObject,
  parseCredential,
  secretsOf,
} from '../../functions/broker/credential/credential.ts';
import { duplicateMember, isRecord, type Members, parseJsonObject } from '../../functions/broker/json.ts';
import { servicesOf } from '../../functions/broker/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import { localWords, settingsOf } from '../shared/settings.ts';
import { ask } from './confirm.ts';

/** Reads a new secret: asks at a terminal, where the secret is hidden, otherwise reads JSON from standard input. */
export async function readCredential(shell: Shell, headers: readonly string[] = [], isOptional = false) {
  if (!shell.stdin.isTTY) return readInput(shell, headers, isOptional);
  note(shell, 'The secret is not shown while you type it.');
  const hidden = ['secret', ...headers].map((name) => ({ text: `${name}: `, isHidden: true }));
  const [client_id, ...secrets] = await ask(shell, [{ text: 'client_id: ' }, ...hidden]);
  const members = ['secret', ...headers].map((name, index) => [name, secrets[index]] as const);
  return new Redacted(JSON.stringify({ client_id, ...Object.fromEntries(members) }));
}

/** Returns the names of the headers whose values a client's secret contains for the services. */
export function headersOf(shell: Shell, environment: string, services: readonly string[]): readonly string[] {
  const settings = settingsOf(environment)?.services;
  const localOf = (service: string) => localWords(shell, 'TOKEN_BROKER_CLIENT_HEADERS', service);
  return [...new Set(services.flatMap((name) => settings?.[name]?.clientHeaders ?? localOf(name)))];
}

async function readInput(shell: Shell, headers: readonly string[], isOptional: boolean) {
  note(shell, `Reading the credential from standard input, as JSON: ${formWith(headers)}`);
  const stop = () => shell.stdin.destroy(aborted());
  shell.signal.addEventListener('abort', stop, { once: true });
  const bytes = await buffer(shell.stdin).finally(() => shell.signal.removeEventListener('abort', stop));
  if (bytes.length > MAX_SECRET_BYTES) {
    throw unusable(`it is longer than ${MAX_SECRET_BYTES} bytes, the limit of a secret`);
  }
  if (!isUtf8(bytes)) throw unusable('it is not UTF-8');
  const text = new TextDecoder().decode(bytes);
  if (text.trim() !== '') return new Redacted(text);
  if (isOptional) return undefined;
  throw new CommandFailure('no-credential', 'Nothing came from standard input', adviceWith(headers));
}

/** The limit of Secrets Manager. */
const MAX_SECRET_BYTES = 65_536;

/**
 * Writes the credential's services into the text: `said` if given, otherwise those in the JSON, otherwise those of the
 * tag. Checks that the broker could send it to each service, and whether a part has blanks around it.
 */
export function prepareCredential(
  text: Redacted,
  said: string | undefined,
  { shell, environment, configured, tagged, expires }: Place,
) {
  const typed = parseJsonObject(text.reveal());
  if (typed === undefined) throw unusable(`it is ${notAnObject(text)}`);
  const { client_secret_expires_at: expiry = expires } = typed;
  const secret = expiry === undefined ? typed : { ...typed, client_secret_expires_at: expiry };
  // Writing the JSON again would drop a duplicate member, and hide it from the broker's own check.
  if (duplicateMember(text.reveal()) !== undefined) throw unusable('a member occurs more than once');
  const named = namedServices(secret);
  const services = said ?? named ?? tagged;
  const allowed = servicesOf(said, configured);
  const own = servicesOf(named, allowed);
  if (own.length === 0 || own.some((name) => !allowed.includes(name))) {
    throw unusable('its member services names no service, or a service that the client does not get (--services)');
  }
  const prepared = withServices(secret, services, configured);
  const names = servicesOf(services, configured);
  const parts = names.map((service) => readAs(prepared, service, { shell, environment }));
  const words = parts.flatMap((part) => [part.clientId.reveal(), ...secretsOf(part)]);
  const invisible = [...new Set(words.flatMap((word) => word.match(INVISIBLE) ?? []))];
  const codes = invisible.map((sign) => `U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`);
  const blanks = [
    ...(words.some((word) => word !== word.trim()) ? [HAS_BLANKS] : []),
    ...(codes.length > 0 ? [`also stores the invisible ${codes.join(', ')} in the client_id or the secret`] : []),
  ];
  const expiries = [...new Set(names.map((service) => credentialExpiry(prepared, service)))].toSorted().join(' ');
  return { text: prepared, services, blanks, expiries, differs: parts.some(dependsOnEncoding) };
}

const HAS_BLANKS = 'also stores the blank with which the client_id or the secret begins or ends';

/** Signs that look like nothing and are sent, such as the joiners of an emoji. The broker refuses others. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

interface Place {
  readonly shell: Shell;
  readonly environment: string;
  readonly configured: readonly string[];
  readonly tagged: string;
  /** The end of the option `--expires`, in epoch seconds. */
  readonly expires: number | undefined;
}

/** Returns the services that the JSON names, in the form of the tag, or `undefined` without such a member. */
function namedServices({ services }: Members): string | undefined {
  if (services === undefined || services === 'all') return services;
  if (Array.isArray(services)) return services.join(' ');
  if (isRecord(services)) return Object.keys(services).join(' ');
  throw unusable('services is not an object, an array of names or "all"');
}

/** Writes the services into the JSON, and keeps its own members for each service. */
function withServices(secret: Members, names: string, configured: readonly string[]): Redacted {
  const { services } = secret;
  const entries = new Map(isRecord(services) ? Object.entries(services) : []);
  const kept = Object.fromEntries(servicesOf(names, configured).map((name) => [name, entries.get(name) ?? {}]));
  return new Redacted(JSON.stringify({ ...secret, services: names === 'all' && entries.size === 0 ? 'all' : kept }));
}

/** Returns the credential that the broker would send to the service. @throws CommandFailure if it cannot be used */
export function readAs(text: Redacted, service: string, { shell, environment }: Pick<Place, 'shell' | 'environment'>) {
  // Without the service's settings: `form` accepts every credential that any encoding can carry.
  const { basicEncoding = 'form' } = settingsOf(environment)?.services[service] ?? {};
  const clientHeaders = headersOf(shell, environment, [service]);
  try {
    return parseCredential(text, service, { basicEncoding, clientHeaders, isOnlyService: true });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw unusable(error.detail.replace(/^.*cannot be used: /, '').replace(/\.$/, ''), clientHeaders);
  }
}

function unusable(what: string, headers?: readonly string[]): CommandFailure {
  return new CommandFailure('credential-malformed', `The credential cannot be used: ${what}`, adviceWith(headers));
}

function adviceWith(headers?: readonly string[]): string {
  const asked = 'as JSON on standard input, or run the command at a terminal to be asked';
  return `Nothing was stored. Pass ${formWith(headers)} ${asked}.`;
}

function formWith(headers: readonly string[] = []): string {
  return `{${['client_id', 'secret', ...headers].map((name) => `"${name}": "…"`).join(', ')}}`;
}
