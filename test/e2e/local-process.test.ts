import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { requestLine } from '../../local/banner.ts';
import { exampleConfig, readPort } from '../../local/config.ts';
import { listen } from '../../local/loopback.ts';
import { shellFile } from '../../local/shell.ts';
import {
  ask,
  freePorts,
  type LocalBrokerProcess,
  runLocalBroker,
  startLocalBroker,
} from '../support/processes/local-broker.ts';
import { ended } from './commands/shared/command-line.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };

const askFor = (broker: LocalBrokerProcess, client: string) =>
  ask(broker, BILLING, { client, service: 'customer-insights' });

describe('npm start', () => {
  let broker: LocalBrokerProcess;
  let result: Awaited<ReturnType<LocalBrokerProcess['end']>>;
  let token: string;

  /** As a person uses it: four requests, then the end. */
  beforeAll(async () => {
    // With the last, the SDK would look for the real DynamoDB.
    const signIn = { AWS_PROFILE: 'other', AWS_SESSION_TOKEN: 'other', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' };
    const env = { NODE_DEBUG: 'none-of-node', NODE_OPTIONS: '--trace-warnings', ...signIn };
    broker = await startLocalBroker({ env });
    ({ access_token: token } = (await askFor(broker, 'acme')).json);
    for (const client of ['acme', 'initech', 'no-such-client']) await askFor(broker, client);
    result = await broker.end();
  });

  it('says for which clients the callers may act', () => {
    expect(result.stdout).toMatch(/^ {2}billing +may act for acme, globex, initech on all services$/m);
    expect(result.stdout).toMatch(/^ {2}reporting +may act for acme on customer-insights$/m);
    expect(result.stdout).toMatch(/^ {2}stranger +may act for no client$/m);
  });

  it('prints a line for each decision, with neither token nor credential', () => {
    const lines = result.stdout.split('Ctrl-C ends it.\n')[1] ?? '';
    expect(lines.split('\n')).toEqual([
      expect.stringMatching(/^issued {2}acme\/customer-insights {2}for aws:111111111111:billing\/local-session /),
      expect.stringMatching(/^issued {2}acme\/customer-insights .* from memory /),
      expect.stringMatching(/^credential-rejected {2}initech\/customer-insights /),
      expect.stringMatching(/^access-denied {2}no-such-client\/customer-insights /),
      '',
    ]);
    const basic = Buffer.from('acme-id:acme-local-secret').toString('base64');
    for (const hidden of [token, basic, 'local-secret', 'acme-id', 'initech-id', 'local-billing-secret']) {
      expect(lines).not.toContain(hidden);
    }
  });

  it.each([
    [{ outcome: 'identified', operation: 'whoami', service: 'none', caller: 'me' }, 'identified  whoami  for me'],
    [{ outcome: 'rejected', operation: 'health', pair: 'acme/a' }, 'rejected  acme/a  found by health'],
    [{ outcome: 'complete', operation: 'health' }, 'complete  health'],
  ])('prints %j as "%s"', (line, printed) => expect(requestLine(JSON.stringify(line))).toBe(`${printed}\n`));

  it('only warns of variables with which Node would write secrets, because editors set them', () => {
    const warning = /^NODE_DEBUG, NODE_OPTIONS is set: Node may write credentials and tokens here; .*\n$/;
    expect(result.stderr).toMatch(warning);
  });

  it('ends everything on Ctrl-C', async () => {
    expect(result).toMatchObject({ exitCode: 0, signal: null });
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
  const { AWS_ENDPOINT_URL: endpoint = '' } = broker.shell();
  const secretsManager = new SecretsManager({ endpoint, region: 'us-east-1', credentials: BILLING });
  const SecretString = JSON.stringify({ client_id: 'acme-id', secret: 'new', services: 'all' });
  await secretsManager.putSecretValue({ SecretId: 'token-broker/local/acme', SecretString });
  secretsManager.destroy();

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
  const moved = `is ${variables.AWS_ENDPOINT_URL}, because port ${port + 3} is not free.`;
  expect(stdout.match(/^The address of .*$/gm)).toEqual([`The address of AWS ${moved}`]);
  expect(stderr).toBe('');
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
  const told = `port ${PORT} is in use; set PORT to another port\n`;
  expect(await runLocalBroker({ env: { PORT } })).toMatchObject({ ...ended(1, '', told), signal: null });
  for (const wrong of ['abc', '65536', '']) expect(() => readPort(wrong)).toThrow(`PORT must be a port number, not "`);
});
