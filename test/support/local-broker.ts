import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SigningKey } from '../../bin/local/function-url/sigv4.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { send } from './requests.ts';
import { type Signer, sign } from './signers.ts';

export interface LocalBrokerProcess {
  readonly url: string;
  /** What it printed up to now, the greeting first. */
  readonly output: Output;
  /** Presses Ctrl-C and waits for the end. */
  readonly end: () => Promise<Ended>;
}

interface Output {
  stdout: string;
  stderr: string;
}

interface Ended extends Readonly<Output> {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Options {
  readonly args?: readonly string[];
  /** What the file of `--config` holds: a text, or what becomes JSON. */
  readonly config?: unknown;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs what `npm start` runs as a process of its own, and waits until it says that it is ready. */
export async function startLocalBroker(options: Options = {}): Promise<LocalBrokerProcess> {
  const { child, output, ended } = launch(options);
  const ready = new Promise<string>((resolve) => {
    child.stdout.on('data', () => {
      // The whole greeting, for tests that read more of it.
      const url = /^token broker ready on (\S+)\n.*\nCtrl-C ends it\.\n/s.exec(output.stdout)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const url = await Promise.race([ready, ended.then(failToStart)]);
  return {
    url,
    output,
    end: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
}

/** Runs what `npm start` runs where it ends by itself. */
export function runLocalBroker(options: Options = {}): Promise<Ended> {
  return launch(options).ended;
}

/** On a free port, and with nothing of this machine's AWS set-up in reach. */
function launch({ args = [], config, env = {} }: Options) {
  const folder = mkdtempSync(join(tmpdir(), 'local-broker-'));
  const file = join(folder, 'config.json');
  if (config !== undefined) writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  const options = config === undefined ? args : ['--config', file, ...args];

  const isolated = { PORT: '0', HOME: folder, AWS_EC2_METADATA_DISABLED: 'true' };
  const child = spawn(process.execPath, [...WATCHED, PROGRAM, ...options], { env: { ...isolated, ...env } });
  running.add(child);
  const output: Output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended: Promise<Ended> = once(child, 'close').then(([exitCode, signal]) => {
    running.delete(child);
    rmSync(folder, { recursive: true });
    return { exitCode, signal, ...output };
  });
  return { child, output, ended };
}

/** Nothing outlives a test that failed before it could end what it had started. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function failToStart({ exitCode, stderr }: Ended): never {
  throw new Error(`The broker ended with ${exitCode} before it was ready: ${stderr}`);
}

/** Ends the process upon an answer that docs/openapi.yaml does not describe. */
const WATCHED = ['--import', new URL('./contract-preload.ts', import.meta.url).href];

const PROGRAM = fileURLToPath(new URL('../../bin/local.ts', import.meta.url));

/** Asks for a token as a caller does: signed, and over HTTP. */
export async function ask(
  { url }: LocalBrokerProcess,
  caller: SigningKey,
  pair: Pair,
  signer: Signer = 'aws4fetch',
): Promise<{ readonly status: number | undefined; readonly json: ReturnType<typeof JSON.parse> }> {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', url: `${url}/token`, headers, body: JSON.stringify(pair) };
  const { status, body } = await send({ ...request, headers: await sign(signer, request, caller, new Date()) });
  return { status, json: JSON.parse(body) };
}

/** Where the services' stand-in is, as the greeting tells it. */
export function tokenServiceUrl({ output }: LocalBrokerProcess): string {
  return printed(output, /^The services' stand-in is (\S+)$/m);
}

/** Where the page is, as the greeting tells it. */
export function pageUrl({ output }: LocalBrokerProcess): string {
  return printed(output, /^watch and try it on (\S+)$/m);
}

/** The command that the greeting offers to ask with curl. */
export function curlCommand({ output }: LocalBrokerProcess): string {
  return printed(output, /^ {2}(curl .*)$/m);
}

/** The lines that the greeting offers for another terminal. */
export function shellCommands({ output }: LocalBrokerProcess): string {
  return printed(output, /^Or in another terminal .*:\n((?: {2}.*\n)+)/m);
}

/** The lines that the greeting offers after those, to look after the clients. */
export function operatorCommands({ output }: LocalBrokerProcess): string {
  return printed(output, /^Then look after the clients .*:\n((?: {2}.*\n)+)/m);
}

/** The variables of the `export` line of the greeting. */
export function printedVariables({ output }: LocalBrokerProcess): Readonly<Record<string, string>> {
  const words = printed(output, /^ {2}export (.*)$/m).matchAll(/(\w+)=(?:'([^']*)'|(\S+))/g);
  return Object.fromEntries([...words].map(([, name = '', quoted, value = '']) => [name, quoted ?? value]));
}

function printed({ stdout }: Output, pattern: RegExp): string {
  const text = pattern.exec(stdout)?.[1];
  if (text === undefined) throw new Error(`${pattern} is not in what was printed:\n${stdout}`);
  return text;
}
