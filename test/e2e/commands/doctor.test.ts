import { createServer } from 'node:https';
import { DeleteSecretCommand, PutSecretValueCommand, TagResourceCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished } from 'vitest';
import { listen } from '../../../bin/local/loopback.ts';
import type { Cause } from '../../../client/commands/step.ts';
import { createCertificateAuthority } from '../../support/certificates.ts';
import { startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { startFront } from './aws-front.ts';
import { ended, runCommandLine } from './command-line.ts';
import { it, type OperatorWorld, SERVICES, startOperatorWorld } from './operator-world.ts';

const [INSIGHTS] = SERVICES;
const DOCTOR = `doctor --client acme --service ${INSIGHTS}`;

interface Situation {
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** A situation for each cause that only `doctor` finds: without one of them this does not compile. */
const FOUND: Readonly<Record<Cause, () => Promise<Situation>>> = {
  'url-missing': async () => ({ env: {} }),
  'url-malformed': async () => ({ env: { TOKEN_BROKER_URL: 'https://broker.example.com/token' } }),
  'region-missing': async () => ({ env: { TOKEN_BROKER_URL: 'https://broker.example.com' } }),

  'aws-credentials-missing': () => front({}, { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }),
  'aws-credentials-expired': () => front({}, { AWS_CREDENTIAL_EXPIRATION: '2020-01-01T00:00:00Z' }),
  'aws-credentials-invalid': () => front({ identity: 'InvalidClientTokenId' }),
  'caller-not-a-role': () => front({ identity: 'arn:aws:iam::111111111111:user/jane' }),

  'dns-failed': async () => ({ env: { TOKEN_BROKER_URL: 'https://broker.invalid' }, args: ['--region', 'eu-west-1'] }),
  'connection-failed': async () => ({ env: { TOKEN_BROKER_URL: await closedPort() } }),
  'tls-failed': async () => ({ env: { TOKEN_BROKER_URL: await startUntrustedServer() } }),
  'no-answer': () => front({ unsigned: 'hang' }),
  'not-a-broker': () => front({ unsigned: 'page' }),
  'function-url-unknown': () => front({ unsigned: 'unknown-url' }),
  'clock-behind': () => front({ clockMs: 600_000 }),
  'clock-ahead': () => front({ clockMs: -600_000 }),

  'permission-account': () => front({ call: 'aws-forbidden', policy: [] }),
  'permission-invoke-function-url': () => front({ call: 'aws-forbidden', policy: ['lambda:InvokeFunction'] }),
  'permission-invoke-function': () => front({ call: 'aws-forbidden', policy: ['lambda:InvokeFunctionUrl'] }),
  'permission-identity': () =>
    front({ call: 'aws-forbidden', policy: ['lambda:InvokeFunctionUrl', 'lambda:InvokeFunction'] }),

  'services-not-repeated': async () => {
    const { env } = await withWorld(({ secretsManager }) =>
      secretsManager.send(new TagResourceCommand({ ...SECRET, Tags: [{ Key: 'services', Value: INSIGHTS }] })),
    );
    return { env, args: ['--operator'] };
  },
  'operators-unreachable': async () => {
    const { shell } = await startOperatorWorld();
    const { url } = await startFront({ subscribers: 0 });
    return { env: { ...shell, ...OF_AWS(url) }, args: ['--operator', '--environment', 'dev'] };
  },
  'secret-deleted': () => withWorld((world) => world.secretsManager.send(new DeleteSecretCommand(SECRET))),
  'secret-denied': () => front({ call: 'secrets-unavailable' }),
  'token-path-wrong': () => withWorld(answering(404, '{"error":"not_found"}')),
};

/** Situations in which the failure of the call itself is the cause. */
const FAILED = {
  'aws-wrong-scope': async () => ({ env: (await startOperatorWorld()).shell, args: ['--region', 'eu-west-1'] }),
  'aws-credentials-unavailable': () => front({}, { AWS_ACCESS_KEY_ID: 'AKID EXAMPLE' }),
  'aws-security-token-invalid': () => withWorld(async () => ({ AWS_ACCESS_KEY_ID: 'AKIDUNKNOWN' })),
  'aws-signature-mismatch': () => withWorld(async () => ({ AWS_SECRET_ACCESS_KEY: 'not-the-key' })),
  'aws-throttled': () => front({ call: 'aws-throttled' }),
  'aws-function-failed': () => front({ call: 'aws-function-failed' }),
  'aws-refused': () => front({ call: 'aws-refused' }),
  'aws-forbidden': () => front({ call: 'aws-forbidden', policy: 'denied' }),
  'access-denied': () => withWorld(async ({ stranger }) => stranger),
  'client-disabled': () => withWorld(({ run }) => run('client disable acme --yes')),
  'credential-missing': async () => ({ env: (await startOperatorWorld()).shell, args: ['--client', 'globex'] }),
  'credential-malformed': () => withWorld((world) => store(world, '{"client_id":"marked-id"}')),
  'secrets-unavailable': () => front({ call: 'secrets-unavailable', retryAfterSeconds: 1 }),
  'credential-rejected': () => withWorld(answering(401, '')),
  'token-endpoint-error': () => withWorld(answering(400, '{"error":"invalid_request"}')),
  'token-response-unusable': () => withWorld(answering(200, '{"a":"marked-value"}')),
  'token-endpoint-unavailable': () => withWorld(answering(503, '')),
  'token-endpoint-timeout': () => withWorld(async ({ tokenService }) => tokenService.fault('hang')),
  internal: () => front({ call: 'internal' }),
} satisfies Readonly<Record<string, () => Promise<Situation>>>;

describe('doctor names the cause', () => {
  it.each(Object.entries<() => Promise<Situation>>({ ...FOUND, ...FAILED }))('%s', async (cause, arrange) => {
    const { env, args = [] } = await arrange();
    const { exitCode, stdout, stderr } = await runCommandLine([...DOCTOR.split(' '), ...args, '--json'], env);
    const diagnosis = JSON.parse(stdout);
    expect(diagnosis, stdout).toMatchObject({ ok: false, cause, advice: expect.any(String) });
    expect(exitCode).toBe(1);
    expect(stderr).toBe(`${cause}: ${diagnosis.advice}\n`);
    expect(stdout).not.toMatch(/marked-/);
  });
});

describe('doctor', () => {
  it('shows every step to a person, and that nothing is wrong', async ({ world }) => {
    const steps = [
      /ok {6}url {14}127\.0\.0\.1:\d+, signed for us-east-1/,
      /ok {6}aws-credentials {2}AKIDOPERATOR, lasting ones/,
      /ok {6}connection {7}A Function URL answers, 403.*/,
      /ok {6}clock {12}This clock is right/,
      /\? {7}identity {9}A local broker.*/,
      /ok {6}call {13}A token was issued, [0-9a-f]{16}, until .*/,
    ];
    const all = new RegExp(`^${steps.map(({ source }) => `${source}\n`).join('')}$`);
    expect(await world.run(DOCTOR)).toEqual(ended(0, all, 'Nothing is wrong.\n'));
  });

  it('finds out without a pair whether the broker can be called', async ({ world: { run, tokenService } }) => {
    expect(await run('doctor')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/call +The broker takes your signature/),
    });
    expect(tokenService.requests).toEqual([]);
  });

  it('tries both documented token paths with --auth-url, also when the call succeeds', async ({ world }) => {
    const told =
      /ok +call +A token was issued.*\nok +token-path +\/auth\/v1\/token answers 401, .*set tokenPath to \/auth\/v1\/token\n$/;
    const result = await world.run(`${DOCTOR} --auth-url ${world.tokenService.authUrl(INSIGHTS)}`);
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(told) });
  });

  it('looks with --operator at the services of every secret, and says when it may not', async ({ world: { run } }) => {
    const told = (line: RegExp) => ({ exitCode: 0, stdout: expect.stringMatching(line) });
    const good = told(/\nok {6}services {9}Every secret names the services of its tag\n$/);
    expect(await run(`${DOCTOR} --operator`)).toMatchObject(good);
    const { url } = await startFront({});
    const refused = await run(`${DOCTOR} --operator`, { env: { AWS_ENDPOINT_URL_SECRETS_MANAGER: url } });
    expect(refused).toMatchObject(told(/\n\? {7}services {9}You cannot list/));
  });

  it.for<readonly [roles: NonNullable<Parameters<typeof startFront>[0]['roles']>, line: RegExp]>([
    [
      { ci: 'allowed', billing: 'implicitDeny', jane: 'allowed' },
      /^\? .*guard is attached, these may: \S+\/ci, \S+\/jane$/,
    ],
    [{ billing: 'explicitDeny', 'aws-service-role/x': 'allowed' }, /^ok .*None of the 1 roles of account 111111111111/],
    [{ ci: 'denied', billing: 'implicitDeny' }, /^\? .*nothing of 1 roles \(iam:SimulatePrincipalPolicy\)$/],
    [{}, /^\? .*You cannot list the roles of account 111111111111 \(iam:ListRoles\)$/],
  ])(
    'tells an operator of the roles that may invoke the function past its URL: %o',
    async ([roles, line], { world }) => {
      const { url, requests } = await startFront({ roles, subscribers: 2 });
      const { exitCode, stdout } = await world.run('doctor --operator --environment dev', { env: OF_AWS(url) });
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/\nok +operators +Confirmed subscriptions of \S+:token-broker-dev: 2\n/);
      expect(stdout.trimEnd().split('\n').at(-1)).toMatch(line);
      for (const { body } of requests.filter(({ body }) => body.includes('PolicySourceArn'))) {
        expect(Object.fromEntries(new URLSearchParams(body))).toMatchObject({
          'ActionNames.member.1': 'lambda:InvokeFunction',
          'ResourceArns.member.2': 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-dev:live',
          'ContextEntries.member.1.ContextKeyValues.member.1': 'false',
        });
      }
    },
  );

  it('says who you are, and what the broker lets you do when no rule covers the call', async ({ world }) => {
    const identity = 'arn:aws:sts::222222222222:assumed-role/reporting/jane';
    const { env } = await front({ call: 'access-denied', identity });
    const { stdout } = await runCommandLine(DOCTOR.split(' '), env);
    expect(stdout).toMatch(/identity +You are arn:aws:sts::222222222222:assumed-role\/reporting\/jane/);
    const refused = await world.run(DOCTOR, { env: world.stranger });
    expect(refused.stdout).toMatch(/call +.*You are arn:aws:iam::111111111111:role\/stranger; no access rule names it/);
  });

  it('looks at the function that it is told, and says when it is not', async () => {
    const { env } = await front({ call: 'aws-forbidden', policy: [] });
    const arn = 'arn:aws:lambda:us-east-1:111111111111:function:token-broker-other:live';
    // The stand-in knows the policy of another function only.
    const steps = expect.arrayContaining([expect.objectContaining({ step: 'permissions', outcome: 'unknown' })]);
    expect(await diagnose(env, '--function-arn', arn)).toMatchObject({ steps });
  });

  it('takes what AWS says of the credentials for the cause', async () => {
    const { env } = await front({ identity: 'ExpiredToken' });
    expect(await diagnose(env)).toMatchObject({ cause: 'aws-credentials-expired' });
  });

  it('says that it may not look at the secret itself', async ({ world }) => {
    const { url } = await startFront({});
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: url };
    const { stdout } = await world.run(`doctor --client globex --service ${INSIGHTS}`, { env });
    expect(stdout).toMatch(/\? +secret +You cannot look at token-broker\/local\/globex yourself/);
  });
});

async function diagnose(env: Situation['env'], ...args: readonly string[]) {
  return JSON.parse((await runCommandLine([...DOCTOR.split(' '), ...args, '--json'], env)).stdout);
}

describe('doctor at a token endpoint that answers 404', () => {
  async function run(authUrl: (front: string) => string) {
    const { env } = await withWorld(answering(404, ''));
    const { url, requests } = await startFront({});
    return { ...(await diagnose(env, '--auth-url', authUrl(url))), requests };
  }

  it('tells which of the documented paths there is, with requests that carry nothing', async () => {
    const { cause, steps, requests } = await run((url) => `${url}/base/`);
    expect(cause).toBe('token-path-wrong');
    expect(steps.at(-1)).toEqual({
      step: 'token-path',
      outcome: 'ok',
      detail: '/auth/v1/token answers 404, /oauth/token answers 401: set tokenPath to /oauth/token',
      tokenPath: '/oauth/token',
    });
    const empty = { method: 'POST', body: '' };
    expect(requests).toMatchObject(['/base/auth/v1/token', '/base/oauth/token'].map((url) => ({ url, ...empty })));
    for (const { headers } of requests) {
      expect(headers).not.toHaveProperty('authorization');
      expect(JSON.stringify(headers)).not.toMatch(/marked|AKID/i);
    }
  });

  it('does not guess when neither answers', async () => {
    const { steps } = await run((url) => `${url}/elsewhere`);
    expect(steps.at(-1)).toMatchObject({ step: 'token-path', outcome: 'unknown' });
  });

  it('asks no token endpoint unless it is told which', async () => {
    const { env } = await withWorld(answering(405, ''));
    const { stdout, stderr } = await runCommandLine(DOCTOR.split(' '), env);
    expect(stdout).not.toContain('token-path ');
    expect(stderr).toMatch(/^token-path-wrong: .*--auth-url/);
  });
});

/** All of AWS that `doctor --operator` looks at. */
const OF_AWS = (url: string) => ({
  AWS_ENDPOINT_URL_IAM: url,
  AWS_ENDPOINT_URL_SNS: url,
  AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
});

async function front(...[options, env = {}]: [Parameters<typeof startFront>[0], Record<string, string>?]) {
  const { url } = await startFront(options);
  const aws = { AWS_ENDPOINT_URL_STS: url, AWS_ENDPOINT_URL_LAMBDA: url };
  return { env: { TOKEN_BROKER_URL: url, ...aws, ...env } };
}

/** The real local broker after an event, which may change the variables of the shell. */
async function withWorld(happen: (world: OperatorWorld) => unknown): Promise<Situation> {
  const world = await startOperatorWorld();
  const changes = await happen(world);
  return { env: { ...world.shell, ...(isShell(changes) ? changes : {}) } };
}

function isShell(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.keys(value).every((name) => name.startsWith('AWS_'));
}

const SECRET = { SecretId: 'token-broker/local/acme' };

function store({ secretsManager }: OperatorWorld, text: string) {
  return secretsManager.send(new PutSecretValueCommand({ ...SECRET, SecretString: text }));
}

function answering(status: number, body: string) {
  return async ({ tokenService }: OperatorWorld) =>
    tokenService.respondWith(INSIGHTS, { status, headers: { 'content-type': 'application/json' }, body });
}

async function closedPort(): Promise<string> {
  const server = await startLoopbackServer(() => undefined);
  await server.close();
  return server.url;
}

async function startUntrustedServer(): Promise<string> {
  const authority = await createCertificateAuthority();
  const server = createServer(await authority.issue(), (_, response) => response.end());
  const port = await listen(server, 0);
  onTestFinished(() => void server.close());
  return `https://localhost:${port}`;
}
