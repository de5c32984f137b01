import { expect, it as plain } from 'vitest';
import { ACCESS_TOKEN, AWS_ANSWERS, issued, problem } from '../../unit/client/broker-answers.ts';
import { type Answer, answerWith } from '../../unit/client/loopback-server.ts';
import { answering, ended, runCommandLine, typeAtCommandLine } from './shared/command-line.ts';
import { it } from './shared/operator-world.ts';

const PAIR = '--client acme --service customer-insights';

async function run(answer: Answer, args = PAIR, env: Readonly<Record<string, string>> = {}) {
  const { url, requests } = await answering(answer);
  const command = `token ${args.replace('URL', url)}`.split(' ');
  const result = await runCommandLine(command, { TOKEN_BROKER_URL: url, ...env });
  expect(result.stdout + result.stderr).not.toMatch(/marked-se/);
  return { result, requests };
}

function goodAnswer(members: Readonly<Record<string, unknown>> = {}): Answer {
  return answerWith(200, issued(Date.now(), members));
}

plain.each([
  ['acme customer-insights', {}],
  ['--service customer-insights acme', {}],
  ['--client acme customer-insights', {}],
  [`${PAIR} --min-ttl 600 --refused 0123456789abcdef`, { min_ttl: 600, refused: '0123456789abcdef' }],
])('token sends what was asked for, signed as the AWS identity of the shell: %s', async (args, more) => {
  const { result, requests } = await run(goodAnswer(), args);
  expect(result.exitCode).toBe(0);
  expect(requests).toHaveLength(1);
  expect(requests[0]?.headers.authorization).toMatch(/Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/lambda\//);
  expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ client: 'acme', service: 'customer-insights', ...more });
});

plain('token prefers --url and --region to the variables', async () => {
  const other = { TOKEN_BROKER_URL: 'https://broker.example.com', AWS_REGION: 'ap-south-1' };
  const { requests } = await run(goodAnswer(), `${PAIR} --url URL --region eu-west-1`, other);
  expect(requests[0]?.headers.authorization).toContain('/eu-west-1/lambda/');
});

plain('token shows the fingerprint; --reveal shows the token and the other members of the answer', async () => {
  const { result } = await run(goodAnswer({ scope: 'read\u001b[2J\u202e', refresh_token: 'marked-refresh' }));
  // A foreign text does not steer the terminal.
  const rows =
    /^token_type +Bearer\nexpires_in +35\d\d\nexpires_at +\S+Z\nexpiry_source +response\nfingerprint +0123456789abcdef\nscope {10}read�\[2J�\n$/;
  expect(result).toEqual(ended(0, rows, 'The token is hidden; --reveal shows it.\n'));
  const revealed = await run(goodAnswer({ refresh_token: 'marked-refresh' }), `${PAIR} --reveal --min-ttl 7200`);
  const all = new RegExp(`^access_token +${ACCESS_TOKEN}\n.*^refresh_token +marked-`, 'ms');
  const warning = /^The token lives for 359\d s, less than the 7200 s of --min-ttl: /;
  expect(revealed.result).toEqual(ended(0, all, warning));
});

plain.each([
  ['--json', {}],
  ['--json --reveal', { access_token: ACCESS_TOKEN, refresh_token: 'marked-refresh', instance: 7 }],
])('token answers %s with one JSON document, with the end as the broker tells it', async (options, more) => {
  // The clock of this machine may be wrong.
  const expires_at = '2001-01-01T00:00:00.000Z';
  const answer = goodAnswer({ refresh_token: 'marked-refresh', instance: 7, expires_at });
  const { result } = await run(answer, `${PAIR} ${options}`);
  const { expires_in, ...told } = JSON.parse(result.stdout);
  expect(expires_in).toBeGreaterThan(3_000);
  const shown = { token_type: 'Bearer', expires_at, expiry_source: 'response', fingerprint: '0123456789abcdef' };
  expect(told).toEqual({ ...shown, ...more });
  expect(result.stderr).toBe('');
});

plain('token --raw prints only the token, for a pipe or a file', async () => {
  const answer = goodAnswer({ refresh_token: 'marked-refresh' });
  expect((await run(answer, `${PAIR} --raw`)).result).toEqual(ended(0, `${ACCESS_TOKEN}\n`));
});

plain('token --raw shows a token at a terminal only with --reveal', async () => {
  const { url, requests } = await answering(goodAnswer());
  const type = (options: string) =>
    typeAtCommandLine(`token ${PAIR} --raw ${options}`.trim().split(' '), { TOKEN_BROKER_URL: url }, []);
  expect(await type('')).toEqual({ exitCode: 2, screen: expect.stringMatching(/^error: --raw .* add --reveal/) });
  expect(requests).toEqual([]);
  expect(await type('--reveal')).toEqual({ exitCode: 0, screen: `${ACCESS_TOKEN}\n` });
});

plain('token shows no backticks of Markdown, which a terminal does not render', async () => {
  const { result } = await run(problem('token-response-unusable'));
  expect(result.stderr).toMatch(/response settings; response_shape/);
  const body = { type: 'internal', title: 'x', status: 500, detail: 'Its member `a.b` is wrong.', retryable: true };
  const quoting = answerWith(500, body, { 'content-type': 'application/problem+json' });
  expect((await run(quoting)).result.stderr).toMatch(/^error: internal: Its member a\.b is wrong\.\n/);
});

plain('token --json tells a problem as the broker sent it, and another failure in the same shape', async () => {
  const told = async (answer: Answer) => JSON.parse((await run(answer, `${PAIR} --json`)).result.stdout);
  const rejected = { type: 'credential-rejected', status: 424, retryable: false, request_id: 'request-1' };
  expect(await told(problem('credential-rejected'))).toMatchObject(rejected);
  const failed = { type: 'aws-function-failed', detail: expect.any(String), status: 502, retryable: true };
  expect(await told(answerWith(502, 'Internal Server Error'))).toEqual(failed);
});

plain('token says when trying again makes sense, and does not do it itself', async () => {
  const { result, requests } = await run(problem('token-endpoint-unavailable', { 'retry-after': '1' }));
  expect(result.stderr).toMatch(/\nTry again in 1 s\.\n$/);
  expect(requests).toHaveLength(1);
});

plain.each([
  ['prod', `${PAIR} --environment prod`, {}],
  ['dev', PAIR, { TOKEN_BROKER_ENVIRONMENT: 'dev' }],
  ['local', 'acme customer-insights', {}],
])('token names the secret of the environment that is said, else that of local: %s', async (environment, args, env) => {
  const { result } = await run(problem('credential-missing'), args, env);
  expect(result.stderr).toContain(`token-broker/${environment}/acme`);
});

plain.each<{ name: string; type: string; answer: Answer; env?: Record<string, string> }>([
  { name: 'a problem', type: 'credential-rejected', answer: problem('credential-rejected') },
  ...AWS_ANSWERS.slice(0, 1),
  { name: 'a page that is not from the broker', type: 'unexpected-answer', answer: answerWith(404, '<html></html>') },
  { name: 'a reset', type: 'network-error', answer: (response) => response.socket?.resetAndDestroy() },
  { name: 'no key', type: 'aws-credentials-unavailable', answer: goodAnswer(), env: { AWS_ACCESS_KEY_ID: '' } },
])('token explains $name on stderr, with what to do', async ({ type, answer, env }) => {
  const { result } = await run(answer, PAIR, env);
  expect(result).toEqual(ended(1, '', new RegExp(`^error: ${type}: .*\\n[A-Z].*\\.\n$`)));
});

const OPERATOR = 'arn:aws:iam::111111111111:role/operator';
const STRANGER = 'arn:aws:iam::111111111111:role/stranger';

it('whoami prints the role that signs, and a line for each of its access rules', async ({ world }) => {
  expect(await world.run('whoami')).toEqual(ended(0, `${OPERATOR}\ntoken, check for all clients on all services\n`));
  const rules = [{ clients: 'all', services: 'all', operations: ['token', 'check'] }];
  expect(await world.json('whoami')).toEqual({ role: OPERATOR, account: '111111111111', rules });
  expect(world.tokenService.requests).toEqual([]);
  const unknown = ended(1, '', /^error: aws-security-token-invalid/);
  expect(await world.run('whoami', { env: { AWS_ACCESS_KEY_ID: 'AKIDUNKNOWN' } })).toEqual(unknown);
});

it('whoami is no failure for a role without a rule, and shows a refused token too', async ({
  world: { run: runInWorld, stranger },
}) => {
  const advice = 'No access rule names this role: ask the operators of the broker for one.\n';
  expect(await runInWorld('whoami', { env: stranger })).toEqual(ended(0, `${STRANGER}\n`, advice));
  const { exitCode, stdout, stderr } = await runInWorld('token acme customer-insights --json', { env: stranger });
  const caller = { role: STRANGER, account: '111111111111', rules: [] };
  expect({ exitCode, told: JSON.parse(stdout) }).toMatchObject({ exitCode: 1, told: { caller } });
  expect(stderr).toMatch(/^error: access-denied: .*\/whoami.* Your role is \S+\/stranger; no access rule names it$/m);
});
