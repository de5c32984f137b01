import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { type ReadAwsCredentials, standardAwsCredentials } from '../index.ts';

/** The complete view that a command has of its process. */
export interface Shell {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** The stream for data. */
  readonly stdout: Output;
  /** The stream for messages to a person. */
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The AWS SDK's chain of credentials. Rejects on Ctrl-C. */
  readonly credentials: ReadAwsCredentials;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** The exit code of a command that did not fail otherwise. */
  exitCode: 0 | 1;
}

type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number | undefined };

/** Returns the shell of this process. Commands reach the process only through it. */
export function processShell(): Shell {
  // Node's 250 ms for each address of a host are too short for another continent.
  setDefaultAutoSelectFamilyAttemptTimeout(2_000);
  const interrupted = new AbortController();
  const interrupt = () => {
    interrupted.abort();
    // A later signal ends the process at once. npm repeats a signal that the terminal has already sent.
    setTimeout(() => process.off('SIGINT', interrupt).off('SIGTERM', interrupt), REPEATED_SIGNAL_MS).unref();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const { stdin, stdout, stderr, env } = process;
  for (const stream of [stdout, stderr]) {
    // The reader of the output may stop early (`| head`), which is not a failure.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream === stdout) stderr.write(`error: the output cannot be written (${error.code})\n`);
      process.exit(1);
    });
  }
  const { signal } = interrupted;
  const credentials = standardCredentials(signal);
  return { stdin, stdout, stderr, env, credentials, signal, exitCode: 0 };
}

const REPEATED_SIGNAL_MS = 500;

/** Makes the SDK use `HTTPS_PROXY`, as the AWS CLI and the CDK do. */
export const PROXIED = { httpsAgent: { proxyEnv: process.env } };
const OPTIONS = { clientConfig: { requestHandler: PROXIED } };

/** Returns the standard chain, which may search for minutes and ignores signals. */
function standardCredentials(signal: AbortSignal): Shell['credentials'] {
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  // Avoids an unhandled rejection when no search has begun.
  aborted.catch(() => undefined);
  const chain = standardAwsCredentials(OPTIONS);
  return (properties) => Promise.race([chain(properties), aborted]);
}

/** Ends this process with the exit code of a command. */
export function endProcess(exitCode: number): void {
  process.exitCode = exitCode;
  if (exitCode === INTERRUPTED) process.exit();
  // A lookup of credentials that was given up must not keep the process alive. A pager may read the output late.
  const end = () => process.stdout.write('', () => process.stderr.write('', () => process.exit()));
  if (exitCode !== 0) setTimeout(end, 1_000).unref();
}

/** The exit code that a shell expects after Ctrl-C. */
export const INTERRUPTED = 130;
