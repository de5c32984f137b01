import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identityPolicy } from '../../client/commands/policy.ts';
import { environments } from '../../lib/environments.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { runs } from '../support/aws/signers.ts';
import { useLocalBroker } from '../support/processes/local-broker.ts';
import { blocks, commands } from '../support/readme.ts';
import { ROOT } from './commands/shared/command-line.ts';

/** The function that the page defines first. Every command that is run here begins with it. */
const TB = 'tb() { npm run --silent token-broker -- "$@"; }';

/** Commands that no test here runs, and why. */
const ELSEWHERE = {
  'npm ci && npm test': 'CI runs it, and this test is part of it',
  [TB]: 'it is part of every command here',
  'npm run cdk -- synth TokenBroker-dev': 'test/e2e/app.test.ts runs it',
  'npm run diff -- dev': 'test/e2e/stack.test.ts runs it',
  'npm run deploy -- dev': 'needs an AWS account',
} as const;

const AS_BILLING = 'eval "$(tb env billing)"';
const AS_OPERATOR = 'eval "$(tb env operator)"';
const HOOLI = { client_id: 'hooli-id', secret: 'good-1' };

/** Commands that are run here, in this order, each with the proof that it works. */
const RUN_HERE = {
  'npm ci && npm start': startsOnThisMachine,
  [AS_BILLING]: (command) => prints(`${command}; echo $AWS_ACCESS_KEY_ID`, /^AKIDLOCALBILLING$/m),
  [AS_OPERATOR]: (command) => prints(`${command}; echo $AWS_ACCESS_KEY_ID`, /^AKIDLOCALOPERATOR$/m),
  'tb token --client acme --service customer-insights': (command) =>
    prints(`${AS_BILLING}\n${command}`, /^fingerprint +[0-9a-f]{16}$/m),
  'tb token --client acme --service customer-insights --json --reveal': (command) =>
    prints(`${AS_BILLING}\n${command}`, /^ {2}"access_token": "[\w-]{43}",$/m),
  'tb client list': (command) =>
    prints(asOperator(command), /^acme: current [0-9a-f]{8}, .*\n {2}customer-insights +(?:ok|unproven) /m),
  'tb client check acme': (command) => prints(asOperator(command), /^customer-insights +accepted +[0-9a-f]{8} /m),
  'tb health --run': (command) => prints(asOperator(`${command} || test $? = 1`), /^acme +accepted/m),
  'tb policy arn:aws:iam::222222222222:role/invoicing --environment dev': printsThePolicy,
  'tb client put hooli --create --services customer-insights': (command) =>
    prints(asOperator(`echo '${JSON.stringify(HOOLI)}' | ${command} --yes`), /^customer-insights +accepted/m),
  'tb config dev': (command) => prints(command, /^account +\d{12} +written$/m),
  'tb service customer-insights --down': (command) =>
    prints(asOperator(`${command}\n${PUT_NEW} || test $? = 1`), /^customer-insights +unreachable/m),
} as const satisfies Record<string, (command: string) => Promise<void>>;

/** A client that is new: of every other one a proof is known. */
const PUT_NEW = `echo '${JSON.stringify(HOOLI)}' | tb client put cyberdyne --create --yes --services customer-insights`;

const hasCurl = runs('curl', '--aws-sigv4', 'aws:amz', '--version');

const broker = useLocalBroker();

/** Runs a command in a terminal of its own, on the machine on which `npm start` runs. */
async function inTerminal(command: string) {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, PORT: new URL(broker().url).port };
  return promisify(execFile)('sh', ['-e', '-c', `${TB}\n${command}`], { cwd: ROOT, env });
}

function asOperator(command: string): string {
  return `${AS_OPERATOR}\n${command}`;
}

async function prints(command: string, expected: RegExp) {
  const { stdout } = await inTerminal(command);
  expect(stdout).toMatch(expected);
}

async function printsThePolicy(command: string) {
  const { stdout } = await inTerminal(command);
  const { account, region } = environments.dev ?? {};
  const target = `arn:aws:lambda:${region}:${account}:function:${functionName('dev')}:${ALIAS}`;
  expect(JSON.parse(stdout)).toEqual(identityPolicy(target));
}

/** The part after `npm ci`, as npm runs it; Ctrl-C in a terminal goes to all of its processes. */
async function startsOnThisMachine(command: string) {
  const [install, start] = command.split(' && ');
  expect(install).toBe('npm ci');
  const child = spawn('sh', ['-c', `exec ${start}`], { cwd: ROOT, env: { ...process.env, PORT: '0' }, detached: true });
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

function signalAll({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
}

describe('a command of README.md', () => {
  it.each(Object.entries(RUN_HERE))('works: %s', async (command, show) => {
    expect(commands()).toContain(command);
    await show(command);
  });

  it('has a test, or a reason to have none', () => {
    const known = [...Object.keys(RUN_HERE), ...Object.keys(ELSEWHERE)];
    const rest = commands().filter((command) => !known.includes(command));

    expect(rest).toEqual([expect.stringMatching(/^curl /)]);
    expect(commands()).toEqual(expect.arrayContaining(Object.keys(ELSEWHERE)));
  });

  it.skipIf(!hasCurl)(`works: curl${hasCurl ? '' : ' (skipped: curl is not installed, or too old)'}`, async () => {
    const command = commands().find((each) => each.startsWith('curl ')) ?? '';
    const { stdout } = await inTerminal(command.replace('http://127.0.0.1:8788', broker().url));
    const [answer = ''] = blocks('json');

    expect(Object.keys(JSON.parse(stdout))).toEqual(Object.keys(JSON.parse(answer)));
  });
});
