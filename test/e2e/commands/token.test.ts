import { describe, expect, it, onTestFinished } from 'vitest';
import { ACCESS_TOKEN, AWS_ANSWERS, issued, PROBLEM_TYPES, problem } from '../../unit/client/broker-answers.ts';
import { type Answer, answerWith, startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { ended, runCommandLine } from './command-line.ts';

const PAIR = '--client acme --service customer-insights';
const HIDDEN = 'The token is hidden; --reveal shows it.\n';

async function run(answer: Answer, args = PAIR, env: Readonly<Record<string, string>> = {}) {
  const { url, requests, close } = await startLoopbackServer(answer);
  onTestFinished(close);
  const command = `token ${args.replace('URL', url)}`.split(' ');
  const result = await runCommandLine(command, { TOKEN_BROKER_URL: url, ...env });
  expect(result.stdout + result.stderr).not.toMatch(/marked-se/);
  return { result, requests };
}

function goodAnswer(members: Readonly<Record<string, unknown>> = {}): Answer {
  return answerWith(200, issued(Date.now(), members));
}

describe('token', () => {
  it.each([
    ['acme customer-insights', {}],
    ['--service customer-insights acme', {}],
    [`${PAIR} --min-ttl 600 --refused 0123456789abcdef`, { min_ttl: 600, refused: '0123456789abcdef' }],
  ])('sends what was asked for, signed as the AWS identity of the shell: %s', async (args, more) => {
    const { result, requests } = await run(goodAnswer(), args);
    expect(result.exitCode).toBe(0);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.headers.authorization).toMatch(/Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/lambda\//);
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ client: 'acme', service: 'customer-insights', ...more });
  });

  it('names the client in its advice also when it was an argument', async () => {
    const { result } = await run(problem('client-disabled'), 'acme customer-insights');
    expect(result.stderr).toContain('client enable acme ends it');
  });

  it('prefers --url and --region to the environment', async () => {
    const other = { TOKEN_BROKER_URL: 'https://broker.example.com', AWS_REGION: 'ap-south-1' };
    const { requests } = await run(goodAnswer(), `${PAIR} --url URL --region eu-west-1`, other);
    expect(requests[0]?.headers.authorization).toContain('/eu-west-1/lambda/');
  });

  it('shows the fingerprint, and neither the token nor what the service sent along', async () => {
    const { result } = await run(goodAnswer({ scope: 'read\u001b[2J\u202e', refresh_token: 'marked-refresh' }));
    // A foreign text does not steer the terminal.
    const rows =
      /^token_type +Bearer\nexpires_in +35\d\d\nexpires_at +\S+Z\nexpiry_source +response\nfingerprint +0123456789abcdef\nscope {10}read�\[2J�\n$/;
    expect(result).toEqual(ended(0, rows, HIDDEN));
  });

  it('shows everything with --reveal, and says when the token lives for less than --min-ttl', async () => {
    const { result } = await run(goodAnswer({ refresh_token: 'marked-refresh' }), `${PAIR} --reveal --min-ttl 3000`);
    expect(result).toEqual(ended(0, new RegExp(`^access_token +${ACCESS_TOKEN}\n.*^refresh_token +marked-`, 'ms')));
    const shorter = await run(goodAnswer(), `${PAIR} --min-ttl 7200 --reveal`);
    const warning = /^The token lives for 359\d s, less than the 7200 s of --min-ttl: /;
    expect(shorter.result).toEqual(ended(0, /./, warning));
  });

  it.each([
    ['--json', {}],
    ['--json --reveal', { access_token: ACCESS_TOKEN, refresh_token: 'marked-refresh', instance: 7 }],
  ])('answers %s with one JSON document, with the end as the broker tells it', async (options, more) => {
    // The clock of this machine may be wrong.
    const members = { refresh_token: 'marked-refresh', instance: 7, expires_at: '2001-01-01T00:00:00.000Z' };
    const { result } = await run(goodAnswer(members), `${PAIR} ${options}`);
    const { expires_in, ...told } = JSON.parse(result.stdout);
    expect(expires_in).toBeGreaterThan(3_000);
    expect(told).toEqual({
      token_type: 'Bearer',
      expires_at: members.expires_at,
      expiry_source: 'response',
      fingerprint: '0123456789abcdef',
      ...more,
    });
    expect(result.stderr).toBe('');
  });
});

describe('token, refused or failed', () => {
  it('says what happened and what to do on stderr, and nothing on stdout', async () => {
    const { result } = await run(problem('access-denied'));
    const words =
      /^error: access-denied: What happened: access-denied. \(request request-1\)\nCompare both names with what whoami .*\n$/;
    expect(result).toEqual(ended(1, '', words));
  });

  it.each<readonly [what: string, answer: Answer, told: object]>([
    [
      'the problem as the broker sent it',
      problem('credential-rejected'),
      {
        type: 'credential-rejected',
        title: 'The service rejected the client credential',
        status: 424,
        detail: 'What happened: credential-rejected.',
        retryable: false,
        request_id: 'request-1',
      },
    ],
    [
      'the same shape when the answer is not from the broker',
      answerWith(502, 'Internal Server Error'),
      {
        type: 'aws-function-failed',
        detail: 'AWS got no answer from the function behind the Function URL',
        status: 502,
        retryable: true,
      },
    ],
  ])('answers --json with %s', async (_, answer, told) => {
    const { result } = await run(answer, `${PAIR} --json`);
    expect(result).toEqual(ended(1, /./, /^error: /));
    expect(JSON.parse(result.stdout)).toEqual(told);
  });

  it('says when trying again makes sense, and does not do it itself', async () => {
    const { result, requests } = await run(problem('token-endpoint-unavailable', { 'retry-after': '1' }));
    expect(result.stderr).toMatch(/\nTry again in 1 s\.\n$/);
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['prod', `${PAIR} --environment prod`, {}],
    ['dev', PAIR, { TOKEN_BROKER_ENVIRONMENT: 'dev' }],
    ['local', PAIR, {}],
    ['local', 'acme customer-insights', {}],
  ])('names the secret of the environment that is said, else that of local: %s', async (environment, args, env) => {
    const { result } = await run(problem('credential-missing'), args, env);
    expect(result.stderr).toContain(`token-broker/${environment}/acme`);
  });

  it('says that AWS credentials are missing', async () => {
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '' };
    const { result } = await run(goodAnswer(), PAIR, none);
    const advice = /^error: aws-credentials-unavailable: .*\nAttach a role, .*AWS_PROFILE/;
    expect(result).toEqual(ended(1, '', advice));
  });

  it.each([
    ...PROBLEM_TYPES.map((type) => ({ name: type, type, answer: problem(type) })),
    ...AWS_ANSWERS,
    { name: 'a page that is not from the broker', type: 'unexpected-answer', answer: answerWith(404, '<html></html>') },
    { name: 'a connection that is reset', type: 'network-error', answer: resetConnection },
  ])('explains $name', async ({ type, answer }) => {
    const { result } = await run(answer);
    expect(result).toEqual(ended(1, '', new RegExp(`^error: ${type}: .*\\n[A-Z].*\\.\n$`)));
  });
});

function resetConnection(...[response]: Parameters<Answer>): void {
  response.socket?.resetAndDestroy();
}
