import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished } from 'vitest';
import { runs } from '../../support/aws/signers.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { issued } from '../../unit/client/broker-answers.ts';
import { type Answer, answerWith } from '../../unit/client/loopback-server.ts';
import {
  answering,
  type Dialogue,
  ended,
  finished,
  ISOLATED,
  keyboardOf,
  PROGRAM,
  runProgram,
  startCommandLine,
} from './shared/command-line.ts';
import { it, NEW } from './shared/operator-world.ts';

/** A profile whose role is assumed with the keys of another. */
const PROFILES = `[profile ops]
role_arn = arn:aws:iam::111111111111:role/ops
source_profile = base
[profile base]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = x`;

/** The program of util-linux that plays a terminal. */
const TERMINAL = ['script', '--quiet', '--return', '--command'] as const;
const hasTerminal = runs(...TERMINAL, 'true', '/dev/null');

/**
 * The real process behaves as the other files prove it within theirs: streams, variables, exit code, signals. The
 * commands of README.md are processes too.
 */
describe('the command line as a process of its own', () => {
  it('ends with 2 upon wrong usage', async () => {
    expect(await finished(startCommandLine(['token']))).toEqual(ended(2, '', /\(--help shows how\)\n$/));
  });

  it.each([
    [
      'token acme customer-insights',
      /\/cli\/(?!token-broker|command-line|shared\/settings-option)|lib\/settings\/(?!names)|\/client-|\/zod\//,
    ],
    ['policy arn:aws:iam::111111111111:role/billing --environment dev', /@aws-sdk\/client-/],
  ])('loads for a command only what it needs: %s', async (command, others) => {
    const args = command.split(' ');
    const hooks = `import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) { process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });`;
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(hooks)}`;
    const env = { NODE_OPTIONS, TOKEN_BROKER_URL: 'http://127.0.0.1:9' };
    const { stderr } = await finished(startCommandLine(args, env));
    const loaded = stderr.split('\n').filter((line) => line.startsWith('loads '));
    expect(loaded).toContainEqual(expect.stringMatching(new RegExp(`/${args[0]}[\\w/]*\\.ts$`)));
    expect(loaded.filter((line) => others.test(line))).toEqual([]);
  });

  // @see go-to-k/cdkd#2388
  it.for<readonly [program: string, args: string, variables: object, host: string]>([
    [PROGRAM, 'client list --environment dev', ISOLATED, 'secretsmanager'],
    [PROGRAM, 'client list --environment dev', { AWS_PROFILE: 'ops' }, 'sts'],
    ['bin/stack.ts', 'diff dev --help', ISOLATED, 'sts'],
  ])('reaches AWS through HTTPS_PROXY, as the AWS CLI does: %s %s', async ([program, args, variables, host]) => {
    const tunnels: string[] = [];
    const proxy = createServer().on('connect', ({ url = '' }, socket) => {
      tunnels.push(url);
      socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
    });
    onTestFinished(() => void proxy.close());
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const AWS_CONFIG_FILE = path.join(temporaryFolder(), 'config');
    writeFileSync(AWS_CONFIG_FILE, PROFILES);
    const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await runProgram(program, args.split(' '), { env: { ...variables, AWS_CONFIG_FILE, HTTPS_PROXY } });
    expect(new Set(tunnels)).toEqual(new Set([`${host}.eu-west-1.amazonaws.com:443`]));
  });

  it('finds its AWS credentials as the SDK does', async ({ world }) => {
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_PROFILE: 'nowhere' };
    for (const args of [['client', 'list'], ['token', 'acme', 'customer-insights'], ['doctor']]) {
      const { exitCode, stdout, stderr } = await finished(startCommandLine(args, { ...world.shell, ...none }));
      expect(exitCode).toBe(1);
      expect(stdout + stderr).toMatch(/the profile "nowhere" does not exist, or has no keys/);
    }
  });

  describe.skipIf(!hasTerminal)(`at a terminal${hasTerminal ? '' : ' (skipped: script is not installed)'}`, () => {
    it.for([
      ['shows nothing of a secret that is typed', 'y\r', 0, /client_id: .*acme-id-2.*secret: \r\n.*is AWSCURRENT/s],
      ['ends with 130 on Ctrl-C', '\u0003', 130, /Interrupted: nothing more was changed\.\r\n$/],
    ] as const)('%s', async ([_, last, exitCode, shows], { world }) => {
      const ended = await runAtTerminal('client put globex --create', world.shell, [
        ['client_id: ', `${NEW.client_id}\r`],
        ['secret: ', `${NEW.secret}\r`],
        ['Continue? [y/N] ', last],
      ]);
      expect(ended).toEqual({ exitCode, screen: expect.stringMatching(shows) });
      expect(ended.screen).not.toContain(NEW.secret);
    });
  });
});

/** Runs a command at a terminal, where a person types. Returns all that its screen shows, control characters too. */
async function runAtTerminal(command: string, env: Readonly<Record<string, string>>, dialogue: Dialogue) {
  const [program, ...options] = TERMINAL;
  const args = [...options, `${process.execPath} ${PROGRAM} ${command}`, '/dev/null'];
  const child = spawn(program, args, { env: { ...ISOLATED, TERM: 'xterm', ...env } });
  const keyboard = keyboardOf(dialogue);
  keyboard.pipe(child.stdin);
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    keyboard.emit('shown', screen);
  });
  const [exitCode] = await once(child, 'close');
  return { exitCode, screen };
}

describe('the command line while it waits', () => {
  it.each([
    ['SIGINT', 'for the broker', ['token', 'acme', 'customer-insights'], {}],
    // A cancelled job of CI sends it.
    ['SIGTERM', 'for the broker', ['token', 'acme', 'customer-insights'], {}],
    ['SIGINT', 'for AWS credentials', ['doctor', '--json'], { AWS_ACCESS_KEY_ID: '' }],
    ['SIGINT', 'for AWS credentials', ['client', 'list', '--environment', 'dev'], { AWS_ACCESS_KEY_ID: '' }],
  ] as const)('ends silently with 130 on %s, %s: %o', async (signal, _, args, env) => {
    const child = await startWaiting((waiting) => waiting.kill(signal), args, env);
    expect(await finished(child)).toEqual({ exitCode: 130, stdout: '', stderr: '' });
  });

  /** @see aws/aws-sdk-js#2983, aws-deadline/deadline-cloud-worker-agent#1010 */
  it('ends with its exit code although a lookup of AWS credentials never ends', () => {
    const shell = new URL('../../../client/commands/shell.ts', import.meta.url);
    const program = `const { endProcess } = await import('${shell}'); setInterval(() => {}, 1_000); endProcess(75);`;
    const args = ['--input-type=module', '--eval', program];
    expect(spawnSync(process.execPath, args, { timeout: 20_000 })).toMatchObject({ status: 75, signal: null });
  });

  it('ends after its whole output is read, however late', async () => {
    const shell = new URL('../../../client/commands/shell.ts', import.meta.url);
    const program = `const { endProcess } = await import('${shell}');
      process.stdout.write('x'.repeat(1_000_000));
      endProcess(1);
      setTimeout(() => process.stderr.write('late'), 1_000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
    const exit = once(child, 'exit');
    await Promise.race([once(child.stderr, 'data'), exit]);
    expect(await text(child.stdout)).toHaveLength(1_000_000);
    expect(await exit).toEqual([1, null]);
  });

  it('is silent when its output has no reader any more', async () => {
    const child = await startWaiting((waiting, answer) => {
      waiting.stdout.destroy();
      waiting.stdout.once('close', answer);
    });
    expect(await finished(child)).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('EPIPE') });
  });

  /** @see mhart/epipebomb#10 */
  it('stops to watch when its output has no reader any more', async ({ world }) => {
    const child = startCommandLine(['health', '--watch', '1'], world.shell);
    onTestFinished(() => void child.kill());
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await finished(child)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it.skipIf(!existsSync('/dev/full'))('says in a sentence that its output cannot be written', () => {
    const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const;
    const full = spawnSync(process.execPath, [PROGRAM, 'config', 'dev'], { stdio: [...stdio], encoding: 'utf8' });
    expect(full).toMatchObject({ status: 1, stderr: 'error: the output cannot be written (ENOSPC)\n' });
  });

  type Act = (child: ReturnType<typeof startCommandLine>, answer: () => void) => void;

  /** Starts a command; `act` runs when its first request has arrived and is not answered yet. */
  async function startWaiting(act: Act, args: readonly string[] = ['token', 'acme', 'customer-insights'], env = {}) {
    const answer: Answer = (...call) => answerWith(200, issued(Date.now()))(...call);
    const server = await answering((...call) => act(child, () => answer(...call)));
    const places = { TOKEN_BROKER_URL: server.url, AWS_CONTAINER_CREDENTIALS_FULL_URI: `${server.url}/credentials` };
    const child = startCommandLine(args, { ...places, ...env });
    return child;
  }
});
