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
 * Writes into the text which services the credential is for: those that are `said`, else those that it names itself; `all`
 * is told by naming none. Finds out before anything is stored whether the broker could send it to each of them.
 */
export function prepareCredential(
  text: Redacted,
  said: readonly string[] | 'all' | undefined,
  { environment, configured }: { readonly environment: string; readonly configured: readonly string[] },
): { readonly text: Redacted; readonly services: readonly string[] | 'all' } {
  const secret = parseJsonObject(text.reveal());
  // What is written anew keeps the last of two members, and the broker would see no second one.
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

/** What the JSON says for one of the services is kept. */
function withServices(secret: Readonly<Record<string, unknown>>, names: readonly string[]): Redacted {
  const { services } = secret;
  if (services !== undefined && namedServices(secret) === undefined) throw unusable('services is not an object');
  const entries = new Map(isRecord(services) ? Object.entries(services) : []);
  const kept = Object.fromEntries(names.map((name) => [name, entries.get(name) ?? {}]));
  return new Redacted(JSON.stringify({ ...secret, services: kept }));
}

function checkCredential(text: Redacted, service: string, environment: string): void {
  // Of a service whose settings are not at hand, what one of the encodings can carry may be right.
  const basicEncoding = settingsOf(environment)?.services[service]?.basicEncoding ?? 'form';
  try {
    parseCredential(text, service, { basicEncoding, isOnlyService: false });
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
