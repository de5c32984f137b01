import type { Readable, Writable } from 'node:stream';
import type { defaultProvider } from '@aws-sdk/credential-provider-node';

/** A command's whole view of its process. */
export interface Shell {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For data. */
  readonly stdout: Output;
  /** For words to a person. */
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** From the AWS SDK's chain; rejects on Ctrl-C. */
  readonly credentials: ReturnType<typeof defaultProvider>;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** From here on SIGTERM aborts the signal too, instead of ending the process at once. */
  readonly heedTermination: () => void;
  /** The exit code of a command that did not fail otherwise. */
  exitCode: 0 | 1;
}

type Output = Writable & { readonly isTTY?: boolean };

/** The shell of this process, and the only code of a command line that knows it. */
export function processShell(): Shell {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const { stdin, stdout, stderr, env } = process;
  for (const stream of [stdout, stderr]) {
    // The reader of our output may stop early (`| head`), and then the rest has no reader.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream === stdout) stderr.write(`error: the output cannot be written (${error.code})\n`);
      process.exit(1);
    });
  }
  const { signal } = interrupted;
  const heedTermination = () => void process.once('SIGTERM', () => interrupted.abort());
  const credentials = standardCredentials(signal);
  return { stdin, stdout, stderr, env, credentials, signal, heedTermination, exitCode: 0 };
}

/** The standard chain, loaded when first needed. It may search for minutes, and hears no signal itself. */
function standardCredentials(signal: AbortSignal): Shell['credentials'] {
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  // It is no unhandled rejection when no search has begun.
  aborted.catch(() => undefined);
  let chain: Promise<Shell['credentials']> | undefined;
  return async (properties) => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider());
    return Promise.race([(await chain)(properties), aborted]);
  };
}

/** Ends this process with the exit code of a command. */
export function endProcess(exitCode: number): void {
  // An interrupted lookup of credentials must not keep the process alive.
  if (exitCode === INTERRUPTED) process.exit(exitCode);
  process.exitCode = exitCode;
}

/** As a shell expects it of Ctrl-C. */
export const INTERRUPTED = 130;
