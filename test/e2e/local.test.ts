import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  curlCommand,
  type LocalBrokerProcess,
  operatorCommands,
  printedVariables,
  shellCommands,
  startLocalBroker,
  tokenServiceUrl,
} from '../support/local-broker.ts';
import { send } from '../support/requests.ts';
import { runs } from '../support/signers.ts';
import { ended, runCommandLine } from './commands/command-line.ts';

const SERVICES = ['customer-insights', 'merchant-payment-cleansing'] as const;
const ACME = { client: 'acme', service: 'customer-insights' };
const GLOBEX = { client: 'globex', service: 'customer-insights' };
const INITECH = { client: 'initech', service: 'customer-insights' };

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };
const REPORTING = { accessKeyId: 'AKIDLOCALREPORTING', secretAccessKey: 'local-reporting-secret' };
const OPERATOR = { accessKeyId: 'AKIDLOCALOPERATOR', secretAccessKey: 'local-operator-secret' };
const STRANGER = { accessKeyId: 'AKIDLOCALSTRANGER', secretAccessKey: 'local-stranger-secret' };
const WRONG_KEY = { ...BILLING, secretAccessKey: 'wrong' };

type Caller = typeof BILLING;

const hasCurl = runs('curl', '--aws-sigv4', 'aws:amz', '--version');

let broker: LocalBrokerProcess;
beforeAll(async () => {
  broker = await startLocalBroker();
});
afterAll(async () => {
  expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
});

function shell(commands: string, env: Readonly<Record<string, string | undefined>> = {}) {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  return promisify(execFile)('sh', ['-c', commands], { cwd, env: { ...process.env, ...env } });
}

/** Whose a token is, as the service itself sees it. */
async function whoAmI(token: string, service: string) {
  const url = `${tokenServiceUrl(broker)}/${service}/v1/whoami`;
  const { status, body } = await send({ method: 'GET', url, headers: { authorization: `Bearer ${token}` }, body: '' });
  return { status, ...JSON.parse(body) };
}

describe('the local broker', () => {
  it.skipIf(!hasCurl).each(SERVICES)(
    `gives curl a token that %s has really issued${hasCurl ? '' : ' (skipped: curl is not installed, or too old)'}`,
    async (service) => {
      const command = curlCommand(broker).replace(JSON.stringify(ACME), JSON.stringify({ client: 'acme', service }));
      const { stdout } = await shell(`${command} --silent`);
      const { access_token, ...json } = JSON.parse(stdout);
      expect(json).toMatchObject({ token_type: 'Bearer', expiry_source: 'response' });
      expect(await whoAmI(access_token, service)).toEqual({ status: 200, service, client: 'acme' });
    },
  );

  it('lets each caller do what its rules say', async () => {
    const statuses = async (caller: Caller) => {
      const pairs = ['acme', 'globex', 'initech'].flatMap((client) => SERVICES.map((service) => ({ client, service })));
      return Promise.all(pairs.map(async (pair) => (await ask(broker, caller, pair)).status));
    };
    expect(await statuses(BILLING)).toEqual([200, 200, 200, 424, 424, 424]);
    expect(await statuses(REPORTING)).toEqual([200, 403, 403, 403, 403, 403]);
    expect(await statuses(OPERATOR)).toEqual([200, 200, 200, 424, 424, 424]);
    expect(await statuses(STRANGER)).toEqual([403, 403, 403, 403, 403, 403]);
  });

  it.each([
    ['an unknown client', { client: 'no-such-client', service: 'customer-insights' }],
    ['a forbidden service', { client: 'acme', service: 'merchant-payment-cleansing' }],
    ['an unknown service', { client: 'acme', service: 'no-such-service' }],
  ])('denies %s in the words of a forbidden client', async (_, pair) => {
    const bodies = [GLOBEX, pair].map(async (asked) => {
      const { json } = await ask(broker, REPORTING, asked);
      return JSON.stringify({ ...json, request_id: '' });
    });
    const [forbidden, unknown] = await Promise.all(bodies);

    expect(unknown).toBe(forbidden);
  });
});

describe('the secrets of the local broker', () => {
  const SECRETS = ['token-broker/local/acme', 'token-broker-keys/local/sealing'];

  /** What an SDK is answered that reads each of them. */
  async function read(credentials: Caller): Promise<readonly string[]> {
    const { AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint = '' } = printedVariables(broker);
    const client = new SecretsManagerClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
    const answers = SECRETS.map((SecretId) =>
      client.send(new GetSecretValueCommand({ SecretId })).then(
        ({ SecretString }) => (SecretString ? 'read' : 'empty'),
        (error: Error) => error.name,
      ),
    );
    return Promise.all(answers).finally(() => client.destroy());
  }

  it.each([
    ['the operator, whose role may check', OPERATOR, 'read'],
    ['a caller that may only have tokens', BILLING, 'AccessDeniedException'],
    ['a role without a rule', STRANGER, 'AccessDeniedException'],
    ['a wrong key', WRONG_KEY, 'InvalidSignatureException'],
    ['an unknown key', { ...OPERATOR, accessKeyId: 'AKIDLOCALBROKER' }, 'UnrecognizedClientException'],
  ])('are answered to %s alike', async (_, caller, answer) => {
    expect(await read(caller)).toEqual(SECRETS.map(() => answer));
  });
});

describe('the commands that the greeting shows', () => {
  const OTHER_SIGN_IN = { AWS_PROFILE: 'other', AWS_SESSION_TOKEN: 'other' };

  it('ask for a token as they stand, in a terminal with another sign-in', async () => {
    const { stdout } = await shell(shellCommands(broker), OTHER_SIGN_IN);

    expect(stdout).toMatch(/^fingerprint +[0-9a-f]{16}$/m);
  });

  it.each([
    ['access-denied', 'ask for an access rule', REPORTING, GLOBEX],
    ['access-denied', 'ask for an access rule', STRANGER, ACME],
    ['aws-signature-mismatch', 'Check that the secret access key belongs to the access key id', WRONG_KEY, ACME],
    ['credential-rejected', 'token-broker/local/initech', BILLING, INITECH],
  ])('make the command line explain %s and say "%s"', async (type, advice, caller, { client, service }) => {
    const { accessKeyId, secretAccessKey } = caller;
    const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: '' };
    const result = await runCommandLine(['token', '--client', client, '--service', service], {
      ...printedVariables(broker),
      ...keys,
    });
    expect(result).toEqual(ended(1, '', new RegExp(`^error: ${type}: .*${advice}`, 's')));
  });

  const hasAws = runs('aws', '--version');
  const missing = hasAws ? '' : ' (skipped: the AWS command line is not installed)';

  it.skipIf(!hasAws)(`lead the AWS command line to the secrets, which the operator may read${missing}`, async () => {
    const setUp = `${shellCommands(broker)}\n${operatorCommands(broker)}`.replace(/^ *npm .*$/gm, '');
    const read = 'aws secretsmanager get-secret-value --secret-id token-broker/local/acme --output json';
    const { stdout } = await shell(setUp + read, { ...OTHER_SIGN_IN, AWS_CONFIG_FILE: '/dev/null' });

    expect(JSON.parse(JSON.parse(stdout).SecretString)).toEqual({ client_id: 'acme-id', secret: 'acme-local-secret' });
  });
});
