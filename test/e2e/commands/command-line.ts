import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AwsKey } from '../../../bin/local/aws/server.ts';

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the command line as a process of its own, with nothing of this machine's AWS set-up in reach. */
export function startCommandLine(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawn(process.execPath, [PROGRAM, ...args], { env: { ...ISOLATED, ...env } });
}

/** The environment of a shell that has AWS credentials and no other set-up. */
export const ISOLATED = {
  HOME: '/nonexistent',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'marked-secret-access-key',
  AWS_SESSION_TOKEN: 'marked-session-token',
};

/** The key of that shell, for the stand-ins of AWS. */
export const SHELL_KEY: AwsKey = {
  role: 'arn:aws:iam::111111111111:role/operator',
  accessKeyId: ISOLATED.AWS_ACCESS_KEY_ID,
  secretAccessKey: ISOLATED.AWS_SECRET_ACCESS_KEY,
  sessionToken: ISOLATED.AWS_SESSION_TOKEN,
  mayReadSecrets: true,
};

/** Runs the command line to its end, with `input` on its standard input. */
export async function runCommandLine(
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
  input = '',
): Promise<Finished> {
  const child = startCommandLine(args, env);
  // A command that reads no input may have ended before it is written.
  child.stdin.on('error', () => undefined).end(input);
  return finished(child);
}

/** Waits for the end of a started command line. */
export async function finished(child: ChildProcessWithoutNullStreams): Promise<Finished> {
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const [exitCode] = await once(child, 'close');
  return { exitCode, ...output };
}

/** The text of stderr without the progress lines, which appear only on a busy machine. */
export function withoutProgress(stderr: string): string {
  return stderr.replace(/^(?:Checking|Looking at the versions): .*\n/gm, '');
}

export const PROGRAM = fileURLToPath(new URL('../../../bin/token-broker.ts', import.meta.url));
