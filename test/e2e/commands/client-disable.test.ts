import { GetResourcePolicyCommand, PutResourcePolicyCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { runCommandLine } from './command-line.ts';
import { type OperatorWorld, SERVICES, startOperatorWorld } from './operator-world.ts';

const CHECK = ['client', 'check', 'acme'];
const SecretId = 'token-broker/local/acme';
const [INSIGHTS] = SERVICES;
/** What says where the command is about to change something, and what. */
const PLAN_LINES = 3;
const SECRETS = { AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:9' };
const TABLE = { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };

describe('client disable', () => {
  it('stops every service of the environment, and enable starts them again', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'disable', 'acme', '--yes']);
    expect(exitCode).toBe(0);
    expect(stdout).toBe('acme is disabled on customer-insights, merchant-payment-cleansing\n');
    expect(stderr).toMatch(/\nWithin 60 s no caller is issued a token of acme\..*\n$/);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +disabled .*\nmerchant-\S+ +disabled/);
    for (const service of SERVICES) {
      await expect(world.caller.token({ client: 'acme', service })).rejects.toMatchObject({
        type: 'client-disabled',
      });
    }

    const enabled = await world.run(['client', 'enable', 'acme', '--yes', '--json']);
    expect(JSON.parse(enabled.stdout)).toEqual({
      environment: 'local',
      client: 'acme',
      services: SERVICES,
      disabled: false,
      within_seconds: 60,
      secret_denied: false,
    });
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0 });
  });

  it('can be repeated, and does not need the broker', async () => {
    const world = await startOperatorWorld();
    const env = { TOKEN_BROKER_URL: '' };
    expect(await world.run(['client', 'disable', 'acme', '--yes'], { env })).toMatchObject({ exitCode: 0 });
    const policy = await policyOf(world);
    expect(await world.run(['client', 'disable', 'acme', '--yes'], { env })).toMatchObject({ exitCode: 0 });
    expect(await policyOf(world)).toEqual(policy);
    expect((await world.run(CHECK)).stdout).toMatch(/disabled/);
  });

  it('denies the role of the token function the secret, beside what its policy says already', async () => {
    const world = await startOperatorWorld();
    const others = { Version: '2008-10-17', Id: 'ours', Statement: { Sid: 'Theirs', Effect: 'Deny', Principal: '*' } };
    const ResourcePolicy = JSON.stringify(others);
    await world.secretsManager.send(new PutResourcePolicyCommand({ SecretId, ResourcePolicy }));
    const { stdout } = await world.run(['client', 'disable', 'acme', '--yes', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ disabled: true, secret_denied: true });
    const denial = {
      Sid: 'TokenBrokerDisabled',
      Effect: 'Deny',
      Principal: '*',
      Action: 'secretsmanager:GetSecretValue',
      Resource: '*',
      Condition: { ArnEquals: { 'aws:PrincipalArn': 'arn:aws:iam::111111111111:role/token-broker-local' } },
    };
    expect(await policyOf(world)).toEqual({ ...others, Statement: [others.Statement, denial] });
    await world.run(['client', 'enable', 'acme', '--yes']);
    expect(await policyOf(world)).toEqual({ ...others, Statement: [others.Statement] });
  });

  it('leaves no policy behind when it ends, where there was none', async () => {
    const world = await startOperatorWorld();
    await world.run(['client', 'disable', 'acme', '--yes']);
    await world.run(['client', 'enable', 'acme', '--yes']);
    expect(await policyOf(world)).toBeUndefined();
    expect(await world.run(['client', 'enable', 'acme', '--yes'])).toMatchObject({ exitCode: 0 });
  });

  it('sets the flag alone with --service, and says where it does not hold', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'disable', 'acme', '--yes', '--service', INSIGHTS]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'acme is disabled on customer-insights\n' });
    expect(stderr).toMatch(/does not hold for an environment that cannot read the table/);
    expect(await policyOf(world)).toBeUndefined();
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +disabled .*\nmerchant-\S+ +accepted/);
    const enabled = await world.run(['client', 'enable', 'acme', '--yes', '--service', INSIGHTS, '--json']);
    expect(JSON.parse(enabled.stdout)).not.toHaveProperty('secret_denied');
    expect(enabled.stderr).toMatch(/Only the flag of this service is taken away/);
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0 });
  });

  it('stops a client without a secret in advance with --even-if-missing, and says that there is nothing to deny', async () => {
    const world = await startOperatorWorld();
    const args = ['client', 'disable', 'globex', '--yes', '--even-if-missing', '--json'];
    const { exitCode, stdout, stderr } = await world.run(args);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ client: 'globex', disabled: true, secret_denied: false });
    expect(stderr).toMatch(/^- denies the secret token-broker\/local\/globex to the role \S+, if there is one$/m);
    expect(stderr).toMatch(/There is no secret token-broker\/local\/globex to deny/);
  });

  it('sets the flags of the services that TOKEN_BROKER_SERVICES names', async () => {
    const world = await startOperatorWorld();
    const env = { TOKEN_BROKER_SERVICES: 'customer-insights  other' };
    const { stdout } = await world.run(['client', 'disable', 'acme', '--yes', '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ services: ['customer-insights', 'other'], disabled: true });
    expect((await world.run(CHECK)).stdout).toMatch(
      /customer-insights +disabled .*\nmerchant-\S+ +secrets-unavailable/,
    );
  });

  it('finds the services of an environment in its settings', async () => {
    const world = await startOperatorWorld();
    const prod = ['--even-if-missing', '--environment', 'prod', '--table', 'token-broker-local'];
    const args = ['client', 'disable', 'acme', '--yes', ...prod];
    const { stdout } = await world.run([...args, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ environment: 'prod', services: SERVICES });
  });
});

describe('an environment that cannot read the table', () => {
  it('gets no credential of a disabled client, and so no token, until it is enabled', async () => {
    const world = await startOperatorWorld();
    expect(await tokensWithoutTable(world)).toEqual(['a token', 'a token']);
    await world.run(['client', 'disable', 'acme', '--yes']);
    const requests = world.tokenService.requests.length;
    expect(await tokensWithoutTable(world)).toEqual(['secrets-unavailable', 'secrets-unavailable']);
    expect(world.tokenService.requests).toHaveLength(requests);
    await world.run(['client', 'enable', 'acme', '--yes']);
    expect(await tokensWithoutTable(world)).toEqual(['a token', 'a token']);
  });
});

async function policyOf({ secretsManager }: OperatorWorld): Promise<unknown> {
  const { ResourcePolicy } = await secretsManager.send(new GetResourcePolicyCommand({ SecretId }));
  return ResourcePolicy === undefined ? undefined : JSON.parse(ResourcePolicy);
}

/** What a new environment answers on every service when no DynamoDB is in its reach; it reads secrets as the broker does. */
async function tokensWithoutTable({ newEnvironment }: OperatorWorld): Promise<readonly string[]> {
  const caller = await newEnvironment(createDynamoDB({ send: createHttpsSender(), endpoint: 'http://127.0.0.1:9' }));
  const ask = (service: string) => caller.token({ client: 'acme', service });
  const answers = await Promise.allSettled(SERVICES.map(ask));
  return answers.map((answer) => (answer.status === 'fulfilled' ? 'a token' : answer.reason.type));
}

describe('client disable, refused or failed', () => {
  it('knows the table of an environment by its name', async () => {
    const world = await startOperatorWorld();
    const args = ['client', 'disable', 'acme', '--yes', '--even-if-missing', '--environment', 'dev', '--json'];
    const { exitCode, stdout } = await world.run(args);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ detail: 'There is no table token-broker-dev in eu-west-1' });
  });

  it('says when the table does not exist', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run([
      'client',
      'disable',
      'acme',
      '--yes',
      '--table',
      'pairs',
      '--json',
    ]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'table-missing', detail: 'There is no table pairs in us-east-1' });
    expect(stderr).toMatch(/acme on merchant-payment-cleansing: There is no table pairs/);
  });

  it('says when DynamoDB cannot be reached, and tries every service', async () => {
    const world = await startOperatorWorld();
    const env = TABLE;
    const { exitCode, stdout, stderr } = await world.run(['client', 'disable', 'acme', '--yes'], { env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.split('\n').slice(PLAN_LINES)).toEqual([
      expect.stringMatching(/^acme on customer-insights: .*ECONNREFUSED/),
      expect.stringMatching(/^acme on merchant-payment-cleansing: /),
      'The flag is not set on every service: there the broker may go on issuing tokens of acme.',
      'The secret is denied to the broker: no environment can use the credential of acme any more.',
      expect.stringMatching(/^error: aws-unavailable: The local broker .* has ended\.$/),
      expect.any(String),
      '',
    ]);
    const enabled = await world.run(['client', 'enable', 'acme', '--yes'], { env });
    expect(enabled).toMatchObject({ exitCode: 1, stdout: '' });
    expect(enabled.stderr).toMatch(
      /\nThe broker may read the secret again, but where .* acme is still disabled\.\nerror: /,
    );
  });

  it('says that the flags hold when the secret cannot be denied, and takes no flag away when it cannot be allowed', async () => {
    const world = await startOperatorWorld();
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:9' };
    const { exitCode, stdout, stderr } = await world.run(['client', 'disable', 'acme', '--yes'], { env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^Whether there is a client "acme" is unknown: .*DescribeSecret.*ECONNREFUSED/),
      ...Array(PLAN_LINES).fill(expect.any(String)),
      'The flag is set: within 60 s no environment that can read the table issues a token of acme.',
      'The secret is not denied to the broker: an environment that cannot read the table may go on issuing tokens of acme.',
      expect.stringMatching(/^error: aws-unavailable: The local broker .* has ended\.$/),
      expect.any(String),
      '',
    ]);
    const enabled = await world.run(['client', 'enable', 'acme', '--yes'], { env });
    expect(enabled).toMatchObject({ exitCode: 1, stdout: '' });
    expect(enabled.stderr).toMatch(/\nacme is still disabled: no flag was taken away\.\nerror: /);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +disabled .*\nmerchant-\S+ +disabled/);
  });

  it.each([
    [
      'which services there are',
      ['--environment', 'unknown'],
      SECRETS,
      1,
      /services-unknown: .*"unknown" has\nCheck --environment, or set TOKEN_BROKER_SERVICES/,
    ],
    [
      'services by their names',
      ['--environment', 'unknown'],
      { ...SECRETS, TOKEN_BROKER_SERVICES: 'a,b' },
      1,
      /services-wrong/,
    ],
  ])('asks for %s', async (_, args, env, expected, message) => {
    const { exitCode, stdout, stderr } = await runCommandLine(['client', 'disable', 'acme', '--yes', ...args], {
      ...env,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
