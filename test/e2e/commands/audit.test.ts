import { describe, expect, it } from 'vitest';
import { answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { beginCommandLine, runCommandLine } from './command-line.ts';
import { SERVICES, startOperatorWorld } from './operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
const AUDIT = ['audit', 'acme'];

/** A world in which `billing` got a token, the operator checked, and a stranger was refused. */
async function startWorld() {
  const world = await startOperatorWorld();
  await world.caller.token({ client: 'acme', service: INSIGHTS });
  await world.caller.token({ client: 'acme', service: INSIGHTS });
  await world.run(['client', 'check', 'acme', '--service', CLEANSING]);
  await world.run(['token', 'acme', INSIGHTS], { env: world.stranger });
  await world.run(['token', 'acme-2', INSIGHTS], { env: world.stranger });
  return world;
}

describe('audit', () => {
  it('shows who asked for what of a client, and what came of it, oldest first', async () => {
    const world = await startWorld();
    const { exitCode, stdout } = await world.run(AUDIT);
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^TIME +CALLER +OPERATION +SERVICE +OUTCOME +CACHE +FINGERPRINT$/),
      expect.stringMatching(/^\S+Z +111111111111:billing\/\S+ +token +customer-insights +issued +none +[0-9a-f]{16}$/),
      expect.stringMatching(
        /^\S+Z +111111111111:billing\/\S+ +token +customer-insights +issued +memory +[0-9a-f]{16}$/,
      ),
      expect.stringMatching(/:operator\/\S+ +check +merchant-payment-cleansing +accepted/),
      expect.stringMatching(/:stranger\/\S+ +token +customer-insights +access-denied/),
      '',
    ]);
  });

  it.each([
    ['a caller', ['--caller', 'billing'], ['issued', 'issued']],
    ['a caller by its ARN', ['--caller', 'arn:aws:iam::111111111111:role/operator'], ['accepted']],
    ['a caller of another account', ['--caller', 'arn:aws:iam::222222222222:role/operator'], []],
    ['an outcome', ['--outcome', 'access-denied'], ['access-denied']],
    ['a caller and an outcome', ['--caller', 'billing', '--outcome', 'access-denied'], []],
    ['a time', ['--since', '0s'], []],
  ])('shows with --json only what is asked for: %s', async (_, args, outcomes) => {
    const world = await startWorld();
    const { exitCode, stdout } = await world.run([...AUDIT, ...args, '--json']);
    expect(exitCode).toBe(0);
    const { calls, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({ environment: 'local', client: 'acme', since: expect.stringMatching(/Z$/) });
    expect(calls.map(({ outcome }: { readonly outcome: string }) => outcome)).toEqual(outcomes);
  });

  it('says so when there was no call', async () => {
    const world = await startOperatorWorld();
    expect(await world.run(['audit', 'globex'])).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: expect.stringMatching(/^No call about globex since \S+Z\.\n$/),
    });
  });

  it('goes on with --follow, tells each call once, and ends with Ctrl-C', async () => {
    const world = await startWorld();
    const following = beginCommandLine([...AUDIT, '--follow', '--json', '--caller', 'billing'], world.shell);
    const lines = () => following.output.stdout.split('\n').length - 1;
    await expect.poll(lines, { timeout: 60_000 }).toBe(2);
    await world.caller.token({ client: 'acme', service: CLEANSING });
    await expect.poll(lines, { timeout: 60_000 }).toBe(3);
    following.interrupt();
    const { exitCode, stdout } = await following.finished;
    expect(exitCode).toBe(130);
    const told = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(told.map(({ pair }) => pair)).toEqual([`acme/${INSIGHTS}`, `acme/${INSIGHTS}`, `acme/${CLEANSING}`]);
  });

  it('finds the log of an environment in AWS by asking for its function', async () => {
    const lambda = await startLoopbackServer(answerWith(200, { LoggingConfig: { LogGroup: 'token-broker-local' } }));
    const world = await startWorld();
    const env = { AWS_ENDPOINT_URL_LAMBDA: lambda.url, AWS_REGION: 'us-east-1' };
    const { exitCode, stdout } = await world.run([...AUDIT, '--environment', 'test'], { env });
    await lambda.close();
    expect(lambda.requests.map(({ url }) => url)).toEqual(['/2015-03-31/functions/token-broker-test/configuration']);
    expect({ exitCode, calls: stdout.trimEnd().split('\n').length - 1 }).toEqual({ exitCode: 0, calls: 4 });
  });

  it('explains why AWS does not show the log', async () => {
    const answer = answerWith(400, { __type: 'AccessDeniedException', message: 'marked-message' });
    const logs = await startLoopbackServer(answer);
    const { exitCode, stderr } = await runCommandLine(AUDIT, { AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs.url });
    await logs.close();
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^error: aws-access-denied: .*logs:FilterLogEvents in us-east-1 \(AccessDeniedException\)\n/,
    );
    expect(stderr).not.toContain('marked-message');
  });
});
