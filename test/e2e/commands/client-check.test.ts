import { CreateSecretCommand, PutSecretValueCommand, TagResourceCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { problem } from '../../unit/client/broker-answers.ts';
import { startLoopbackServer } from '../../unit/client/loopback-server.ts';
import { OLD, SERVICES, startOperatorWorld, WRONG } from './operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
const CHECK = ['client', 'check', 'acme'];

describe('client check', () => {
  it('shows a finding for each service of the client', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(CHECK);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(
      /^SERVICE +FINDING .*\ncustomer-insights +accepted .* request .*\nmerchant-.* accepted .*\n$/,
    );
  });

  it('answers --json as the broker does', async () => {
    const world = await startOperatorWorld();
    const { stdout } = await world.run([...CHECK, '--service', INSIGHTS, '--json']);
    expect(JSON.parse(stdout)).toEqual({
      environment: 'local',
      client: 'acme',
      stage: 'AWSCURRENT',
      checks: [
        {
          client: 'acme',
          service: INSIGHTS,
          stage: 'AWSCURRENT',
          finding: 'accepted',
          version: expect.any(String),
          checked_at: expect.stringMatching(/Z$/),
          proven_by: 'request',
          expires_at: expect.stringMatching(/Z$/),
        },
      ],
    });
  });

  it('asks about one service without Secrets Manager', async () => {
    const world = await startOperatorWorld();
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: '' };
    const { exitCode, stdout } = await world.run([...CHECK, '--service', CLEANSING], { env });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain(INSIGHTS);
  });

  it('ends with 1 and says what to do, once, when a credential is rejected', async () => {
    const world = await startOperatorWorld();
    await world.run(['client', 'put', 'acme'], { input: WRONG });
    const { exitCode, stdout, stderr } = await world.run([...CHECK, '--stage', 'AWSPENDING']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/customer-insights +rejected .* latch .*\nmerchant-payment-cleansing +rejected/);
    expect(stderr).toMatch(
      /^customer-insights, merchant-payment-cleansing: Store the right credential with client put acme.*\n$/,
    );
  });

  it.each([
    ['secret-missing', ['--stage', 'AWSPREVIOUS'], /token-broker\/local\/acme has no version with this stage/],
    ['access-denied', ['--service', 'unknown'], /Compare both names with what whoami/],
  ])('explains "%s"', async (finding, args, advice) => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run([...CHECK, ...args]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain(finding);
    expect(stderr).toMatch(advice);
  });

  it('tells that there is no such client', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stderr } = await world.run(['client', 'check', 'globex']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/secret-missing: There is no client "globex"/);
  });

  it('goes on after a problem of one service', async () => {
    const world = await startOperatorWorld();
    const broker = await startLoopbackServer((response, request) => {
      const { service } = JSON.parse(request.body);
      const type = service === INSIGHTS ? 'secrets-unavailable' : 'token-endpoint-timeout';
      problem(type)(response, request);
    });
    const { exitCode, stdout } = await world.run([...CHECK, '--url', broker.url, '--json']);
    await broker.close();
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout).checks).toMatchObject([
      { service: INSIGHTS, problem: { type: 'secrets-unavailable', status: 503 } },
      { service: CLEANSING, problem: { type: 'token-endpoint-timeout', status: 504 } },
    ]);
  });

  it('says only once what keeps it from asking at all', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run([...CHECK, '--region', 'eu-west-1']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^error: aws-wrong-scope: .*\n.*region.*\n$/);
  });
});

describe('client retry', () => {
  it('lets a version be sent again that a service has rejected by mistake', async () => {
    const world = await startOperatorWorld();
    world.tokenService.respondWith(INSIGHTS, { status: 401 });
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +rejected/);
    world.tokenService.respondWith(INSIGHTS, undefined);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +rejected .* latch/);

    const { exitCode, stdout, stderr } = await world.run(['client', 'retry', 'acme', '--yes']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/acme +customer-insights +[0-9a-f]{8} +- +-\nacme +merchant-payment-cleansing +- +- +-\n$/);
    expect(stderr).toMatch(/up to three times: .* may lock the account/);
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('touches one service only when that is named, and tells when there was nothing', async () => {
    const world = await startOperatorWorld();
    world.tokenService.respondWith(INSIGHTS, { status: 401 });
    await world.run(CHECK);
    const { stdout, stderr } = await world.run(['client', 'retry', 'acme', '--yes', '--service', CLEANSING, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      client: 'acme',
      cleared: [{ client: 'acme', service: CLEANSING, versions: [], holds: [], pause: false }],
    });
    expect(stderr).toMatch(/\nNo version was latched or held, and no pair was paused\.\n$/);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +rejected .* latch/);
  });
});

describe('client retry --service', () => {
  it('lets every client of a service be sent again at once after an outage, and tells what it cleared', async () => {
    const world = await startOperatorWorld();
    for (const [client, services] of [
      ['globex', INSIGHTS],
      ['hooli', CLEANSING],
    ] as const) {
      const Tags = [{ Key: 'services', Value: services }];
      const secret = { Name: `token-broker/local/${client}`, SecretString: JSON.stringify(OLD), Tags };
      await world.secretsManager.send(new CreateSecretCommand(secret));
    }
    world.tokenService.respondWith(INSIGHTS, { status: 503, headers: { 'retry-after': '300' } });
    for (const client of ['acme', 'globex']) await world.run(['client', 'check', client, '--service', INSIGHTS]);
    world.tokenService.respondWith(INSIGHTS, undefined);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +unreachable/);

    const { exitCode, stdout, stderr } = await world.run(['client', 'retry', '--service', INSIGHTS, '--yes']);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^CLIENT .*\nacme +customer-insights +- +- +ended\nglobex +customer-insights +- +- +ended\n$/,
      ),
    });
    expect(stderr).toMatch(/may be sent again/);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +accepted/);
  });
});

describe('the credentials of these tests', () => {
  it('are in no output, which the other tests rely on', async () => {
    const world = await startOperatorWorld();
    const told = `{"type":"x","title":"x","detail":"${OLD.secret}"}`;
    const broker = await startLoopbackServer((response) =>
      response.writeHead(500, { 'content-type': 'application/problem+json' }).end(told),
    );
    await expect(world.run([...CHECK, '--url', broker.url])).rejects.toThrow('a secret was printed');
    await broker.close();
  });
});

describe('a client whose tag names no service', () => {
  it.each([
    ['client check', ['client', 'check', 'acme']],
    ['client promote', ['client', 'promote', 'acme']],
    ['client put', ['client', 'put', 'acme']],
  ])('is not taken for one that every service accepts by %s', async (_, args) => {
    const world = await startOperatorWorld();
    const secret = { SecretId: 'token-broker/local/acme' };
    const SecretString = JSON.stringify(WRONG);
    await world.secretsManager.send(
      new PutSecretValueCommand({ ...secret, SecretString, VersionStages: ['AWSPENDING'] }),
    );
    await world.secretsManager.send(new TagResourceCommand({ ...secret, Tags: [{ Key: 'services', Value: ' ' }] }));
    const { exitCode, stderr } = await world.run(args, { input: WRONG });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/error: services-missing: /);
  });
});
