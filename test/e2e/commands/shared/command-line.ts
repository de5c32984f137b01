import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable, Writable, type WritableOptions } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, vi } from 'vitest';
import { runCommandLine as runInShell } from '../../../../cli/command-line.ts';
import type { Shell } from '../../../../client/commands/shell.ts';
import { SETTINGS_VARIABLE } from '../../../../lib/settings/names.ts';
import type { AwsKey } from '../../../../local/aws/server.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { type Answer, startLoopbackServer } from '../../../unit/client/loopback-server.ts';

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command must end: an expression is found in the output, a text is the whole of it. */
export function ended(exitCode: number, stdout: string | RegExp, stderr: string | RegExp = ''): Finished {
  const like = (told: string | RegExp) => (typeof told === 'string' ? told : expect.stringMatching(told));
  return { exitCode, stdout: like(stdout), stderr: like(stderr) };
}

/** The variables of a shell that has AWS credentials and no other set-up. */
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

/** Makes these the settings of the broker, until the end of the test. */
export function writeSettings(environments: object, organisation?: object): void {
  const file = path.join(temporaryFolder(), 'environments.json');
  writeFileSync(file, JSON.stringify({ environments, organisation }));
  vi.stubEnv(SETTINGS_VARIABLE, file);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** A server that plays the broker, or AWS, until the end of the test. */
export async function answering(answer: Answer) {
  const server = await startLoopbackServer(answer);
  onTestFinished(server.close);
  return server;
}

type Variables = Readonly<Record<string, string>>;

/** Runs the command line to its end, in this process, with `input` on its standard input. */
export function runCommandLine(args: readonly string[], env?: Variables, input = ''): Promise<Finished> {
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)], { objectMode: false });
  return beginCommandLine(args, env, stdin).finished;
}

/** Begins the command line in this process; `output` grows while it runs. */
export function beginCommandLine(args: readonly string[], variables?: Variables, stdin?: Shell['stdin']) {
  const { shell, output, interrupt } = openShell(variables, stdin);
  // `commander` reads the variables of options from the process.
  const setVariables = (env: Shell['env']) => {
    for (const name of ['URL', 'ENVIRONMENT', 'KMS_KEY_ID'].map((word) => `TOKEN_BROKER_${word}`))
      vi.stubEnv(name, env[name]);
  };
  setVariables(shell.env);
  running += 1;
  const run = async (): Promise<Finished> => {
    const exitCode = await runInShell(args, shell);
    running -= 1;
    if (running === 0) setVariables({});
    return { exitCode, stdout: output.stdout, stderr: withoutProgress(output.stderr) };
  };
  return { output, interrupt, finished: run() };
}

/** The number of commands that run in this process. */
let running = 0;

/** A shell for commands in this process, and its output so far. */
export function openShell(variables: Variables = {}, stdin: Shell['stdin'] = Readable.from([])) {
  const env: Shell['env'] = { ...ISOLATED, ...variables };
  const isTTY = stdin.isTTY ?? false;
  const interrupted = new AbortController();
  const output = { stdout: '', stderr: '', screen: '' };
  const streamTo = (name: 'stdout' | 'stderr') => {
    const write: WritableOptions['write'] = (chunk, _encoding, done) => {
      output[name] += chunk;
      output.screen += chunk;
      stdin.emit('shown', output.screen);
      done();
    };
    // A terminal has columns, a pipe has none.
    return Object.assign(new Writable({ write }), { isTTY, columns: Number(variables.COLUMNS) || undefined });
  };
  const [stdout, stderr] = [streamTo('stdout'), streamTo('stderr')];
  const credentials = () => credentialsOf(env);
  const { signal } = interrupted;
  const shell: Shell = { stdin, stdout, stderr, env, credentials, signal, exitCode: 0 };
  return { shell, output, interrupt: () => interrupted.abort() };
}

/** The texts to wait for, each with the reply to type, which may first let something else happen. */
export type Dialogue = readonly (readonly [shown: string, typed: string | (() => Promise<string>)])[];

/** Runs the command line in this process as at a terminal; tells everything that its screen has shown. */
export async function typeAtCommandLine(args: readonly string[], env: Variables, dialogue: Dialogue) {
  const command = beginCommandLine(args, env, keyboardOf(dialogue));
  const { exitCode } = await command.finished;
  return { exitCode, screen: command.output.screen };
}

/** The standard input of a terminal at which a person types these replies. */
export function keyboardOf(dialogue: Dialogue): Shell['stdin'] {
  const keyboard = Object.assign(new PassThrough(), { isTTY: true });
  const waiting = [...dialogue];
  let position = 0;
  return keyboard.on('shown', (screen: string) => {
    for (const [shown, typed] of [...waiting]) {
      const at = screen.indexOf(shown, position);
      if (at < 0) return;
      waiting.shift();
      position = at + shown.length;
      // Not while the command is still writing.
      setImmediate(async () => keyboard.write(typeof typed === 'string' ? typed : await typed()));
    }
  });
}

/** As the AWS SDK finds them in the variables of a shell that has no other source. */
async function credentialsOf(env: Shell['env']) {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const { AWS_SESSION_TOKEN: sessionToken, AWS_CREDENTIAL_EXPIRATION: end } = env;
  const more = { ...(sessionToken && { sessionToken }), ...(end && { expiration: new Date(end) }) };
  if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, ...more };
  throw Object.assign(new Error('Could not load credentials from any providers'), { name: 'CredentialsProviderError' });
}

/** Starts the command line as a process of its own, with nothing of this machine's AWS set-up in reach. */
export function startCommandLine(args: readonly string[], env: Variables = {}) {
  return spawn(process.execPath, [PROGRAM, ...args], { env: { ...ISOLATED, ...env } });
}

/** Runs a program of this project to its end, in a process that reaches nothing of AWS. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env = {} }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
) {
  return finished(spawn(process.execPath, [program, ...args], { cwd, env: { ...OFFLINE, ...env } }));
}

/** Waits for the end of a started process. */
export async function finished(child: ChildProcessWithoutNullStreams): Promise<Finished> {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (told: string) => {
      output[name] += told;
    });
  }
  const [exitCode] = await once(child, 'close');
  return { exitCode, stdout: output.stdout, stderr: withoutProgress(output.stderr) };
}

/** Runs a program to its end, with nothing of this machine's AWS set-up in reach. */
export function execute([command = '', ...args]: readonly string[], variables: Variables, cwd = ROOT) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', ...variables };
  return finished(spawn(command, args, { cwd, env }));
}

/** A command reports its progress after three seconds, which only a busy machine needs. */
function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^[A-Z][a-z ]+: \d+ of \d+\n/gm, '');
}

/** The folder of this project. */
export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

export const PROGRAM = path.join(ROOT, 'cli/token-broker.ts');

/** The variables of a shell without any AWS set-up, with every way out to AWS closed. */
export const OFFLINE = {
  PATH: [path.dirname(process.execPath), process.env.PATH ?? ''].join(path.delimiter),
  HOME: tmpdir(),
  AWS_EC2_METADATA_DISABLED: 'true',
  HTTPS_PROXY: 'http://127.0.0.1:9',
};
