import { afterEach, describe, expect, it } from 'vitest';
import { ACCESS_TOKEN, AWS_ANSWERS, issued, PROBLEM_TYPES, problem } from '../../unit/client/broker-answers.ts';
import {
  type Answer,
  answerWith,
  type LoopbackServer,
  startLoopbackServer,
} from '../../unit/client/loopback-server.ts';
import { runCommandLine } from './command-line.ts';

const PAIR = ['--client', 'acme', '--service', 'customer-insights'];

let server: LoopbackServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function run(answer: Answer, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  server = await startLoopbackServer(answer);
  const result = await runCommandLine(['token', ...PAIR, ...args], { TOKEN_BROKER_URL: server.url, ...env });
  expect(result.stdout + result.stderr).not.toMatch(/marked-se/);
  return result;
}

function goodAnswer(members: Readonly<Record<string, unknown>> = {}): Answer {
  return answerWith(200, issued(Date.now(), members));
}

function withoutTimes(stdout: string) {
  const { expires_in, expires_at, ...rest } = JSON.parse(stdout);
  expect(expires_in).toBeGreaterThan(3_000);
  expect(Date.parse(expires_at)).not.toBeNaN();
  return rest;
}

describe('token', () => {
  it('sends what was asked for, signed as the AWS identity of the shell', async () => {
    await run(goodAnswer(), ['--min-ttl', '600', '--refused', '0123456789abcdef']);
    const [request] = server?.requests ?? [];
    expect(request?.headers.authorization).toMatch(/Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/lambda\//);
    expect(JSON.parse(request?.body ?? '')).toEqual({
      client: 'acme',
      service: 'customer-insights',
      min_ttl: 600,
      refused: '0123456789abcdef',
    });
  });

  it.each([
    ['arguments', ['acme', 'customer-insights']],
    ['an option and an argument', ['customer-insights', '--client', 'acme']],
    ['an argument and an option', ['--service', 'customer-insights', 'acme']],
  ])('takes client and service as %s', async (_, args) => {
    server = await startLoopbackServer(goodAnswer());
    expect(await runCommandLine(['token', ...args], { TOKEN_BROKER_URL: server.url })).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ client: 'acme', service: 'customer-insights' });
  });

  it('names the client in its advice also when it was an argument', async () => {
    server = await startLoopbackServer(problem('client-disabled'));
    const { stderr } = await runCommandLine(['token', 'acme', 'customer-insights'], { TOKEN_BROKER_URL: server.url });
    expect(stderr).toContain('client enable acme ends it');
  });

  it("tells the end of the token as the broker does, also when this machine's clock is wrong", async () => {
    const { stdout } = await run(goodAnswer({ expires_at: '2001-01-01T00:00:00.000Z' }), ['--json']);
    expect(JSON.parse(stdout)).toMatchObject({ expires_at: '2001-01-01T00:00:00.000Z' });
  });

  it('says when the token lives for less than --min-ttl', async () => {
    const { exitCode, stderr } = await run(goodAnswer(), ['--min-ttl', '7200', '--reveal']);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^The token lives for 359\d s, less than the 7200 s of --min-ttl: /);
    expect((await run(goodAnswer(), ['--min-ttl', '3000', '--reveal'])).stderr).toBe('');
  });

  it('prefers --url and --region to the environment', async () => {
    const other = { TOKEN_BROKER_URL: 'https://broker.example.com', AWS_REGION: 'ap-south-1' };
    server = await startLoopbackServer(goodAnswer());
    const args = ['token', ...PAIR, '--url', server.url, '--region', 'eu-west-1'];
    expect(await runCommandLine(args, other)).toMatchObject({ exitCode: 0 });
    expect(server.requests[0]?.headers.authorization).toContain('/eu-west-1/lambda/');
  });

  it('shows the fingerprint, and neither the token nor what the service sent along', async () => {
    const { exitCode, stdout, stderr } = await run(goodAnswer({ scope: 'read', refresh_token: 'marked-refresh' }));
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^token_type +Bearer\nexpires_in +35\d\d\nexpires_at +\S+Z\nexpiry_source +response\nfingerprint +0123456789abcdef\nscope +read\n$/,
    );
    expect(stderr).toBe('The token is hidden; --reveal shows it.\n');
  });

  it('shows everything with --reveal', async () => {
    const { stdout, stderr } = await run(goodAnswer({ refresh_token: 'marked-refresh' }), ['--reveal']);
    expect(stdout).toMatch(new RegExp(`^access_token +${ACCESS_TOKEN}$`, 'm'));
    expect(stdout).toMatch(/^refresh_token +marked-refresh$/m);
    expect(stderr).toBe('');
  });

  it('answers --json with one JSON document without the token', async () => {
    const { stdout, stderr } = await run(goodAnswer({ refresh_token: 'marked-refresh' }), ['--json']);
    expect(withoutTimes(stdout)).toEqual({
      token_type: 'Bearer',
      expiry_source: 'response',
      fingerprint: '0123456789abcdef',
    });
    expect(stderr).toBe('');
  });

  it('answers --json --reveal with the members of the broker', async () => {
    const { stdout } = await run(goodAnswer({ instance: 7 }), ['--json', '--reveal']);
    expect(withoutTimes(stdout)).toMatchObject({ access_token: ACCESS_TOKEN, token_type: 'Bearer', instance: 7 });
  });

  it('does not let a foreign text steer the terminal', async () => {
    const { stdout } = await run(goodAnswer({ scope: 'read\u001b[2J\u202e' }));
    expect(stdout).toContain('scope          read�[2J�\n');
  });
});

describe('token, refused or failed', () => {
  it('says what happened and what to do on stderr, and nothing on stdout', async () => {
    const result = await run(problem('access-denied'));
    expect(result).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: access-denied: What happened: access-denied. \(request request-1\)\nCompare both names with what whoami .*\n$/,
      ),
    });
  });

  it('answers --json with the problem as the broker sent it', async () => {
    const { exitCode, stdout, stderr } = await run(problem('credential-rejected'), ['--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      type: 'credential-rejected',
      title: 'The service rejected the client credential',
      status: 424,
      detail: 'What happened: credential-rejected.',
      retryable: false,
      request_id: 'request-1',
    });
    expect(stderr).toMatch(/^error: credential-rejected: /);
  });

  it('answers --json in the same shape when the answer is not from the broker', async () => {
    const { exitCode, stdout } = await run(answerWith(502, 'Internal Server Error'), ['--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      type: 'aws-function-failed',
      detail: 'AWS got no answer from the function behind the Function URL',
      status: 502,
      retryable: true,
    });
  });

  it('says when trying again makes sense, and does not do it itself', async () => {
    const { stderr } = await run(problem('token-endpoint-unavailable', { 'retry-after': '1' }));
    expect(stderr).toMatch(/\nTry again in 1 s\.\n$/);
    expect(server?.requests).toHaveLength(1);
  });

  it.each([
    ['--environment', ['--environment', 'prod'], {}, 'prod'],
    ['TOKEN_BROKER_ENVIRONMENT', [], { TOKEN_BROKER_ENVIRONMENT: 'dev' }, 'dev'],
    ['nothing', [], {}, 'local'],
  ])('names the secret of the environment that %s says', async (_, args, env, environment) => {
    const { stderr } = await run(problem('credential-missing'), args, env);
    expect(stderr).toContain(`token-broker/${environment}/acme`);
  });

  it('says that AWS credentials are missing', async () => {
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '' };
    const { exitCode, stderr } = await run(goodAnswer(), [], none);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: aws-credentials-unavailable: .*\nAttach a role, .*AWS_PROFILE/);
  });

  const failures = [
    ...PROBLEM_TYPES.map((type) => ({ name: type, type, answer: problem(type) })),
    ...AWS_ANSWERS,
    { name: 'a page that is not from the broker', type: 'unexpected-answer', answer: answerWith(404, '<html></html>') },
    { name: 'a connection that is reset', type: 'network-error', answer: resetConnection },
  ];

  it.each(failures)('explains $name', async ({ type, answer }) => {
    const { exitCode, stdout, stderr } = await run(answer);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^error: ${type}: .*\\n[A-Z].*\\.\n$`));
  });
});

function resetConnection(...[response]: Parameters<Answer>): void {
  response.socket?.resetAndDestroy();
}
