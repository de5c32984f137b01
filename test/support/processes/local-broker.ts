import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import type { Pair } from '../../../functions/broker/pair.ts';
import type { SigningKey } from '../../../functions/sigv4.ts';
import { listen } from '../../../local/loopback.ts';
import { shellFile } from '../../../local/shell.ts';
import { sign } from '../aws/signers.ts';
import { send } from '../requests.ts';

export type LocalBrokerProcess = Awaited<ReturnType<typeof startLocalBroker>>;

interface Options {
  readonly args?: readonly string[];
  /** The content of the `--config` file: a text, or a value that is written as JSON. */
  readonly config?: unknown;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the program of `npm start` as a process of its own, and waits until it says that it is ready. */
export async function startLocalBroker(options: Options = {}) {
  const { child, output, ended } = launch(options);
  const ready = new Promise<string>((resolve) => {
    child.stdout.on('data', () => {
      // The whole greeting, for tests that read more of it.
      const url = /^token broker ready on (\S+)\n.*\nCtrl-C ends it\.\n/s.exec(output.stdout)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const failed = ended.then(({ exitCode, stderr }) => {
    throw new Error(`The broker ended with ${exitCode} before it was ready: ${stderr}`);
  });
  const url = await Promise.race([ready, failed]);
  const left: { readonly callers: Readonly<Record<string, Readonly<Record<string, string>>>> } = JSON.parse(
    readFileSync(shellFile(new URL(url).port), 'utf8'),
  );
  /** The part of its output that the first group of a pattern matches. */
  const printed = (pattern: RegExp): string => pattern.exec(output.stdout)?.[1] ?? expect.fail(`${pattern} is missing`);
  return {
    url,
    printed,
    pageUrl: printed(/^watch and try it on (\S+)$/m),
    /** Where the services' stand-in is. A configuration has none. */
    tokenServiceUrl: /^The services' stand-in is (\S+)$/m.exec(output.stdout)?.[1] ?? '',
    /** The variables that `env` sets for a caller. */
    shell: (name = 'billing') => left.callers[name] ?? {},
    /** Its output so far, the greeting first. */
    output,
    /** Lets a minute pass for the broker, a moment later. */
    passMinute: () => child.kill('SIGUSR2'),
    /** Presses Ctrl-C and waits for the end. */
    end: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
}

/** A broker for one test, at whose end it ends well. */
export async function startOwnBroker(options?: Options): Promise<LocalBrokerProcess> {
  const broker = await startLocalBroker(options);
  onTestFinished(() => expectGoodEnd(broker));
  return broker;
}

/** A broker for all tests of a file. */
export function useLocalBroker(): () => LocalBrokerProcess {
  let broker: LocalBrokerProcess;
  beforeAll(async () => {
    broker = await startLocalBroker();
  });
  afterAll(() => expectGoodEnd(broker));
  return () => broker;
}

async function expectGoodEnd(broker: LocalBrokerProcess): Promise<void> {
  expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
}

/** Runs the program of `npm start` where it ends by itself. */
export function runLocalBroker(options: Options = {}) {
  return launch(options).ended;
}

/** On a free port, and with nothing of this machine's AWS set-up in reach. */
function launch({ args = [], config, env = {} }: Options) {
  const folder = mkdtempSync(join(tmpdir(), 'local-broker-'));
  const file = join(folder, 'config.json');
  if (config !== undefined) writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
  const options = config === undefined ? args : ['--config', file, ...args];

  const isolated = { PORT: '0', HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', ...env };
  const child = spawn(process.execPath, [...SHIFTED, PROGRAM, ...options], { env: isolated });
  running.add(child);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = once(child, 'close').then(([exitCode, signal]) => {
    running.delete(child);
    rmSync(folder, { recursive: true });
    return { exitCode, signal, ...output };
  });
  return { child, output, ended };
}

/** No process outlives a test that failed before it could end it. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Lets minutes pass. */
const SHIFTED = ['--import', new URL('./shifted-clock.ts', import.meta.url).href];

const PROGRAM = fileURLToPath(new URL('../../../local/start.ts', import.meta.url));

/** Asks for a token as a caller does: signed, and over HTTP. */
export async function ask({ url }: { readonly url: string }, caller: SigningKey, pair: Pair) {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', url: `${url}/token`, headers, body: JSON.stringify(pair) };
  const { status, body } = await send({ ...request, headers: await sign(request, caller, new Date()) });
  return { status, json: JSON.parse(body) };
}

/** The first of so many ports that are free one behind the other, out of reach of those that the system gives away. */
export async function freePorts(count: number): Promise<number> {
  for (let first = 20_000 + (process.pid % 1_000) * 10; ; first += count) {
    const tried = Array.from({ length: count }, () => createServer());
    const got = await Promise.allSettled(tried.map((server, offset) => listen(server, first + offset)));
    await Promise.all(tried.map((server) => new Promise((resolve) => server.close(resolve))));
    if (got.every(({ status }) => status === 'fulfilled')) return first;
  }
}
