import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfig } from '../bin/local/example-config.ts';
import { PROBLEMS } from '../functions/broker/problem.ts';
import { parseEnvironment } from '../lib/settings.ts';
import { exampleForm } from './lib/example-form.ts';
import { type LocalBrokerProcess, shellCommands, startLocalBroker } from './support/local-broker.ts';
import { blocks, commands, layout, README, table } from './support/readme.ts';
import { runs } from './support/signers.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Commands that no test here runs, and why. */
const ELSEWHERE = {
  'npm ci && npm test': 'CI runs it, and this test is part of it',
  'npm run cdk -- synth TokenBroker-dev': 'test/bin/app.test.ts runs it',
  'npm run cdk -- deploy TokenBroker-dev': 'needs an AWS account',
} as const;

/** Commands that are run here, and what shows that they work. */
const RUN_HERE = {
  'npm ci && npm start': startsOnThisMachine,
  'npm start -- --config my-config.json': startsWithTheConfiguration,
  'npm run --silent token-broker -- token --client acme --service customer-insights': (command) =>
    prints(command, /^fingerprint +[0-9a-f]{16}$/m),
  'npm run --silent token-broker -- token --client acme --service customer-insights --json --reveal': (command) =>
    prints(command, /^ {2}"access_token": "[\w-]{43}",$/m),
  'npm run --silent token-broker -- token --help': (command) => prints(command, /^Usage: token-broker token /),
} as const satisfies Record<string, (command: string) => Promise<void>>;

const hasCurl = runs('curl', '--aws-sigv4', 'aws:amz', '--version');
const hasAws = runs('aws', '--version');

let broker: LocalBrokerProcess;
beforeAll(async () => {
  broker = await startLocalBroker();
});
afterAll(async () => {
  expect(await broker.end()).toMatchObject({ exitCode: 0 });
});

/** Runs a command in a terminal into which the variables that `npm start` prints were copied. */
async function inTerminal(command: string, cwd = root) {
  const variables = shellCommands(broker).replace(/^ *npm .*$/m, '');
  return promisify(execFile)('sh', ['-e', '-c', variables + command], { cwd });
}

async function prints(command: string, expected: RegExp) {
  const { stdout } = await inTerminal(command);
  expect(stdout).toMatch(expected);
}

/** The part after `npm ci`, as npm runs it; Ctrl-C in a terminal goes to all of its processes. */
async function startsOnThisMachine(command: string) {
  const [install, start] = command.split(' && ');
  expect(install).toBe('npm ci');
  const child = spawn('sh', ['-c', `exec ${start}`], { cwd: root, env: { ...process.env, PORT: '0' }, detached: true });
  const ended = once(child, 'close');
  onTestFinished(() => signalAll(child, 'SIGKILL'));
  let isReady = false;
  for await (const line of createInterface(child.stdout)) {
    isReady ||= /^token broker ready on http:\/\/127\.0\.0\.1:\d+$/.test(line);
    if (line === 'Ctrl-C ends it.') signalAll(child, 'SIGINT');
  }
  await ended;
  expect(isReady).toBe(true);
}

function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left.
  }
}

async function startsWithTheConfiguration() {
  const started = await startLocalBroker({ config: configurationBlock() });
  expect(await started.end()).toMatchObject({ exitCode: 0, stderr: '' });
}

function configurationBlock(): string {
  const [block, ...others] = blocks('json').filter((text) => text.includes('"credentials"'));
  expect(others).toEqual([]);
  return block ?? '';
}

describe('a command of README.md', () => {
  it.each(Object.entries(RUN_HERE))('works: %s', async (command, show) => {
    expect(commands()).toContain(command);
    await show(command);
  });

  it('has a test, or a reason to have none', () => {
    const known = [...Object.keys(RUN_HERE), ...Object.keys(ELSEWHERE)];
    const rest = commands().filter((command) => !known.includes(command));

    expect(rest).toEqual([
      expect.stringMatching(/^curl /),
      expect.stringMatching(/^aws secretsmanager create-secret /),
    ]);
    expect(commands()).toEqual(expect.arrayContaining(Object.keys(ELSEWHERE)));
  });

  it.skipIf(!hasCurl)(`works: curl${hasCurl ? '' : ' (skipped: curl is not installed, or too old)'}`, async () => {
    const command = commands().find((each) => each.startsWith('curl ')) ?? '';
    const { stdout } = await inTerminal(command.replace('http://127.0.0.1:8788', broker.url));
    const [answer = ''] = blocks('json');

    expect(Object.keys(JSON.parse(stdout))).toEqual(Object.keys(JSON.parse(answer)));
  });

  it.skipIf(!hasAws)(`works: aws${hasAws ? '' : ' (skipped: the AWS command line is not installed)'}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'readme-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'acme.json'), blocks('json')[1] ?? '');
    const command = commands().find((each) => each.startsWith('aws ')) ?? '';
    const { stdout } = await inTerminal(`export KEY_ARN=alias/example\n${command} --output json`, folder);

    expect(JSON.parse(stdout)).toMatchObject({ Name: 'token-broker/dev/acme', VersionId: expect.any(String) });
  });
});

describe('README.md', () => {
  it('has the two commands at its top', () => {
    expect(commands().slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
    expect(README.indexOf('```sh')).toBeLessThan(400);
  });

  it('has every problem in its table, with its status, its meaning and what to do', () => {
    const rows = table('type');

    expect(rows.map(([type, status]) => [type, status])).toEqual(
      Object.entries(PROBLEMS).map(([type, { status }]) => [type, `${status}`]),
    );
    for (const [type, , ...sentences] of rows)
      expect(sentences, type).toEqual([expect.any(String), expect.any(String)]);
  });

  it('names the local callers with their keys', () => {
    expect(table('role').map((cells) => cells.slice(0, 3))).toEqual(
      exampleConfig(String).callers.map(({ role, accessKeyId, secretAccessKey }) => [
        role.replace(/.*\//, ''),
        accessKeyId,
        secretAccessKey,
      ]),
    );
  });

  it('shows settings that are right', () => {
    const members = blocks('ts').join('');
    const settings = JSON.parse(JSON.stringify(runInNewContext(`({ ${members} })`)));

    expect(Object.keys(settings)).toEqual(['accessRules', 'services']);
    expect(() => parseEnvironment('dev', { ...exampleForm(), ...settings })).not.toThrow();
  });

  it('lets a caller do what the stack lets its account do', () => {
    const statements = JSON.parse(blocks('json')[2] ?? '');

    expect(statements).toEqual([
      { Effect: 'Allow', Action: 'lambda:InvokeFunctionUrl', Resource: expect.stringMatching(/:token-broker-dev$/) },
      {
        Effect: 'Allow',
        Action: 'lambda:InvokeFunction',
        Resource: expect.stringMatching(/:token-broker-dev$/),
        Condition: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
      },
    ]);
  });

  it.each(layout())('lays out what there is: %s', (path) => {
    expect(existsSync(join(root, path))).toBe(true);
  });

  it('lays out every folder', () => {
    const built = ['node_modules', 'cdk.out', 'coverage'];
    const folders = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !built.includes(entry.name))
      .map(({ name }) => `${name}/`);

    expect(layout()).toEqual(expect.arrayContaining(folders));
  });

  it('names only scripts that there are', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const named = [...README.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => script);

    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  });

  it.each([...README.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link))('links to what there is: %s', (link) => {
    expect(existsSync(join(root, link))).toBe(true);
  });
});
