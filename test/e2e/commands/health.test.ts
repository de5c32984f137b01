import { PassThrough } from 'node:stream';
import { CreateSecretCommand, DeleteSecretCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import { healthText, type PairHealth, summaryOf } from '../../../bin/commands/health.ts';
import { startSecretsManager } from '../../support/stand-ins.ts';
import { checked } from '../../unit/client/broker-answers.ts';
import { answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { beginCommandLine, runCommandLine, SHELL_KEY, typeAtCommandLine, withoutProgress } from './command-line.ts';
import { OLD, type OperatorWorld, SERVICES, startOperatorWorld, WRONG } from './operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;

/** `globex`, on one service only, whose credential is wrong. */
async function addGlobex({ secretsManager }: OperatorWorld) {
  const command = {
    Name: 'token-broker/local/globex',
    SecretString: JSON.stringify(WRONG),
    Tags: [{ Key: 'services', Value: INSIGHTS }],
  };
  await secretsManager.send(new CreateSecretCommand(command));
}

describe('health', () => {
  it('shows a table of clients and services, and ends with 0 when all is well', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['health']);
    expect({ exitCode, said: withoutProgress(stderr) }).toEqual({ exitCode: 0, said: '2 pairs: 2 accepted\n' });
    expect(stdout).toBe(`CLIENT  ${INSIGHTS}  ${CLEANSING}\nacme    accepted           accepted\n`);
  });

  it('ends with 1 when there is nothing to check, and asks whether that is meant', async () => {
    const world = await startOperatorWorld();
    await world.secretsManager.send(new DeleteSecretCommand({ SecretId: 'token-broker/local/acme' }));
    const { exitCode, stderr } = await world.run(['health']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^0 pairs\nThere is nothing to check: is it the right environment, and is there a client\?\n/,
    );
  });

  it('names the clients whose credential is old, which alone is nothing wrong', async () => {
    const standIn = await startSecretsManager({ keys: [SHELL_KEY], now: () => Date.now() - 366 * 24 * 60 * 60_000 });
    onTestFinished(standIn.close);
    const secret = standIn.store.create('token-broker/dev/acme', { Tags: [{ Key: 'services', Value: INSIGHTS }] });
    secret.versions.add('version-1'.padEnd(32, '0'), { SecretString: JSON.stringify(OLD) }, ['AWSCURRENT']);
    const answer = answerWith(200, checked({ client: 'acme', service: INSIGHTS }));
    const broker = await startLoopbackServer(answer);
    onTestFinished(broker.close);
    const env = { TOKEN_BROKER_URL: broker.url, AWS_ENDPOINT_URL_SECRETS_MANAGER: standIn.url };
    const { exitCode, stderr } = await runCommandLine(['health', '--environment', 'dev'], env);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      /\nacme: the credential is older than 365 days \(credentialMaxAgeDays\); client put rotates it\.\n$/,
    );
  });

  it('ends with 1 when a credential does not work, and leaves out what a client does not have', async () => {
    const world = await startOperatorWorld();
    await addGlobex(world);
    const { exitCode, stdout, stderr } = await world.run(['health']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^globex +rejected +-$/m);
    expect(withoutProgress(stderr)).toBe('3 pairs: 2 accepted, 1 rejected\n');
  });

  it('does not count a disabled client as a failure', async () => {
    const world = await startOperatorWorld();
    await world.run(['client', 'disable', 'acme', '--yes']);
    const { exitCode, stderr } = await world.run(['health']);
    expect({ exitCode, said: withoutProgress(stderr) }).toEqual({ exitCode: 0, said: '2 pairs: 2 disabled\n' });
  });

  it('answers --json with a finding for each pair', async () => {
    const world = await startOperatorWorld();
    await addGlobex(world);
    const { stdout } = await world.run(['health', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      environment: 'local',
      checks: [
        { client: 'acme', service: INSIGHTS, finding: 'accepted' },
        { client: 'acme', service: CLEANSING, finding: 'accepted' },
        { client: 'globex', service: INSIGHTS, finding: 'rejected' },
      ],
    });
  });

  it('says only once what keeps it from asking', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['health', '--region', 'eu-west-1']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^error: aws-wrong-scope: .*\n.*region.*\n$/);
  });
});

describe('health --watch', () => {
  const WATCH = ['health', '--watch', '--every', '1'];

  it('shows one table after the other until Ctrl-C, also what has changed', async () => {
    const world = await startOperatorWorld();
    const watching = beginCommandLine(WATCH, world.shell);
    const seen = () => watching.output.stdout;
    await expect.poll(seen, { timeout: 60_000 }).toMatch(/2 pairs: 2 accepted/);
    await addGlobex(world);
    await expect.poll(seen, { timeout: 60_000 }).toMatch(/2 pairs: .*3 pairs: 2 accepted, 1 rejected/s);
    watching.interrupt();
    const { exitCode, stdout, stderr } = await watching.finished;
    expect({ exitCode, said: withoutProgress(stderr) }).toEqual({ exitCode: 130, said: '' });
    expect(stdout).not.toContain('\u001b');
  });

  it('goes on when one look in between fails', async () => {
    const world = await startOperatorWorld();
    const seen = () => watching.output.screen;
    const broker = await startLoopbackServer((response, request) => {
      const isDown = seen() !== '' && !seen().includes('error');
      const { client, service, stage } = JSON.parse(request.body);
      const answer = isDown ? answerWith(404, 'nothing here') : answerWith(200, checked({ client, service, stage }));
      answer(response, request);
    });
    onTestFinished(broker.close);
    const watching = beginCommandLine([...WATCH, '--url', broker.url], world.shell);
    await expect.poll(seen, { timeout: 60_000 }).toMatch(/accepted.*error: unexpected-answer.*accepted/s);
    watching.interrupt();
    expect(await watching.finished).toMatchObject({ exitCode: 130 });
  });

  it('ends with 1 when already the first look fails', async () => {
    const world = await startOperatorWorld();
    const broker = await startLoopbackServer(answerWith(404, ''));
    const result = await world.run([...WATCH, '--url', broker.url]);
    await broker.close();
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
  });
});

describe('health at a terminal', () => {
  const GREEN = '\u001b[32maccepted';

  it('has colours, unless NO_COLOR is set', async () => {
    const { shell } = await startOperatorWorld();
    expect((await typeAtCommandLine(['health'], shell, [])).screen).toContain(GREEN);
    expect((await typeAtCommandLine(['health'], { ...shell, NO_COLOR: '' }, [])).screen).toContain(GREEN);
    const { screen } = await typeAtCommandLine(['health'], { ...shell, NO_COLOR: '1' }, []);
    expect(screen).toContain('accepted');
    expect(screen).not.toContain('\u001b');
  });

  it('repaints while it watches', async () => {
    const { shell } = await startOperatorWorld();
    const screen = Object.assign(new PassThrough(), { isTTY: true });
    const watching = beginCommandLine(['health', '--watch', '--every', '1'], shell, screen);
    const painted = () => watching.output.stdout.split('\u001b[H\u001b[J').length;
    await expect.poll(painted, { timeout: 60_000 }).toBe(3);
    watching.interrupt();
    expect(await watching.finished).toMatchObject({ exitCode: 130 });
  });
});

describe('health --run', () => {
  it('lets the local broker check everything and tell its operators, then shows how the pairs are', async () => {
    const world = await startOperatorWorld();
    await addGlobex(world);
    const { exitCode, stdout, stderr } = await world.run(['health', '--run']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^acme +accepted +accepted\nglobex +rejected +-$/m);
    expect(withoutProgress(stderr)).toBe('3 pairs: 2 accepted, 1 rejected\n');
    expect(world.messages.map(({ subject }) => subject)).toEqual([expect.stringMatching(/globex/)]);
  });

  it.each([
    ['there is no local broker', '', /^error: control-unknown: /],
    ['it is elsewhere', 'http://broker.example.com', /^error: control-unknown: /],
  ])('says when %s', async (_, url, message) => {
    const { exitCode, stdout, stderr } = await runCommandLine(['health', '--run'], { TOKEN_BROKER_CONTROL_URL: url });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('says when it does not answer', async () => {
    const control = await startLoopbackServer(() => undefined);
    await control.close();
    const { exitCode, stderr } = await runCommandLine(['health', '--run'], { TOKEN_BROKER_CONTROL_URL: control.url });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: control-unreachable: The local broker .* has ended\.\n/);
  });

  it('says when the run fails', async () => {
    const control = await startLoopbackServer(answerWith(500, { message: `marked-${OLD.secret}` }));
    const { exitCode, stderr } = await runCommandLine(['health', '--run'], { TOKEN_BROKER_CONTROL_URL: control.url });
    await control.close();
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: control-failed: The local broker answered 500\n/);
    expect(stderr).not.toContain('marked');
  });
});

const CHECKED: readonly PairHealth[] = [
  { client: 'acme', service: 'customer-insights', finding: 'accepted' },
  { client: 'acme', service: 'merchant-cleansing', finding: 'unreachable' },
  { client: 'globex', service: 'customer-insights', finding: 'rejected' },
  { client: 'initech', service: 'merchant-cleansing', finding: 'accepted' },
];

it('a health check says the same, whichever pair answered first', () => {
  expect(summaryOf(CHECKED)).toBe('4 pairs: 2 accepted, 1 rejected, 1 unreachable');
  expect(summaryOf(CHECKED.toReversed())).toBe(summaryOf(CHECKED));
  expect(healthText(CHECKED.toReversed(), false)).toBe(healthText(CHECKED, false));
});

it('a health check of nothing says so', () => {
  expect(summaryOf([])).toBe('0 pairs');
});
