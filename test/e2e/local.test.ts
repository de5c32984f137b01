import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, it } from 'vitest';
import { runs } from '../support/aws/signers.ts';
import { useLocalBroker } from '../support/processes/local-broker.ts';
import { commands } from '../support/readme.ts';
import { send } from '../support/requests.ts';
import { ROOT } from './commands/shared/command-line.ts';

const OTHER_SIGN_IN = { AWS_PROFILE: 'other', AWS_SESSION_TOKEN: 'other' };

const DEFAULT_URL = 'http://127.0.0.1:8788';

const broker = useLocalBroker();

/** The key of a caller of the example. */
function keyOf(caller: string) {
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = broker().shell(caller);
  return { accessKeyId, secretAccessKey };
}

async function shell(commands: string, env: Readonly<Record<string, string | undefined>> = {}): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', commands], { cwd: ROOT, env: { ...process.env, ...env } })).stdout;
}

it.each([
  ['the operator, whose role may check', 'operator', 'read'],
  ['a caller that may only have tokens', 'billing', 'AccessDeniedException'],
  ['a role without a rule', 'stranger', 'AccessDeniedException'],
])('the secrets of the local broker are answered to %s alike', async (_, caller, answer) => {
  const { AWS_ENDPOINT_URL: endpoint = '' } = broker().shell();
  const aws = new SecretsManagerClient({ endpoint, region: 'us-east-1', credentials: keyOf(caller), maxAttempts: 1 });
  for (const SecretId of ['token-broker/local/acme', 'token-broker-keys/local/sealing']) {
    const read = aws.send(new GetSecretValueCommand({ SecretId }));
    expect(await read.then(({ SecretString }) => SecretString && 'read').catch(({ name }) => name)).toBe(answer);
  }
  aws.destroy();
});

const ASK = /^Or in another terminal .*:\n((?: {2}.*\n)+)/m;
const MANAGE = /^Then manage the clients .*:\n((?: {2}.*\n)+)/m;

it('the commands that the greeting shows ask for a token as they stand, in a terminal with another sign-in', async () => {
  expect(await shell(broker().printed(ASK), OTHER_SIGN_IN)).toMatch(/^fingerprint +[0-9a-f]{16}$/m);
  // readme-commands.test.ts runs this line.
  const ofReadme = commands()
    .find((command) => command.startsWith('curl '))
    ?.replace(DEFAULT_URL, broker().url);
  expect(
    broker()
      .printed(/^ {2}(curl .*)$/m)
      .replaceAll("'", ''),
  ).toBe(ofReadme?.replaceAll("'", ''));
});

const hasAws = runs('aws', '--version');
const missing = hasAws ? '' : ' (skipped: the AWS command line is not installed)';

it.skipIf(!hasAws)(
  `the AWS command line reads secrets, table and log, and learns how to reach AWS${missing}`,
  async () => {
    const setUp = broker()
      .printed(MANAGE)
      .replace(/^ *npm .*$/gm, '');
    const nowhere = { AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:9', AWS_CONFIG_FILE: '/dev/null' };
    const commands = [
      'secretsmanager get-secret-value --secret-id token-broker/local/acme',
      `dynamodb get-item --table-name token-broker-local --key '{"pair":{"S":"acme/customer-insights"}}' --query Item.pair.S`,
      `logs filter-log-events --log-group-name token-broker-local --filter-pattern '{ $.outcome = "issued*" }'`,
      'sts get-caller-identity',
    ].map((command) => `aws ${command} --output json 2>&1; echo --\n`);
    const answers = await shell(`${setUp}${commands.join('')}`, { ...OTHER_SIGN_IN, ...nowhere });
    const [secret = '', item, log = '', identity] = answers.split('--\n');

    expect(JSON.parse(JSON.parse(secret).SecretString)).toEqual({
      ...{ client_id: 'acme-id', secret: 'acme-local-secret' },
      services: ['customer-insights', 'merchant-payment-cleansing'],
    });
    expect(item).toBe('"acme/customer-insights"\n');
    expect(JSON.parse(log).events).not.toEqual([]);
    expect(identity).toMatch(/\(NoStandIn\) .* to reach AWS from this terminal, run .* env --unset\)" first\.\n$/);
  },
);

it('each server of npm start that verifies no signature answers on loopback names with its port, and no page of another site', async () => {
  for (const url of [broker().tokenServiceUrl, broker().pageUrl]) {
    const { port } = new URL(url);
    const ask = async (headers: Readonly<Record<string, string>>, path = '/schedule') =>
      (await send({ method: 'POST', url: url + path, headers, body: '{}' })).status;

    // A request that is let in gets a 404 there, and starts no health run.
    const nothing = '/nothing';
    const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`];
    for (const host of own) expect(await ask({ host }, nothing), host).toBe(404);
    expect(await ask({ origin: url }, nothing)).toBe(404);
    const foreign = ['example.com', '127.0.0.1.example.com', '127.0.0.2', 'user@localhost', 'localhost.'];
    for (const host of [...foreign.map((each) => `${each}:${port}`), 'example.com', '127.0.0.1', 'localhost:1'])
      expect(await ask({ host }), `${url}: ${host}`).toBe(421);
    const origins = ['https://example.com', 'null', 'http://127.0.0.1:1', `http://localhost:${port}`];
    for (const origin of [...origins, url.replace('http:', 'https:')]) {
      expect(await ask({ origin }), `${url}: ${origin}`).toBe(403);
    }
    for (const site of ['cross-site', 'same-site']) {
      expect(await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' })).toBe(403);
      expect(await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' })).toBe(403);
      const link = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
      expect(await ask(link, nothing)).toBe(404);
    }
    if (process.platform !== 'linux') continue;
    const elsewhere = { method: 'GET', url: url.replace('127.0.0.1', '127.0.0.2'), headers: {}, body: '' };
    await expect(send(elsewhere)).rejects.toThrow('ECONNREFUSED');
  }
});
