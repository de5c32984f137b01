import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { type Credential, parseCredential } from '../../../functions/broker/credential/credential.ts';
import { duplicateMember, isRecord, parseJsonObject } from '../../../functions/broker/json.ts';
import { servicesOf } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { settingsOf } from '../shared/settings.ts';
import { ask } from './confirm.ts';

/** The text of a new secret: asked for at a terminal, where only the secret is hidden, else as JSON from standard input. */
export async function readCredential(shell: Shell): Promise<Redacted> {
  if (!shell.stdin.isTTY) return readInput(shell);
  talk(shell, 'The secret is not shown while you type it.');
  const [client_id, secret] = await ask(shell, [{ text: 'client_id: ' }, { text: 'secret: ', isHidden: true }]);
  return new Redacted(JSON.stringify({ client_id, secret }));
}

async function readInput(shell: Shell): Promise<Redacted> {
  talk(shell, 'Reading the credential from standard input, as JSON: {"client_id": "…", "secret": "…"}');
  const stop = () => shell.stdin.destroy(aborted());
  shell.signal.addEventListener('abort', stop, { once: true });
  const bytes = await buffer(shell.stdin).finally(() => shell.signal.removeEventListener('abort', stop));
  if (bytes.length > MAX_SECRET_BYTES) {
    throw unusable(`it is longer than ${MAX_SECRET_BYTES} bytes, which is all that a secret can hold`);
  }
  if (!isUtf8(bytes)) throw unusable('it is not UTF-8');
  const text = new TextDecoder().decode(bytes);
  if (text.trim() !== '') return new Redacted(text);
  throw new CommandFailure('no-credential', 'Nothing came from standard input', CREDENTIAL_ADVICE);
}

/** Secrets Manager's limit. */
const MAX_SECRET_BYTES = 65_536;

/**
 * Writes into the text which services the credential is for: those that are `said`, as in a tag, else those that it names
 * itself, else those of the tag. Checks before anything is stored that the broker could send it to each of them, and whether a part of
 * it has blanks around it.
 */
export function prepareCredential(
  text: Redacted,
  said: string | undefined,
  { environment, configured, tagged }: { environment: string; configured: readonly string[]; tagged: string },
) {
  const secret = parseJsonObject(text.reveal());
  if (secret === undefined) throw unusable('it is not a JSON object');
  // Written again, the JSON would lose a duplicate member, and the broker could not find it.
  if (duplicateMember(text.reveal()) !== undefined) throw unusable('a member is given more than once');
  const named = namedServices(secret);
  const services = said ?? named ?? tagged;
  const allowed = servicesOf(said, configured);
  const own = servicesOf(named, allowed);
  if (own.length === 0 || own.some((name) => !allowed.includes(name))) {
    throw unusable('its member services names none, or others than the client is to have (--services)');
  }
  const prepared = withServices(secret, services, configured);
  const parts = servicesOf(services, configured).map((service) => readAs(prepared, service, environment));
  const words = parts.flatMap((part) => [part.clientId.reveal(), part.secret.reveal()]);
  const hasBlanks = words.some((word) => word !== word.trim());
  return { text: prepared, services, hasBlanks };
}

/** The services that the JSON names, as a tag does; `undefined` when it does not say. */
function namedServices({ services }: Readonly<Record<string, unknown>>): string | undefined {
  if (services === undefined || services === 'all') return services;
  if (Array.isArray(services)) return services.join(' ');
  if (isRecord(services)) return Object.keys(services).join(' ');
  throw unusable('services is not an object, an array of names or "all"');
}

/** Keeps the JSON's own members for each service. */
function withServices(
  secret: Readonly<Record<string, unknown>>,
  names: string,
  configured: readonly string[],
): Redacted {
  const { services } = secret;
  const entries = new Map(isRecord(services) ? Object.entries(services) : []);
  const kept = Object.fromEntries(servicesOf(names, configured).map((name) => [name, entries.get(name) ?? {}]));
  return new Redacted(JSON.stringify({ ...secret, services: names === 'all' && entries.size === 0 ? 'all' : kept }));
}

/** The credential that is sent to the service. @throws CommandFailure why there is none */
export function readAs(text: Redacted, service: string, environment: string): Credential {
  // Without the service's settings, accept each credential that one of the encodings can carry.
  const basicEncoding = settingsOf(environment)?.services[service]?.basicEncoding ?? 'form';
  try {
    return parseCredential(text, service, { basicEncoding, isOnlyService: true });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw unusable(error.detail.replace(/^.*cannot be used: /, '').replace(/\.$/, ''));
  }
}

function unusable(what: string): CommandFailure {
  return new CommandFailure('credential-malformed', `The credential cannot be used: ${what}`, CREDENTIAL_ADVICE);
}

const CREDENTIAL_ADVICE =
  'Nothing was stored. Give {"client_id": "…", "secret": "…"} as JSON on standard input, or run the command at a terminal to be asked.';
