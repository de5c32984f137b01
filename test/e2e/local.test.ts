import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, it } from 'vitest';
import { runs } from '../support/aws/signers.ts';
import { ask, printed, shellVariables, tokenServiceUrl, useLocalBroker } from '../support/processes/local-broker.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };
const REPORTING = { accessKeyId: 'AKIDLOCALREPORTING', secretAccessKey: 'local-reporting-secret' };
const OPERATOR = { accessKeyId: 'AKIDLOCALOPERATOR', secretAccessKey: 'local-operator-secret' };
const STRANGER = { accessKeyId: 'AKIDLOCALSTRANGER', secretAccessKey: 'local-stranger-secret' };
const OTHER_SIGN_IN = { AWS_PROFILE: 'other', AWS_SESSION_TOKEN: 'other' };

const broker = useLocalBroker();

async function shell(commands: string, env: Readonly<Record<string, string | undefined>> = {}): Promise<string> {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  return (await promisify(execFile)('sh', ['-c', commands], { cwd, env: { ...process.env, ...env } })).stdout;
}

const hasCurl = runs('curl', '--aws-sigv4', 'aws:amz', '--version');

it.skipIf(!hasCurl)(
  `the local broker gives curl a token that its service accepts${hasCurl ? '' : ' (skipped: curl is missing or too old)'}`,
  async () => {
    const { access_token, ...json } = JSON.parse(await shell(`${printed(broker(), /^ {2}(curl .*)$/m)} --silent`));
    expect(json).toMatchObject({ token_type: 'Bearer', expiry_source: 'response' });
    const headers = { authorization: `Bearer ${access_token}` };
    const whoAmI = await fetch(`${tokenServiceUrl(broker())}/customer-insights/v1/whoami`, { headers });
    expect(await whoAmI.json()).toEqual({ service: 'customer-insights', client: 'acme' });
  },
);

it('the local broker applies the rules of each caller', async () => {
  const services = ['customer-insights', 'merchant-payment-cleansing'];
  const pairs = ['acme', 'globex', 'initech'].flatMap((client) => services.map((service) => ({ client, service })));
  const told = (caller: typeof BILLING) =>
    Promise.all(pairs.map(async (pair) => (await ask(broker(), caller, pair)).status));
  expect(await told(BILLING)).toEqual([200, 200, 200, 424, 424, 424]);
  expect(await told(REPORTING)).toEqual([200, 403, 403, 403, 403, 403]);
  expect(await told(OPERATOR)).toEqual([200, 200, 200, 424, 424, 424]);
  expect(await told(STRANGER)).toEqual([403, 403, 403, 403, 403, 403]);
});

it.each([
  ['the operator, whose role may check', OPERATOR, 'read'],
  ['a caller that may only have tokens', BILLING, 'AccessDeniedException'],
  ['a role without a rule', STRANGER, 'AccessDeniedException'],
])('the secrets of the local broker are answered to %s alike', async (_, credentials, answer) => {
  const { AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint = '' } = shellVariables(broker());
  const client = new SecretsManagerClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
  for (const SecretId of ['token-broker/local/acme', 'token-broker-keys/local/sealing']) {
    const read = client.send(new GetSecretValueCommand({ SecretId }));
    expect(await read.then(({ SecretString }) => SecretString && 'read').catch(({ name }) => name)).toBe(answer);
  }
  client.destroy();
});

const ASK = /^Or in another terminal .*:\n((?: {2}.*\n)+)/m;
const MANAGE = /^Then manage the clients .*:\n((?: {2}.*\n)+)/m;

it('the commands that the greeting shows ask for a token as they stand, in a terminal with another sign-in', async () => {
  expect(await shell(printed(broker(), ASK), OTHER_SIGN_IN)).toMatch(/^fingerprint +[0-9a-f]{16}$/m);
});

const hasAws = runs('aws', '--version');
const missing = hasAws ? '' : ' (skipped: the AWS command line is not installed)';

it.skipIf(!hasAws)(`the AWS command line finds the secrets, which the operator may read${missing}`, async () => {
  const setUp = `${printed(broker(), ASK)}\n${printed(broker(), MANAGE)}`.replace(/^ *npm .*$/gm, '');
  const read = 'aws secretsmanager get-secret-value --secret-id token-broker/local/acme --output json';
  const told = JSON.parse(await shell(setUp + read, { ...OTHER_SIGN_IN, AWS_CONFIG_FILE: '/dev/null' }));

  expect(JSON.parse(told.SecretString)).toEqual({
    ...{ client_id: 'acme-id', secret: 'acme-local-secret' },
    services: ['customer-insights', 'merchant-payment-cleansing'],
  });
});
