import { parseCredential } from '../../functions/broker/credential/credential.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import type { Environment } from '../../lib/settings.ts';
import { aborted, CommandFailure } from './failure.ts';
import { askHidden } from './hidden-prompt.ts';
import { talk } from './output.ts';

/** The text of a new secret: from a hidden prompt at a terminal, else as JSON from standard input. */
export async function readCredential(signal: AbortSignal): Promise<Redacted> {
  if (!process.stdin.isTTY) return readInput(signal);
  if (!process.stderr.isTTY) {
    throw new CommandFailure(
      'no-credential',
      'There is a keyboard but no screen to ask on: stderr is not a terminal',
      'Do not redirect stderr, or pipe the credential in as JSON.',
    );
  }
  const terminal = { input: process.stdin, output: process.stderr };
  talk('What you type is not shown.');
  const [client_id, secret] = await askHidden(['client_id', 'secret'], terminal);
  return new Redacted(JSON.stringify({ client_id, secret }));
}

async function readInput(signal: AbortSignal): Promise<Redacted> {
  talk('Reading the credential from standard input, as JSON: {"client_id": "…", "secret": "…"}');
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = () => process.stdin.destroy(aborted());
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of process.stdin) {
      bytes += chunk.length;
      if (bytes > MAX_SECRET_BYTES) {
        throw unusable(`it is longer than ${MAX_SECRET_BYTES} bytes, which is all that a secret can hold`);
      }
      chunks.push(chunk);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  const text = decode(Buffer.concat(chunks));
  if (text.trim() === '') {
    throw new CommandFailure('no-credential', 'Nothing came from standard input', CREDENTIAL_ADVICE);
  }
  return new Redacted(text);
}

/** Secrets Manager's limit. */
const MAX_SECRET_BYTES = 65_536;

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unusable('it is not UTF-8');
  }
}

/** Finds out before anything is stored whether the broker could send the text to each of the services. */
export function checkCredential(text: Redacted, services: readonly string[], settings: Environment | undefined): void {
  for (const service of services) {
    // Of a service whose settings are not at hand, what one of the encodings can carry may be right.
    const encoding = settings?.services[service]?.basicEncoding ?? 'form';
    try {
      parseCredential(text, service, encoding);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw unusable(error.detail.replace(/^.*cannot be used: /, '').replace(/\.$/, ''));
    }
  }
}

function unusable(what: string): CommandFailure {
  return new CommandFailure('credential-malformed', `The credential cannot be used: ${what}`, CREDENTIAL_ADVICE);
}

const CREDENTIAL_ADVICE =
  'Nothing was stored. Give {"client_id": "…", "secret": "…"} as JSON on standard input, or run the command at a terminal to be asked.';
