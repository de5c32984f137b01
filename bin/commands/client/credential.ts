import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { aborted, CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { duplicateMember, isRecord, parseJsonObject } from '../../../functions/broker/json.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { namedServices } from '../shared/client-secret.ts';
import { settingsOf } from '../shared/environment.ts';
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
 * Writes the services of the credential into its text: those that are `said`, else its own; with `all` it names none.
 * Checks before anything is stored that the broker could send the credential to each of them.
 */
export function prepareCredential(
  text: Redacted,
  said: readonly string[] | 'all' | undefined,
  { environment, configured }: { readonly environment: string; readonly configured: readonly string[] },
): { readonly text: Redacted; readonly services: readonly string[] | 'all' } {
  const secret = parseJsonObject(text.reveal());
  // Written again, the JSON would lose a duplicate member, and the broker could not find it.
  if (secret !== undefined && duplicateMember(text.reveal()) !== undefined) {
    throw unusable('a member is given more than once');
  }
  const named = secret && namedServices(secret);
  const services = said ?? named ?? 'all';
  const allowed = said ?? configured;
  if (named?.length === 0 || named?.some((name) => allowed === 'all' || !allowed.includes(name))) {
    throw unusable('its member services names none, or others than the client is to have (--services)');
  }
  const prepared = services === 'all' || secret === undefined ? text : withServices(secret, services);
  for (const service of services === 'all' ? configured : services) checkCredential(prepared, service, environment);
  return { text: prepared, services };
}

/** Keeps the JSON's own members for each service. */
function withServices(secret: Readonly<Record<string, unknown>>, names: readonly string[]): Redacted {
  const { services } = secret;
  if (services !== undefined && namedServices(secret) === undefined) throw unusable('services is not an object');
  const entries = new Map(isRecord(services) ? Object.entries(services) : []);
  const kept = Object.fromEntries(names.map((name) => [name, entries.get(name) ?? {}]));
  return new Redacted(JSON.stringify({ ...secret, services: kept }));
}

function checkCredential(text: Redacted, service: string, environment: string): void {
  // Without the service's settings, accept each credential that one of the encodings can carry.
  const encoding = settingsOf(environment)?.services[service]?.basicEncoding ?? 'form';
  try {
    parseCredential(text, service, encoding);
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
