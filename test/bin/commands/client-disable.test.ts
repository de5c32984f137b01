import { describe, expect, it } from 'vitest';
import { runCommandLine } from './command-line.ts';
import { SERVICES, startOperatorWorld } from './operator-world.ts';

const CHECK = ['client', 'check', 'acme'];

describe('client disable', () => {
  it('stops every service of the environment, and enable starts them again', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'disable', 'acme']);
    expect(exitCode).toBe(0);
    expect(stdout).toBe('acme is disabled on customer-insights, merchant-payment-cleansing\n');
    expect(stderr).toMatch(/^Within 60 s nobody is issued a token of acme\./);
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +disabled .*\nmerchant-\S+ +disabled/);
    for (const service of SERVICES) {
      await expect(world.caller.token({ client: 'acme', service })).rejects.toMatchObject({
        type: 'credential-missing',
      });
    }

    const enabled = await world.run(['client', 'enable', 'acme', '--json']);
    expect(JSON.parse(enabled.stdout)).toEqual({
      environment: 'local',
      client: 'acme',
      services: SERVICES,
      disabled: false,
      within_seconds: 60,
    });
    expect(await world.run(CHECK)).toMatchObject({ exitCode: 0 });
  });

  it('can be repeated, and needs neither Secrets Manager nor the broker', async () => {
    const world = await startOperatorWorld();
    const env = { AWS_ENDPOINT_URL_SECRETS_MANAGER: '', TOKEN_BROKER_URL: '' };
    expect(await world.run(['client', 'disable', 'acme'], { env })).toMatchObject({ exitCode: 0 });
    expect(await world.run(['client', 'disable', 'acme'], { env })).toMatchObject({ exitCode: 0 });
    expect((await world.run(CHECK)).stdout).toMatch(/disabled/);
  });

  it('covers the services that TOKEN_BROKER_SERVICES names', async () => {
    const world = await startOperatorWorld();
    const env = { TOKEN_BROKER_SERVICES: 'customer-insights  other' };
    const { stdout } = await world.run(['client', 'disable', 'acme', '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ services: ['customer-insights', 'other'], disabled: true });
    expect((await world.run(CHECK)).stdout).toMatch(/customer-insights +disabled .*\nmerchant-\S+ +accepted/);
  });

  it('finds the services of an environment in its settings', async () => {
    const world = await startOperatorWorld();
    const args = ['client', 'disable', 'acme', '--environment', 'prod', '--table', 'token-broker-local'];
    const { stdout } = await world.run([...args, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ environment: 'prod', services: SERVICES });
  });
});

describe('client disable, refused or failed', () => {
  it('knows the table of an environment by its name', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout } = await world.run(['client', 'disable', 'acme', '--environment', 'dev', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ detail: 'There is no table token-broker-dev in eu-west-1' });
  });

  it('says when the table does not exist', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'disable', 'acme', '--table', 'pairs', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'table-missing', detail: 'There is no table pairs in us-east-1' });
    expect(stderr).toMatch(/merchant-payment-cleansing: There is no table pairs/);
  });

  it('says when DynamoDB cannot be reached, and tries every service', async () => {
    const env = { AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
    const { exitCode, stdout, stderr } = await runCommandLine(['client', 'disable', 'acme'], env);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^customer-insights: .*\nmerchant-payment-cleansing: .*\nerror: aws-unavailable: .*ECONNREFUSED/,
    );
  });

  it.each([
    ['where the local table is', [], {}, 2, /"local" is on this machine: set AWS_ENDPOINT_URL_DYNAMODB/],
    [
      'which services there are',
      ['--environment', 'unknown'],
      {},
      1,
      /services-unknown: .*"unknown" has\nCheck --environment, or set TOKEN_BROKER_SERVICES/,
    ],
    ['services by their names', ['--environment', 'unknown'], { TOKEN_BROKER_SERVICES: 'a,b' }, 1, /services-wrong/],
  ])('asks for %s', async (_, args, env, expected, message) => {
    const { exitCode, stdout, stderr } = await runCommandLine(['client', 'disable', 'acme', ...args], env);
    expect({ exitCode, stdout }).toEqual({ exitCode: expected, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
