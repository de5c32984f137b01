import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issued } from '../../unit/client/broker-answers.ts';
import {
  type Answer,
  answerWith,
  type LoopbackServer,
  startLoopbackServer,
} from '../../unit/client/loopback-server.ts';
import { ended, finished, startCommandLine } from './command-line.ts';
import { createOperatorWorld, NEW, type OperatorWorld, WRONG } from './operator-world.ts';
import { hasTerminal, runAtTerminal } from './terminal.ts';

/** What the other files prove in one process holds for the real one, too: its streams, variables, exit code, signals. */
const ROLE = 'arn:aws:iam::111111111111:role/billing';

interface Call {
  readonly good: readonly string[];
  readonly input?: object;
  readonly shows: RegExp;
  /** Of the good call. */
  readonly exitCode?: number;
  readonly wrong: readonly string[];
}

/** In an order in which each finds what it needs: a pending version, a previous one, a client that is enabled again. */
const CALLS: readonly Call[] = [
  { good: ['token', 'acme', 'customer-insights'], shows: /^fingerprint +[0-9a-f]{16}$/m, wrong: ['token'] },
  { good: ['whoami'], shows: /:role\/operator\n/, wrong: ['whoami', 'x'] },
  { good: ['client', 'list'], shows: /^acme +customer-insights +ok /m, wrong: ['client', 'list', 'x'] },
  { good: ['client', 'show', 'acme'], shows: /^AWSCURRENT /m, wrong: ['client', 'show'] },
  { good: ['client', 'check', 'acme'], shows: /customer-insights +accepted/, wrong: ['client', 'check'] },
  { good: ['client', 'put', 'acme'], input: WRONG, shows: /is AWSPENDING/, exitCode: 1, wrong: ['client', 'put'] },
  { good: ['client', 'promote', 'acme', '--force', '--yes'], shows: /is AWSCURRENT/, wrong: ['client', 'promote'] },
  { good: ['client', 'rollback', 'acme', '--yes'], shows: /is AWSCURRENT/, wrong: ['client', 'rollback'] },
  { good: ['client', 'disable', 'acme', '--yes'], shows: /acme is disabled/, wrong: ['client', 'disable', 'acme'] },
  { good: ['client', 'enable', 'acme', '--yes'], shows: /acme is enabled/, wrong: ['client', 'enable', 'acme'] },
  { good: ['client', 'retry', 'acme', '--yes'], shows: /^acme +customer-insights /m, wrong: ['client', 'retry'] },
  { good: ['health'], shows: /^acme +accepted +accepted$/m, wrong: ['health', '--every', '0'] },
  { good: ['doctor'], shows: /^ok +call /m, wrong: ['doctor', '--client', 'acme'] },
  { good: ['audit', 'acme'], shows: /:operator\S* +token +customer-insights +issued/, wrong: ['audit'] },
  { good: ['policy', ROLE, '--environment', 'dev'], shows: /"lambda:InvokeFunctionUrl"/, wrong: ['policy'] },
  {
    good: ['release', 'list', '--environment', 'prod'],
    shows: /^9 .* 100 %$/m,
    wrong: ['release', 'back', '--to', 'x'],
  },
  { good: ['sealing-key', 'rotate'], shows: /is AWSCURRENT\n/, wrong: ['sealing-key', 'rotate', 'x'] },
  { good: ['sealing-key', 'retire', '--force'], shows: /is retired\n/, wrong: ['sealing-key', 'x'] },
  { good: ['config', 'dev'], shows: /^account +111111111111 /m, wrong: ['config', 'nowhere'] },
  { good: ['service', 'customer-insights', '--recover'], shows: /^$/, wrong: ['service', 'customer-insights'] },
  { good: ['env', '--unset'], shows: /^unset /, wrong: ['env', 'operator', 'x'] },
  { good: ['completion', 'bash'], shows: /^_token_broker/, wrong: ['completion', 'tcsh'] },
  { good: ['client', 'delete', 'acme', '--yes'], shows: /marked for deletion/, wrong: ['client', 'delete'] },
];

describe('the command line as a process of its own', () => {
  let world: OperatorWorld;
  let close: () => Promise<void>;
  let lambda: LoopbackServer;
  beforeAll(async () => {
    ({ close, ...world } = await createOperatorWorld());
    const version = {
      Version: '9',
      FunctionVersion: '9',
      RevisionId: 'x',
      LastModified: '2026-01-09',
      CodeSha256: 'abc',
    };
    lambda = await startLoopbackServer(answerWith(200, { ...version, Versions: [version] }));
  });
  afterAll(async () => {
    await lambda.close();
    await close();
  });

  async function run(args: readonly string[], input?: object) {
    const child = startCommandLine(args, { ...world.shell, AWS_ENDPOINT_URL_LAMBDA: lambda.url });
    child.stdin.on('error', () => undefined).end(input === undefined ? '' : JSON.stringify(input));
    return finished(child);
  }

  it.each(CALLS)('runs $good and refuses $wrong', async ({ good, input, shows, exitCode = 0, wrong }) => {
    const result = await run(good, input);
    await world.eventsSettled();
    expect(result).toMatchObject({ exitCode, stdout: expect.stringMatching(shows) });
    expect(await run(wrong)).toEqual(ended(2, '', /\(--help shows how\)\n$/));
  });

  it('finds its AWS credentials as the SDK does', async () => {
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_PROFILE: 'nowhere' };
    for (const args of [['client', 'list'], ['token', 'acme', 'customer-insights'], ['doctor']]) {
      const { exitCode, stdout, stderr } = await finished(startCommandLine(args, { ...world.shell, ...none }));
      expect(exitCode).toBe(1);
      expect(stdout + stderr).toMatch(/AWS_PROFILE is "nowhere", and neither \S+config nor \S+credentials has such/);
    }
  });

  describe.skipIf(!hasTerminal)(`at a terminal${hasTerminal ? '' : ' (skipped: python3 is not installed)'}`, () => {
    const PUT = ['client', 'put', 'globex', '--create'];
    const dialogue = [
      ['client_id: ', `${NEW.client_id}\r`],
      ['secret: ', `${NEW.secret}\r`],
    ] as const;

    it('shows nothing of a secret that is typed', async () => {
      const { exitCode, screen } = await runAtTerminal(PUT, world.shell, dialogue);
      expect(screen).not.toContain(NEW.secret);
      expect(screen).toMatch(/client_id: .*acme-id-2.*secret: \r\n.*is AWSCURRENT/s);
      expect(exitCode).toBe(0);
    });

    it('ends with 130 on Ctrl-C at a question', async () => {
      const { exitCode, screen } = await runAtTerminal(PUT, world.shell, [['client_id: ', '\u0003']]);
      expect({ exitCode, isStored: screen.includes('Storing') }).toEqual({ exitCode: 130, isStored: false });
    });
  });
});

describe('the command line while it waits for the broker', () => {
  it('ends silently with 130 on Ctrl-C', async () => {
    const child = await startWaiting((waiting) => waiting.kill('SIGINT'));
    expect(await finished(child)).toEqual({ exitCode: 130, stdout: '', stderr: '' });
  });

  it('is silent when its output has no reader any more', async () => {
    const child = await startWaiting((waiting, answer) => {
      waiting.stdout.destroy();
      waiting.stdout.once('close', answer);
    });
    expect(await finished(child)).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('EPIPE') });
  });

  /** Starts `token`; `act` runs when its request has arrived and is not answered yet. */
  async function startWaiting(act: (child: ReturnType<typeof startCommandLine>, answer: () => void) => void) {
    const answer: Answer = (...call) => answerWith(200, issued(Date.now()))(...call);
    const server = await startLoopbackServer((...call) => act(child, () => answer(...call)));
    const child = startCommandLine(['token', 'acme', 'customer-insights', '--url', server.url]);
    child.once('close', () => void server.close());
    return child;
  }
});
