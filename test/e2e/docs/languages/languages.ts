import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { runs } from '../../../support/aws/signers.ts';

export const EXAMPLES = fileURLToPath(new URL('../../../../docs/examples', import.meta.url));
const PROGRAMS = fileURLToPath(new URL('.', import.meta.url));

export interface Language {
  /** The name, and why its tests are skipped. */
  readonly title: string;
  readonly isThere: boolean;
  /** Compiles the examples and the program, which lie in one folder. */
  readonly compile?: (folder: string) => void;
  readonly command: readonly string[];
}

const GO_ENV = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(tmpdir(), 'token-broker-go-cache') };
const GO_PACKAGES = ['golang.org/x/oauth2/clientcredentials', 'github.com/aws/aws-sdk-go-v2/aws/signer/v4'];
const goVariables = Object.entries({ ...GO_ENV, HOME: PROGRAMS }).map((one) => one.join('='));

export const GO = language('Go', ['env', ...goVariables, 'go', 'list', ...GO_PACKAGES], {
  compile: (folder) => run(folder, 'env', ...goVariables, 'go', 'build', '-o', 'program', ...sources(folder, '.go')),
  command: ['./program'],
});

export const JAVA = language('Java', ['javac', '--release', '17', '-version'], {
  compile: (folder) => run(folder, 'javac', ...sources(folder, '.java')),
  command: ['java', '-XX:TieredStopAtLevel=1', '-cp', '.', 'Main'],
});

export const AUTHLIB = language('Authlib', ['/usr/bin/python3', '-c', 'import authlib.integrations.requests_client'], {
  command: ['/usr/bin/python3', '-B', 'main.py'],
});

function language(
  name: string,
  [command = '', ...args]: string[],
  how: Pick<Language, 'compile' | 'command'>,
): Language {
  const isThere = runs(command, ...args);
  return { ...how, isThere, title: isThere ? name : `${name} (skipped: it is not installed)` };
}

function sources(folder: string, extension: string): readonly string[] {
  return readdirSync(folder).filter((file) => file.endsWith(extension));
}

function run(cwd: string, command: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}

type Variables = Readonly<Record<string, string>>;

/** Compiles the programs once for all tests of a file. Returns the function that starts a program for one test. */
export function useLanguages(languages: readonly Language[]) {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'languages-'));
    for (const from of [EXAMPLES, PROGRAMS]) {
      for (const file of readdirSync(from)) copyFileSync(join(from, file), join(folder, file));
    }
    for (const { isThere, compile } of languages) if (isThere) compile?.(folder);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  return ({ command: [command = '', ...args] }: Language, variables: Variables) => {
    const env = { PATH: process.env.PATH, ...UNUSED, ...variables };
    const child = spawn(command, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    /** Carries out an order so many times at once. Returns the outcomes. */
    return async (kind: string, times: number, ...more: readonly string[]): Promise<readonly string[]> => {
      child.stdin.write(`${[kind, times, ...more].join('\t')}\n`);
      return JSON.parse((await lines.next()).value ?? '[]');
    };
  };
}

/** The key of `serve` in these tests. */
export const SERVE_KEY = 'the-key-of-this-test-and-of-no-other';

/** Variables for the part of a program that a test does not use. */
const UNUSED: Variables = {
  KEY: SERVE_KEY,
  ORIGIN: 'http://127.0.0.1:9',
  TOKEN_URL: 'http://127.0.0.1:9/token',
  TOKEN_BROKER_URL: 'http://127.0.0.1:9',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'example',
};
