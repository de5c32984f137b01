import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { Server } from 'node:net';
import { promisify } from 'node:util';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { requestLine } from '../../local/banner.ts';
import { exampleConfig, readPort } from '../../local/config.ts';
import { listen, serve } from '../../local/loopback.ts';
import { shellFile } from '../../local/shell.ts';
import { runs } from '../support/aws/signers.ts';
import {
  ask,
  freePorts,
  type LocalBrokerProcess,
  runLocalBroker,
  startLocalBroker,
} from '../support/processes/local-broker.ts';
import { commands } from '../support/readme.ts';
import { send } from '../support/requests.ts';
import { ended, ROOT } from './commands/shared/command-line.ts';

// The SDK refuses the last two beside an endpoint. @see continuedev/continue#7744, aws/aws-msk-iam-auth#208
const ENDPOINTS = { AWS_USE_FIPS_ENDPOINT: 'true', AWS_USE_DUALSTACK_ENDPOINT: 'true' };
const OTHER_SIGN_IN = { AWS_PROFILE: 'other', AWS_SESSION_TOKEN: 'other', ...ENDPOINTS };

const DEFAULT_URL = 'http://127.0.0.1:8788';

const askFor = (broker: LocalBrokerProcess, client: string) =>
  ask(broker, BILLING, { client, service: 'customer-insights' });

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };

/** Runs what a caller of the example asks of Secrets Manager. */
async function atSecretsManager<Answer>(
  broker: LocalBrokerProcess,
  caller: string,
  call: (secretsManager: SecretsManager) => Promise<Answer>,
): Promise<Answer> {
  const { AWS_ENDPOINT_URL: endpoint = '', ...shell } = broker.shell(caller);
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = shell;
  const credentials = { accessKeyId, secretAccessKey };
  const secretsManager = new SecretsManager({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
  return call(secretsManager).finally(() => secretsManager.destroy());
}

async function shell(commands: string, env: Readonly<Record<string, string | undefined>> = {}): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', commands], { cwd: ROOT, env: { ...process.env, ...env } })).stdout;
}

const ASK = /^Or in another terminal .*:\n((?: {2}.*\n)+)/m;
const MANAGE = /^Then manage the clients .*:\n((?: {2}.*\n)+)/m;

const hasAws = runs('aws', '--version');
const missing = hasAws ? '' : ' (skipped: the AWS command line is not installed)';

describe('npm start', () => {
  let broker: LocalBrokerProcess;
  let token: string;

  /** As a person uses it, in a terminal with another sign-in. */
  beforeAll(async () => {
    // With the last, the SDK would look for the real DynamoDB.
    const signIn = { ...OTHER_SIGN_IN, AWS_REGION: '', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' };
    const env = { NODE_DEBUG: 'none-of-node', NODE_OPTIONS: '--trace-warnings', ...signIn };
    broker = await startLocalBroker({ env });
    ({ access_token: token } = (await askFor(broker, 'acme')).json);
    for (const client of ['acme', 'initech', 'no-such-client']) await askFor(broker, client);
  });

  it('says for which clients the callers may act', () => {
    const { stdout } = broker.output;
    expect(stdout).toMatch(/^ {2}billing +may act for acme, globex, initech on all services$/m);
    expect(stdout).toMatch(/^ {2}reporting +may act for acme on customer-insights$/m);
    expect(stdout).toMatch(/^ {2}stranger +may act for no client$/m);
  });

  it('prints a line for each decision, with neither token nor credential', async () => {
    const lines = () => broker.output.stdout.split('Ctrl-C ends it.\n')[1] ?? '';
    await expect
      .poll(() => lines().split('\n'))
      .toEqual([
        expect.stringMatching(/^issued {2}acme\/customer-insights {2}for aws:111111111111:billing\/local-session /),
        expect.stringMatching(/^issued {2}acme\/customer-insights .* from memory /),
        expect.stringMatching(/^credential-rejected {2}initech\/customer-insights /),
        expect.stringMatching(/^access-denied {2}no-such-client\/customer-insights /),
        '',
      ]);
    const basic = Buffer.from('acme-id:acme-local-secret').toString('base64');
    for (const hidden of [token, basic, 'local-secret', 'acme-id', 'initech-id', 'local-billing-secret']) {
      expect(lines()).not.toContain(hidden);
    }
  });

  it.each([
    [{ outcome: 'identified', operation: 'whoami', service: 'none', caller: 'me' }, 'identified  whoami  for me'],
    [{ outcome: 'rejected', operation: 'health', pair: 'acme/a' }, 'rejected  acme/a  found by health'],
    [{ outcome: 'complete', operation: 'health' }, 'complete  health'],
  ])('prints %j as "%s"', (line, printed) => expect(requestLine(JSON.stringify(line))).toBe(`${printed}\n`));

  it.each([
    ['the operator, whose role may check', 'operator', 'read'],
    ['a caller that may only have tokens', 'billing', 'AccessDeniedException'],
    ['a role without a rule', 'stranger', 'AccessDeniedException'],
  ])('answers for its secrets to %s alike', async (_, caller, answer) => {
    for (const SecretId of ['token-broker/local/acme', 'token-broker-keys/local/sealing']) {
      const read = atSecretsManager(broker, caller, (aws) => aws.getSecretValue({ SecretId }));
      expect(await read.then(({ SecretString }) => SecretString && 'read').catch(({ name }) => name)).toBe(answer);
    }
  });

  it('the commands that the greeting shows ask for a token as they stand, in a terminal with another sign-in', async () => {
    expect(await shell(broker.printed(ASK), OTHER_SIGN_IN)).toMatch(/^fingerprint +[0-9a-f]{16}$/m);
    // readme-commands.test.ts runs this line.
    const ofReadme = commands()
      .find((command) => command.startsWith('curl '))
      ?.replace(DEFAULT_URL, broker.url);
    expect(broker.printed(/^ {2}(curl .*)$/m).replaceAll("'", '')).toBe(ofReadme?.replaceAll("'", ''));
  });

  it.skipIf(!hasAws)(
    `the AWS command line reads secrets, table and log, and learns how to reach AWS${missing}`,
    async () => {
      const setUp = broker.printed(MANAGE).replace(/^ *npm .*$/gm, '');
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

  it('answers, where it verifies no signature, on loopback names with its port, and to no page of another site', async () => {
    for (const url of [broker.tokenServiceUrl, broker.pageUrl]) {
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
        expect(await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' })).toBe(
          403,
        );
        expect(await ask({ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' })).toBe(
          403,
        );
        const link = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
        expect(await ask(link, nothing)).toBe(404);
      }
      if (process.platform !== 'linux') continue;
      const elsewhere = { method: 'GET', url: url.replace('127.0.0.1', '127.0.0.2'), headers: {}, body: '' };
      await expect(send(elsewhere)).rejects.toThrow('ECONNREFUSED');
    }
  });

  it('ends everything on Ctrl-C, and has only warned of variables with which Node writes secrets, because editors set them', async () => {
    const warning = /^NODE_DEBUG, NODE_OPTIONS is set: Node may write credentials and tokens here; .*\n$/;
    expect(await broker.end()).toMatchObject({ exitCode: 0, signal: null, stderr: expect.stringMatching(warning) });
    expect(existsSync(shellFile(new URL(broker.url).port))).toBe(false);
    const { AWS_ENDPOINT_URL: secrets = '' } = broker.shell();
    for (const url of [broker.url, secrets, broker.tokenServiceUrl, broker.pageUrl]) {
      const server = createServer();
      await listen(server, Number(new URL(url).port));
      server.close();
    }
  });
});

it('npm start ends on Ctrl-C in the middle of a token request, and of the check of a new version', async () => {
  const service = createServer();
  const authUrl = `http://127.0.0.1:${await listen(service, 0)}`;
  onTestFinished(() => service.closeAllConnections());
  const broker = await startLocalBroker({ config: exampleConfig(() => authUrl) });
  const unanswered = expect(askFor(broker, 'acme')).rejects.toThrow('socket hang up');
  await once(
    service.once('request', () => service.close()),
    'request',
  );
  const SecretString = JSON.stringify({ client_id: 'acme-id', secret: 'new', services: 'all' });
  await atSecretsManager(broker, 'billing', (aws) =>
    aws.putSecretValue({ SecretId: 'token-broker/local/acme', SecretString }),
  );

  expect(await broker.end()).toMatchObject({ exitCode: 0, signal: null, stderr: '' });
  await unanswered;
});

it('npm start has its page and its stand-ins on the ports behind its own, and says which one is on a free port instead', async () => {
  const [port, taken] = [await freePorts(4), createServer()];
  onTestFinished(() => void taken.close());
  await listen(taken, port + 3);
  // The pasted variables are of another broker, which is gone.
  const pasted = { TOKEN_BROKER_CONTROL_URL: 'http://127.0.0.1:9', AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:9' };
  const broker = await startLocalBroker({ env: { PORT: `${port}`, ...pasted } });
  expect(await askFor(broker, 'acme')).toMatchObject({ status: 200 });
  const { stdout, stderr } = await broker.end();

  const beside = (offset: number) => `http://127.0.0.1:${port + offset}`;
  const variables = broker.shell();
  expect([broker.pageUrl, broker.tokenServiceUrl]).toEqual([beside(1), beside(2)]);
  expect(variables).toMatchObject({ TOKEN_BROKER_URL: beside(0), TOKEN_BROKER_CONTROL_URL: beside(1) });
  expect(variables).toMatchObject({ AWS_USE_DUALSTACK_ENDPOINT: 'false', AWS_USE_FIPS_ENDPOINT: 'false' });
  const moved = `is ${variables.AWS_ENDPOINT_URL}, because port ${port + 3} is not free.`;
  expect(stdout.match(/^The address of .*$/gm)).toEqual([`The address of AWS ${moved}`]);
  expect(stderr).toBe('');
});

/** @see punkpeye/mcp-remote#265 */
it('npm start has a stand-in on a free port where Windows reserves its own, with EACCES', async () => {
  const reserved = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
  vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (this: Server) {
    this.emit('error', reserved);
    return this;
  });
  const { url, close } = await serve(async () => ({ status: 200 }), { port: 19_996 });
  onTestFinished(close);
  expect(url).not.toBe('http://127.0.0.1:19996');
});

it('npm start has its page on a free port where there is none behind its own', async () => {
  const broker = await startLocalBroker({ env: { PORT: '65535' } });
  expect((await broker.end()).stdout).toContain(`is ${broker.pageUrl}, because there is no port 65536.\n`);
});

const MISTYPED = /unknown option '--confg'.*Did you mean --config/s;
const BROKEN = '{ "a":\n{ "acme": "marked", } }';

it.each<readonly [string, Parameters<typeof runLocalBroker>[0], ReturnType<typeof ended>]>([
  ['its help', { args: ['--help'] }, ended(0, /--config <file>.*PORT .*8788.*PORT\+1/s)],
  ['an option that there is not', { args: ['--confg', 'file.json'] }, ended(2, '', MISTYPED)],
  ['no JSON', { config: BROKEN }, ended(1, '', /^\S+\/config\.json is not valid JSON \(line 2 colu/)],
  ['no file', { args: ['--config', '/nonexistent/x'] }, ended(1, '', 'cannot read /nonexistent/x: ENOENT\n')],
  [
    // @see nodejs/node-v0.x-archive#1918
    'wrong settings, also behind a byte order mark',
    { config: '\uFEFF{ "credentials": { "acme": "marked" } }' },
    ended(1, '', /\ncredentials\.acme: must be an object\n/),
  ],
])('npm start reports %s, and repeats no value', async (_, options, told) => {
  const result = await runLocalBroker(options);
  expect(result).toMatchObject(told);
  expect(result.stderr).not.toContain('marked');
});

it('npm start says that its own port is taken', async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  const PORT = `${await listen(server, 0)}`;
  const told = `port ${PORT} is not free (EADDRINUSE); set PORT to another port\n`;
  expect(await runLocalBroker({ env: { PORT } })).toMatchObject({ ...ended(1, '', told), signal: null });
  for (const wrong of ['abc', '65536', '']) expect(() => readPort(wrong)).toThrow(`PORT must be a port number, not "`);
});
