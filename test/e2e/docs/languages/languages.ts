import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect } from 'vitest';
import { runs } from '../../../support/aws/signers.ts';
import { GO_COMMAND } from '../../../support/processes/go.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { finished } from '../../commands/shared/command-line.ts';

const EXAMPLES = fileURLToPath(new URL('../../../../docs/examples', import.meta.url));
const PROGRAMS = fileURLToPath(new URL('.', import.meta.url));

export interface Language {
  /** The name, and why its tests are skipped. */
  readonly title: string;
  readonly isThere: boolean;
  /** The file to copy. */
  readonly example: string;
  /** The file of a program that uses it: that of these tests, or that of docs/callers.md. */
  readonly program: string;
  /** Compiles all sources of a folder. */
  readonly compile?: (folder: string) => void;
  readonly command: readonly string[];
  /** The types of the errors of DNS, of TLS and of a closed port. */
  readonly causes: readonly string[];
  /** The outcome of a call whose token the service refuses, and the broker does not replace. */
  readonly handsOn: RegExp;
  /** Variables by which the program sends through a proxy, but not to this machine. */
  readonly proxied?: (url: string) => Variables;
}

export const GO = language('Go', [...GO_COMMAND, 'list', 'github.com/aws/aws-sdk-go-v2/config'], {
  example: 'token_broker.go',
  program: 'main.go',
  compile: (folder) => run(folder, [...GO_COMMAND, 'build', '-o', 'program']),
  command: ['./program'],
  handsOn: /^retryable refused-again/,
  causes: ['\\*net\\.DNSError', 'x509\\.UnknownAuthorityError', 'syscall\\.Errno'],
  proxied: (url) => ({ HTTP_PROXY: url }),
});

export const JAVA = language('Java', ['javac', '--release', '17', '-version'], {
  example: 'TokenBroker.java',
  program: 'Main.java',
  compile: (folder) => {
    const quickly = ['-J-XX:TieredStopAtLevel=1', '-J-XX:+UseSerialGC'];
    run(folder, ['javac', ...quickly, '--release', '17', 'Main.java']);
  },
  command: ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp', '.', 'Main'],
  handsOn: /^retryable refused-again/,
  causes: [
    'ConnectException, UnresolvedAddressException',
    'SSLHandshakeException, .*SunCertPathBuilderException',
    'ConnectException, ClosedChannelException',
  ],
  proxied: (url) => ({ JDK_JAVA_OPTIONS: `-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=${new URL(url).port}` }),
});

export const PYTHON = language('Python', ['python3', '-c', 'import botocore'], {
  example: 'token_broker.py',
  program: 'main.py',
  command: ['python3', 'main.py'],
  handsOn: /^token-2$/,
  causes: [
    'EndpointConnectionError, gaierror',
    'SSLError, SSLCertVerificationError',
    'EndpointConnectionError, ConnectionRefusedError',
  ],
});

function language(name: string, [command = '', ...args]: string[], how: Omit<Language, 'title' | 'isThere'>): Language {
  const isThere = runs(command, ...args);
  return { ...how, isThere, title: isThere ? name : `${name} (skipped: it is not installed)` };
}

function run(cwd: string, [command = '', ...args]: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}

type Variables = Readonly<Record<string, string>>;

/** Gives an order so many times at once. Returns the outcomes. */
export type Order = (kind: string, times: number, ...more: readonly string[]) => Promise<readonly string[]>;

/** Starts the program of each language once for a file. Returns the function that orders calls of a broker. */
export function usePrograms(languages: readonly Language[], variablesOf: (language: Language) => Variables) {
  const programs = new Map<Language, ReturnType<typeof takeOrders>>();
  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'languages-'));
    for (const language of languages.filter(({ isThere }) => isThere)) {
      const text = readFileSync(join(PROGRAMS, language.program));
      const child = startProgram(language, text, withExample(language, folder), variablesOf(language));
      programs.set(language, takeOrders(child));
    }
    return async () => {
      for (const { child } of programs.values()) {
        child.stdin.end();
        if (child.exitCode === null) await once(child, 'exit');
      }
      rmSync(folder, { recursive: true });
    };
  }, 300_000);

  return (language: Language, url: string): Order =>
    (kind, times, ...more) =>
      Promise.all(
        Array.from({ length: times }, async () => `${await programs.get(language)?.ask(kind, url, ...more)}`),
      );
}

/** Numbers the orders of a program, which may carry out a later order first. */
function takeOrders(child: ReturnType<typeof startProgram>) {
  const asking: ((outcome: string) => void)[] = [];
  createInterface(child.stdout).on('line', (line) => {
    const [id, outcome = ''] = line.split('\t');
    asking[Number(id)]?.(outcome.replaceAll('\\n', '\n'));
  });
  child.once('exit', () => {
    for (const resolve of asking) resolve('the program has ended');
  });
  const ask = (...order: readonly string[]) =>
    new Promise<string>((resolve) => {
      child.stdin.write(`${[asking.push(resolve) - 1, ...order].join('\t')}\n`);
    });
  return { child, ask };
}

/** Runs another program with the example beside it to its end. */
export function runToItsEnd(language: Language, text: string, variables: Variables, ...args: readonly string[]) {
  return finished(startProgram(language, text, withExample(language, temporaryFolder()), variables, args));
}

/** Copies the file to copy into a folder, and returns the folder. */
function withExample({ example }: Language, folder: string): string {
  copyFileSync(join(EXAMPLES, example), join(folder, example));
  return folder;
}

/** Compiles and starts a program. */
export function startProgram(
  { program, compile, command: [command = '', ...args] }: Pick<Language, 'program' | 'compile' | 'command'>,
  text: string | Buffer,
  cwd: string,
  variables: Variables,
  more: readonly string[] = [],
) {
  writeFileSync(join(cwd, program), text);
  compile?.(cwd);
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', ...variables };
  return spawn(command, [...args, ...more], { cwd, env });
}
