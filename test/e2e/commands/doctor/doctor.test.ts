import { describe, expect, onTestFinished, vi } from 'vitest';
import type { Cause } from '../../../../client/commands/doctor/step.ts';
import { startUntrustedServer } from '../../../support/services/certificates.ts';
import { problem } from '../../../unit/client/broker-answers.ts';
import { type Answer, answerWith } from '../../../unit/client/loopback-server.ts';
import { answering, ended, runCommandLine } from '../shared/command-line.ts';
import { it, type OperatorWorld, SERVICES, startOperatorWorld } from '../shared/operator-world.ts';

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
  'connection-failed': async () => ({ env: { TOKEN_BROKER_URL: 'http://127.0.0.1:9' } }),
  'tls-failed': async () => ({ env: { TOKEN_BROKER_URL: await startUntrustedServer() } }),
  'no-answer': () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const quicker = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 100));
    onTestFinished(() => quicker.mockRestore());
    return front({ unsigned: () => undefined });
  },
  'not-a-broker': () => front({ unsigned: PAGE }),
  'function-url-unknown': () => front({ unsigned: answerWith(403, { Message: null }, DENIED) }),
  'clock-behind': () => front({ clockMs: 600_000 }),
  'clock-ahead': () => front({ clockMs: -600_000 }),

  'auth-url-unreachable': async () => {
    const { shell } = await startOperatorWorld();
    return { env: shell, args: ['--auth-url', 'http://127.0.0.1:9'] };
  },
  'secret-denied': () => front({ call: problem('secrets-unavailable') }),
  'table-denied': () =>
    tableAway('The broker cannot reach its table: DynamoDB refuses dynamodb:UpdateItem (AccessDeniedException).'),
  'sealing-key-missing': () => tableAway('The broker cannot reach its table: its sealing key cannot be read.'),
  'token-path-wrong': () => withWorld(serviceAnswering(404, '{"error":"not_found"}')),
};

/** Situations in which the failure of the call itself is the cause: `token` explains each of them alike. */
const FAILED = {
  'aws-wrong-scope': async () => ({ env: (await startOperatorWorld()).shell, args: ['--region', 'eu-west-1'] }),
  'aws-forbidden': () => front({}),
  'secrets-unavailable': () => front({ call: problem('secrets-unavailable', { 'retry-after': '5' }) }),
  'table-unavailable': () => tableAway('The broker cannot reach its table: DynamoDB does not answer.'),
  'token-response-unusable': () => withWorld(serviceAnswering(200, '{"a":"marked-value"}')),
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
    const all =
      /^ok +url .*\nok +aws-credentials +AKIDOPERATOR, .*\nok +connection .*\nok +clock .*\n\? +identity .*\nok +call +A token was issued, .*\n$/;
    expect(await world.run(DOCTOR.replaceAll(/--\w+ /g, ''))).toEqual(ended(0, all, 'Nothing is wrong.\n'));
  });

  it('finds out without a pair whether the broker can be called', async ({ world }) => {
    const { run, tokenService, stranger } = world;
    expect(await run('doctor')).toEqual(ended(0, /ok +call +The broker accepts your signature: you are \S+\n$/, /./));
    const unnamed = /\n\? +call +The broker .*role\/stranger, which no access rule names\n$/;
    expect(await run('doctor', { env: stranger })).toEqual(ended(0, unnamed, /./));
    const late = await front({ call: problem('internal'), clockMs: 200_000 });
    expect((await run('doctor', late)).stdout).toMatch(/\nok +clock +This clock is 20\d s behind AWS; 5 /);
    expect(tokenService.requests).toEqual([]);
  });

  it.for([DOCTOR, `token acme ${INSIGHTS}`])('shows a person the form of an unusable answer: %s', async (command) => {
    const { env } = await FAILED['token-response-unusable']();
    const { stdout, stderr } = await runCommandLine(command.split(' '), env);
    expect(stdout + stderr).toMatch(/^response_shape: .*"path":"a","type":"string","length":12/m);
    expect(stdout + stderr).not.toMatch(/marked-/);
  });

  it('says that a token which the broker had already does not prove the service', async ({ world }) => {
    await world.caller.token({ client: 'acme', service: INSIGHTS });
    world.tokenService.behave(INSIGHTS, { answer: { status: 503 } });
    const had = /\nok +call +A token was issued, .*; the broker had cached it\n$/;
    const unproven = /^The call works\. This does not prove the service, .* client check\.\n$/;
    expect(await world.run(DOCTOR)).toEqual(ended(0, had, unproven));
  });

  it('distinguishes a secret that is to be deleted from a missing secret', async ({ world }) => {
    await world.run('client delete acme --yes');
    for (const [client, state] of Object.entries({ acme: 'is marked for deletion', globex: 'does not exist' })) {
      const { stdout } = await world.run(`doctor ${client} ${INSIGHTS}`);
      expect(stdout).toMatch(new RegExp(`FAILED +call +credential-missing: The secret .*${client}.* ${state}`));
    }
  });
});

async function diagnose(env: Situation['env'], ...args: readonly string[]) {
  return JSON.parse((await runCommandLine([...DOCTOR.split(' '), ...args, '--json'], env)).stdout);
}

describe('doctor --auth-url', () => {
  it('reports which of the documented paths exists, with requests that carry nothing', async () => {
    const { env } = await withWorld(serviceAnswering(404, ''));
    const { url, requests } = await startFront({});
    const { cause, steps } = await diagnose(env, '--auth-url', `${url}/base/`);
    expect(cause).toBe('token-path-wrong');
    const detail = '/auth/v1/token answers 404, /oauth/token answers 401: set tokenPath to /oauth/token';
    expect(steps.at(-1)).toEqual({ step: 'token-path', outcome: 'ok', detail, tokenPath: '/oauth/token' });
    const paths = ['/base/auth/v1/token', '/base/oauth/token'];
    expect(requests).toMatchObject(paths.map((path) => ({ url: path, method: 'POST', body: '' })));
    for (const { headers } of requests) {
      expect(headers).not.toHaveProperty('authorization');
      expect(JSON.stringify(headers)).not.toMatch(/marked|AKID/i);
    }
    const { steps: neither } = await diagnose(env, '--auth-url', `${url}/elsewhere`);
    expect(neither.at(-1)).toMatchObject({ step: 'token-path', outcome: 'unknown' });
  });

  it('tries them also when the call succeeds, but asks no token endpoint without it', async ({ world }) => {
    const told = /ok +call +A token .*\nok +token-path +\/auth\/v1\/token answers 401, .*set tokenPath to \/auth/;
    const result = await world.run(`${DOCTOR} --auth-url ${world.tokenService.authUrl(INSIGHTS)}`);
    expect(result).toEqual(ended(0, told, /./));
    expect((await world.run(DOCTOR)).stdout).not.toContain('token-path ');
  });
});

async function front(...[options, env = {}]: [Parameters<typeof startFront>[0], Record<string, string>?]) {
  const { url } = await startFront(options);
  return { env: { TOKEN_BROKER_URL: url, AWS_ENDPOINT_URL_STS: url, ...env } };
}

function tableAway(detail: string): Promise<Situation> {
  return front({ call: problem('table-unavailable', { 'retry-after': '5' }, detail) });
}

/** The real local broker after an event. */
async function withWorld(happen: (world: OperatorWorld) => unknown): Promise<Situation> {
  const world = await startOperatorWorld();
  await happen(world);
  return { env: world.shell };
}

function serviceAnswering(status: number, body: string) {
  return async ({ tokenService }: OperatorWorld) =>
    tokenService.behave(INSIGHTS, { answer: { status, headers: { 'content-type': 'application/json' }, body } });
}

interface Front {
  /** How an unsigned request is answered. */
  readonly unsigned?: Answer;
  /** How far the clock of AWS is from this machine's. */
  readonly clockMs?: number;
  /** The answer to a signed call; AWS's 403 when left out. */
  readonly call?: Answer;
  /** An ARN, or the code of an error. */
  readonly identity?: string;
}

/** Plays AWS in front of a broker, the AWS service that tells more, and a token endpoint at `/base/oauth/token`. */
async function startFront(front: Front) {
  const { identity = 'arn:aws:sts::111111111111:assumed-role/billing/run-1' } = front;
  return answering((response, request) => {
    const { url, method, headers, body } = request;
    response.setHeader('date', new Date(Date.now() + (front.clockMs ?? 0)).toUTCString());
    if (body.includes('Action=GetCallerIdentity')) answerIdentity(identity)(response, request);
    else if (url === '/base/oauth/token') answerWith(401, '')(response, request);
    else if (headers.authorization !== undefined) (front.call ?? FORBIDDEN)(response, request);
    else if (method === 'POST') answerWith(404, '')(response, request);
    else (front.unsigned ?? FORBIDDEN)(response, request);
  });
}

const DENIED = { 'x-amzn-errortype': 'AccessDeniedException' };
const FORBIDDEN = answerWith(403, { Message: 'Forbidden. For troubleshooting, see …' }, DENIED);

/** A redirect without an end: its beginning shows already that no broker answers. */
const PAGE: Answer = (response) => void response.writeHead(302, { location: '/' }).write('<html>');

function answerIdentity(identity: string): Answer {
  if (identity.startsWith('arn:')) return answerWith(200, `<Arn>${identity}</Arn>`);
  return answerWith(403, `<Error><Code>${identity}</Code><Message>…</Message></Error>`);
}
