import { createServer } from 'node:https';
import { DeleteSecretCommand, PutSecretValueCommand, TagResourceCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../bin/local/loopback.ts';
import type { Cause } from '../../../client/commands/step.ts';
import { createCertificateAuthority } from '../../support/certificates.ts';
import { startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { startFront } from './aws-front.ts';
import { runCommandLine } from './command-line.ts';
import { type OperatorWorld, SERVICES, startOperatorWorld } from './operator-world.ts';

const [INSIGHTS] = SERVICES;
const DOCTOR = ['doctor', '--client', 'acme', '--service', INSIGHTS];

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
  'client-disabled': () => withWorld(({ run }) => run(['client', 'disable', 'acme', '--yes', '--yes'])),
  'credential-missing': async () => ({
    env: (await startOperatorWorld()).shell,
    args: ['--client', 'globex'],
  }),
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
    const { exitCode, stdout, stderr } = await runCommandLine([...DOCTOR, ...args, '--json'], env);
    const diagnosis = JSON.parse(stdout);
    expect(diagnosis, stdout).toMatchObject({ ok: false, cause, advice: expect.any(String) });
    expect(exitCode).toBe(1);
    expect(stderr).toBe(`${cause}: ${diagnosis.advice}\n`);
    expect(stdout).not.toMatch(/marked-/);
  });
});

describe('doctor', () => {
  it('shows every step to a person, and that nothing is wrong', async () => {
    const { run } = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await run(DOCTOR);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'Nothing is wrong.\n' });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^ok {6}url {14}127\.0\.0\.1:\d+, signed for us-east-1$/),
      expect.stringMatching(/^ok {6}aws-credentials {2}AKIDOPERATOR, lasting ones$/),
      expect.stringMatching(/^ok {6}connection {7}A Function URL answers, 403/),
      expect.stringMatching(/^ok {6}clock {12}This clock is right$/),
      expect.stringMatching(/^\? {7}identity {9}A local broker/),
      expect.stringMatching(/^ok {6}call {13}A token was issued, [0-9a-f]{16}, until /),
      '',
    ]);
  });

  it('finds out without a pair whether the broker can be called', async () => {
    const { run, tokenService } = await startOperatorWorld();
    const { exitCode, stdout } = await run(['doctor']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/call +The broker takes your signature/);
    expect(tokenService.requests).toEqual([]);
  });

  it('tries both documented token paths with --auth-url, also when the call succeeds', async () => {
    const { run, tokenService } = await startOperatorWorld();
    const { exitCode, stdout } = await run([...DOCTOR, '--auth-url', tokenService.authUrl(INSIGHTS)]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /ok +call +A token was issued.*\nok +token-path +\/auth\/v1\/token answers 401, .*set tokenPath to \/auth\/v1\/token\n$/,
    );
  });

  it('names an AWS profile that does not exist', async () => {
    const { run } = await startOperatorWorld();
    const env = { AWS_PROFILE: 'nowhere', AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };
    const doctor = await run(DOCTOR, { env });
    expect(doctor.stdout).toMatch(/FAILED +aws-credentials +AWS_PROFILE is "nowhere", and neither /);
    for (const command of [
      ['token', 'acme', INSIGHTS],
      ['client', 'list'],
    ]) {
      const { exitCode, stderr } = await run(command, { env });
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(
        /\nAWS_PROFILE is "nowhere", and neither \S+config nor \S+credentials has such a profile\.\n$/,
      );
    }
  });

  it('looks with --operator at the services of every secret, and says when it may not', async () => {
    const { run } = await startOperatorWorld();
    const { exitCode, stdout } = await run([...DOCTOR, '--operator']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\nok {6}services {9}Every secret names the services of its tag\n$/);
    const { url } = await startFront({});
    const refused = await run([...DOCTOR, '--operator'], { env: { AWS_ENDPOINT_URL_SECRETS_MANAGER: url } });
    expect(refused).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/\n\? {7}services {9}You cannot list/),
    });
  });

  it.each<[what: string, roles: NonNullable<Parameters<typeof startFront>[0]['roles']>, line: RegExp]>([
    [
      'who may',
      { ci: 'allowed', billing: 'implicitDeny', jane: 'allowed' },
      /^\? .*guard is attached, these may: \S+\/ci, \S+\/jane$/,
    ],
    [
      'that none may',
      { billing: 'explicitDeny', 'aws-service-role/x': 'allowed' },
      /^ok .*None of the 1 roles of account 111111111111/,
    ],
    [
      'that it may not ask',
      { ci: 'denied', billing: 'implicitDeny' },
      /^\? .*nothing of 1 roles \(iam:SimulatePrincipalPolicy\)$/,
    ],
    ['that it may not list', {}, /^\? .*You cannot list the roles of account 111111111111 \(iam:ListRoles\)$/],
  ])('tells an operator of the roles that may invoke the function past its URL: %s', async (_, roles, line) => {
    const { shell } = await startOperatorWorld();
    const { url, requests } = await startFront({ roles, subscribers: 2 });
    const env = { ...shell, ...OF_AWS(url) };
    const args = ['doctor', '--operator', '--environment', 'dev'];
    const { exitCode, stdout } = await runCommandLine(args, env);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\nok +operators +Confirmed subscriptions of \S+:token-broker-dev: 2\n/);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(line);
    const simulated = requests
      .map(({ body }) => new URLSearchParams(body))
      .filter((body) => body.has('PolicySourceArn'));
    for (const body of simulated) {
      expect(body.get('ActionNames.member.1')).toBe('lambda:InvokeFunction');
      expect(body.get('ResourceArns.member.2')).toBe(
        'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-dev:live',
      );
      expect(body.get('ContextEntries.member.1.ContextKeyValues.member.1')).toBe('false');
    }
  });

  it('says who you are, and what the broker lets you do when no rule covers the call', async () => {
    const identity = 'arn:aws:sts::222222222222:assumed-role/reporting/jane';
    const { env } = await front({ call: 'access-denied', identity });
    const { stdout } = await runCommandLine(DOCTOR, env);
    expect(stdout).toMatch(/identity +You are arn:aws:sts::222222222222:assumed-role\/reporting\/jane/);

    const world = await startOperatorWorld();
    const refused = await world.run(DOCTOR, { env: world.stranger });
    expect(refused.stdout).toMatch(/call +.*You are arn:aws:iam::111111111111:role\/stranger; no access rule names it/);
  });

  it('looks at the function that it is told, and says when it is not', async () => {
    const { env } = await front({ call: 'aws-forbidden', policy: [] });
    const arn = 'arn:aws:lambda:us-east-1:111111111111:function:token-broker-other:live';
    const { stdout } = await runCommandLine([...DOCTOR, '--function-arn', arn, '--json'], env);
    // The stand-in knows the policy of another function only.
    expect(JSON.parse(stdout)).toMatchObject({
      steps: expect.arrayContaining([expect.objectContaining({ step: 'permissions', outcome: 'unknown' })]),
    });
  });

  it('takes what AWS says of the credentials for the cause', async () => {
    const { env } = await front({ identity: 'ExpiredToken' });
    const { stdout } = await runCommandLine([...DOCTOR, '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject({ cause: 'aws-credentials-expired' });
  });

  it('says that it may not look at the secret itself', async () => {
    const world = await startOperatorWorld();
    const { url } = await startFront({});
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: url };
    const { stdout } = await world.run(['doctor', '--client', 'globex', '--service', INSIGHTS], { env });
    expect(stdout).toMatch(/\? +secret +You cannot look at token-broker\/local\/globex yourself/);
  });
});

describe('doctor at a token endpoint that answers 404', () => {
  async function run(authUrl: (front: string) => string) {
    const { env } = await withWorld(answering(404, ''));
    const tokenServer = await startFront({});
    const args = ['--auth-url', authUrl(tokenServer.url), '--json'];
    const { stdout } = await runCommandLine([...DOCTOR, ...args], env);
    return { ...JSON.parse(stdout), requests: tokenServer.requests };
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
    expect(requests).toMatchObject([{ url: '/base/auth/v1/token' }, { url: '/base/oauth/token' }]);
    for (const { method, headers, body } of requests) {
      expect({ method, body }).toEqual({ method: 'POST', body: '' });
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
    const { stdout, stderr } = await runCommandLine(DOCTOR, env);
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
