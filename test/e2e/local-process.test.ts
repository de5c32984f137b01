import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  ListSecretVersionIdsCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { exampleConfig, movedText, readPorts } from '../../bin/local/config.ts';
import { listen } from '../../bin/local/loopback.ts';
import {
  ask,
  type LocalBrokerProcess,
  pageUrl,
  printedVariables,
  runLocalBroker,
  startLocalBroker,
  tokenServiceUrl,
} from '../support/local-broker.ts';
import { motoIsInstalled, startMoto } from '../support/moto.ts';
import { ended } from './commands/command-line.ts';

const BILLING = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };

const OPERATOR = { accessKeyId: 'AKIDLOCALOPERATOR', secretAccessKey: 'local-operator-secret' };

/** Nothing listens there. */
const GONE = 'http://127.0.0.1:9';

const askFor = (broker: LocalBrokerProcess, client: string) =>
  ask(broker, BILLING, { client, service: 'customer-insights' });

describe('npm start', () => {
  let broker: LocalBrokerProcess;
  let result: Awaited<ReturnType<LocalBrokerProcess['end']>>;
  let overview: string;
  let token: string;

  /** What a person does with it: looks at the page, asks four times, ends it while the page is open. */
  beforeAll(async () => {
    broker = await startLocalBroker({ env: { NODE_DEBUG: 'none-of-node', NODE_OPTIONS: '--trace-warnings' } });
    overview = await overviewOf(broker);
    const reader = (await fetch(`${pageUrl(broker)}/events`)).body?.getReader();
    await reader?.read();
    ({ access_token: token } = (await askFor(broker, 'acme')).json);
    for (const client of ['acme', 'initech', 'no-such-client']) await askFor(broker, client);
    result = await broker.end();
  });

  it('says for which clients the callers may act', () => {
    expect(result.stdout).toMatch(/^ {2}billing +may act for acme, globex, initech on all$/m);
    expect(result.stdout).toMatch(/^ {2}reporting +may act for acme on customer-insights$/m);
    expect(result.stdout).toMatch(/^ {2}operator +may act for all on all$/m);
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

  it('only warns of variables with which Node would write secrets, because editors set them', () => {
    const warning = /^NODE_DEBUG, NODE_OPTIONS is set: Node may write credentials and tokens here; .*\n$/;
    expect(result.stderr).toMatch(warning);
  });

  it('ends everything on Ctrl-C, also while a browser shows its page', async () => {
    expect(result).toMatchObject({ exitCode: 0, signal: null });
    const { TOKEN_BROKER_URL: url = '', AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets = '' } = printedVariables(broker);
    for (const one of [url, secrets, tokenServiceUrl(broker), pageUrl(broker)]) await expectFreePort(one);
  });

  it.each([
    [{}, { port: 8788, pagePort: 8789, pageMayMove: true }],
    [{ PORT: '9000' }, { port: 9000, pagePort: 9001, pageMayMove: true }],
    [{ PORT: '0' }, { port: 0, pagePort: 0, pageMayMove: true }],
    [{ PAGE_PORT: '9009' }, { port: 8788, pagePort: 9009, pageMayMove: false }],
  ])('has its page beside the broker, or on a given port: %o', (variables, ports) => {
    expect(readPorts(variables)).toEqual(ports);
  });

  it('has its page and its stand-ins on the ports behind its own, and says which one is on a free port instead', async () => {
    const [port, taken] = [await freePorts(8), createServer()];
    onTestFinished(() => void taken.close());
    await listen(taken, port + 3);
    const broker = await startLocalBroker({ env: { PORT: `${port}` } });
    const { stdout } = await broker.end();

    const beside = (offset: number) => `http://127.0.0.1:${port + offset}`;
    const variables = printedVariables(broker);
    expect(pageUrl(broker)).toBe(beside(1));
    expect(tokenServiceUrl(broker)).toBe(beside(2));
    expect(variables).toMatchObject({
      TOKEN_BROKER_URL: beside(0),
      AWS_ENDPOINT_URL_DYNAMODB: beside(4),
      AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: beside(5),
      TOKEN_BROKER_CONTROL_URL: beside(6),
    });
    const moved = `is ${variables.AWS_ENDPOINT_URL_SECRETS_MANAGER}, because port ${port + 3} is taken.`;
    expect(stdout.match(/^The address of .*$/gm)).toEqual([`The address of Secrets Manager ${moved}`]);
  });

  it('says that there is no port behind the last one', () => {
    expect(movedText('the page', 65_536, 'http://127.0.0.1:1')).toEqual([
      'The address of the page is http://127.0.0.1:1, because there is no port 65536.',
    ]);
    expect(movedText('the page', 0, 'http://127.0.0.1:1')).toEqual([]);
  });

  it('passes over the variables of another broker that were pasted into its terminal, and says so', async () => {
    const pasted = { TOKEN_BROKER_CONTROL_URL: GONE, AWS_ENDPOINT_URL_SECRETS_MANAGER: GONE };
    const broker = await startLocalBroker({ env: pasted });
    const { status } = await askFor(broker, 'acme');
    const { stderr } = await broker.end();

    expect(status).toBe(200);
    expect(stderr).toMatch(/^This terminal has the variables of a local broker: .* env --unset\)"\n$/s);
  });

  it('shows on its page what is running and who may ask for what, but no key and no credential', () => {
    const { AWS_ENDPOINT_URL_DYNAMODB: dynamodb, AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets } = printedVariables(broker);

    expect(JSON.parse(overview)).toMatchObject({
      running: [
        { name: 'Broker', url: broker.url },
        { name: 'Services', url: tokenServiceUrl(broker), detail: 'stand-in' },
        { name: 'Secrets Manager', url: secrets, detail: 'stand-in' },
        { name: 'DynamoDB', url: dynamodb, detail: 'stand-in' },
        { name: 'Schedule' },
      ],
      callers: [
        { name: 'billing', allowed: expect.arrayContaining(['token initech/merchant-payment-cleansing']) },
        { name: 'reporting', allowed: ['token acme/customer-insights'] },
        { name: 'operator', allowed: expect.arrayContaining(['check globex/customer-insights']) },
        { name: 'stranger', allowed: [] },
      ],
      clients: [{ name: 'acme' }, { name: 'globex' }, { name: 'initech' }],
      services: [
        { name: 'customer-insights', url: `${tokenServiceUrl(broker)}/customer-insights/auth/v1/token` },
        { name: 'merchant-payment-cleansing' },
      ],
    });
    for (const hidden of ['local-secret', 'billing-secret', 'acme-id']) expect(overview).not.toContain(hidden);
  });

  it('ends on Ctrl-C in the middle of a token request', async () => {
    const service = createServer();
    const authUrl = `http://127.0.0.1:${await listenForTest(service)}`;
    const broker = await startLocalBroker({ config: exampleConfig(() => authUrl) });
    const unanswered = expect(askFor(broker, 'acme')).rejects.toThrow('socket hang up');
    await once(service, 'request');

    expect(await broker.end()).toMatchObject({ exitCode: 0, signal: null, stderr: '' });
    await unanswered;
  });

  it('shows its help', async () => {
    const help = /--config <file>.*PORT .*8788.*PAGE_PORT .*PORT\+1.*AWS_ENDPOINT_URL_SECRETS_MANAGER/s;
    expect(await runLocalBroker({ args: ['--help'] })).toMatchObject(ended(0, help));
  });
});

describe('npm start, wrongly used', () => {
  const AT = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'marked-key' };
  const at = (endpoint: string) => ({ env: { ...AT, AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint } });
  const cannotStore = (at: string) => `cannot store the secret "token-broker/local/acme" at ${at}\n`;
  const twoLines = '{ "credentials":\n{ "acme": "marked", } }';

  it.each<readonly [string, Parameters<typeof runLocalBroker>[0], number, string | RegExp]>([
    ['a port', { env: { PORT: 'abc' } }, 1, 'PORT must be a port number, not "abc"\n'],
    ['an option', { args: ['--confg', 'file.json'] }, 2, /unknown option '--confg'.*Did you mean --config/s],
    ['where nothing listens', at(GONE), 1, cannotStore(`${GONE}: ECONNREFUSED`)],
    ['what is no URL', at('moto'), 1, cannotStore('moto: ERR_INVALID_URL')],
    ['no JSON', { config: twoLines }, 1, /^\S+\/config\.json is not valid JSON \(line 2 column 21\)\n$/],
    ['a word', { config: 'marked' }, 1, /^\S+\/config\.json is not valid JSON\n$/],
    ['no file', { args: ['--config', '/nonexistent/x'] }, 1, 'cannot read /nonexistent/x: ENOENT\n'],
  ])('names what it cannot use: %s', async (_, options, exitCode, stderr) => {
    expect(await runLocalBroker(options)).toMatchObject(ended(exitCode, '', stderr));
  });

  it.each(['PORT', 'PAGE_PORT'])('says that a port is taken: %s', async (name) => {
    const port = await listenForTest(createServer());
    const told = `port ${port} is in use; set ${name} to another one\n`;
    expect(await runLocalBroker({ env: { [name]: `${port}` } })).toMatchObject({ ...ended(1, '', told), signal: null });
    for (const wrong of ['abc', '65536', ''])
      expect(() => readPorts({ [name]: wrong })).toThrow(`${name} must be a port number, not "${wrong}"`);
  });

  it('names every wrong place of --config FILE and why, and repeats no value', async () => {
    const { exitCode, stdout, stderr } = await runLocalBroker({
      config: { services: {}, callers: [{ secretAccessKey: 'marked key' }], credentials: { acme: 'marked-secret' } },
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^The settings are wrong in \d+ places:\n/);
    expect(stderr.split('\n')).toContain('credentials.acme: must be an object');
    expect(stderr).not.toContain('marked');
  });
});

describe('npm start with the Secrets Manager and the DynamoDB of another local broker', () => {
  it('shows on its page where they are, and uses them', async () => {
    const first = await startLocalBroker();
    const { AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets = '', AWS_ENDPOINT_URL_DYNAMODB: dynamodb = '' } =
      printedVariables(first);
    const second = await startLocalBroker({
      env: {
        AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets,
        AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
        AWS_ACCESS_KEY_ID: OPERATOR.accessKeyId,
        AWS_SECRET_ACCESS_KEY: OPERATOR.secretAccessKey,
      },
    });
    const { json } = await askFor(first, 'acme');
    const overview = await overviewOf(second);
    const report = await callFromPage(second, { caller: 'AKIDLOCALBILLING', client: 'acme' });

    expect(JSON.parse(overview).running).toMatchObject([
      { name: 'Broker', url: second.url },
      { name: 'Services' },
      { name: 'Secrets Manager', url: secrets, detail: 'yours' },
      { name: 'DynamoDB', url: dynamodb, detail: 'yours' },
      { name: 'Schedule' },
    ]);
    // The shared cache gives it the very token of the first one.
    expect(report).toMatchObject({ outcome: { word: 'issued' }, fingerprint: json.fingerprint });
    expect(overview + JSON.stringify(report)).not.toContain(OPERATOR.secretAccessKey);
    for (const broker of [second, first]) expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
  });
});

const missing = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describe.skipIf(!motoIsInstalled)(`npm start with the Secrets Manager of moto${missing}`, () => {
  it('leaves the secrets found there as they are, and adds those that are missing', async () => {
    const moto = await startMoto();
    onTestFinished(moto.close);
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
    const secretsManager = new SecretsManagerClient({ endpoint: moto.url, region: 'us-east-1', credentials });
    onTestFinished(() => secretsManager.destroy());
    const mine = JSON.stringify({ client_id: 'globex-id', secret: 'what I stored' });
    await secretsManager.send(new CreateSecretCommand({ Name: secretOf('globex'), SecretString: mine }));

    const env = {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: moto.url,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    };
    // Twice: the second one finds what the first one stored.
    for (const _ of [1, 2]) {
      const broker = await startLocalBroker({ env });
      expect(printedVariables(broker)).toMatchObject({ AWS_ENDPOINT_URL_SECRETS_MANAGER: moto.url });
      expect(await askFor(broker, 'acme')).toMatchObject({ status: 200 });
      expect(await askFor(broker, 'globex')).toMatchObject({ status: 424, json: { type: 'credential-rejected' } });
      expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
    }

    const found = await secretsManager.send(new GetSecretValueCommand({ SecretId: secretOf('globex') }));
    const versions = await secretsManager.send(new ListSecretVersionIdsCommand({ SecretId: secretOf('globex') }));
    expect(found.SecretString).toBe(mine);
    expect(versions.Versions).toHaveLength(1);
  });
});

/** What the page's stream of events begins with. */
async function overviewOf(broker: LocalBrokerProcess): Promise<string> {
  const { body } = await fetch(`${pageUrl(broker)}/events`);
  let text = '';
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    const overview = /^event: overview\ndata: (.*)\n/m.exec(text)?.[1];
    if (overview !== undefined) return overview;
  }
  return text;
}

async function callFromPage(broker: LocalBrokerProcess, form: object): Promise<unknown> {
  const url = pageUrl(broker);
  const answer = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify({ operation: 'token', service: 'customer-insights', ...form }),
  });
  return answer.json();
}

function secretOf(client: string): string {
  return `token-broker/local/${client}`;
}

/** Listens for as long as the test runs; gives the port. */
function listenForTest(server: Server): Promise<number> {
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return listen(server, 0);
}

/** The first of so many ports that are free one behind the other, out of reach of those that the system gives away. */
async function freePorts(count: number): Promise<number> {
  for (let first = 20_000 + (process.pid % 1_000) * 10; ; first += count) {
    const tried = Array.from({ length: count }, () => createServer());
    const got = await Promise.allSettled(tried.map((server, offset) => listen(server, first + offset)));
    await Promise.all(tried.map((server) => new Promise((resolve) => server.close(resolve))));
    if (got.every(({ status }) => status === 'fulfilled')) return first;
  }
}

async function expectFreePort(url: string): Promise<void> {
  const server = createServer();
  const port = Number(new URL(url).port);
  expect(await listen(server, port)).toBe(port);
  server.close();
  await once(server, 'close');
}
