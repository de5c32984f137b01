import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTokenService, type TokenService } from '../../bin/local/token-service/server.ts';
import {
  ask,
  type LocalBrokerProcess,
  operatorCommands,
  shellCommands,
  startLocalBroker,
} from '../support/local-broker.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc.ts';

const ME = { role: 'arn:aws:iam::222222222222:role/me', accessKeyId: 'AKIDME', secretAccessKey: 'marked-key' };

/** The dialects send the first one alike; what a server makes of the others tells which dialect it reads. */
const CREDENTIALS = {
  plain: { client_id: 'plain-id', secret: 'plain-secret' },
  signs: { client_id: 'signs-id', secret: 's+e c%r:&t' },
  encoded: { client_id: 'encoded-id', secret: '100%25+secret' },
  colon: { client_id: 'colon:id', secret: 'secret' },
  unicode: { client_id: 'unicode-id', secret: 'pässwörd €' },
};

function config(services: unknown) {
  return {
    services,
    accessRules: [{ role: ME.role, clients: 'all', services: 'all' }],
    callers: [ME],
    credentials: CREDENTIALS,
  };
}

describe('npm start -- --config FILE, with an OAuth server of another project', () => {
  let provider: OidcProvider;
  let broker: LocalBrokerProcess;
  beforeAll(async () => {
    // RFC 6749 knows visible ASCII only, and this server insists on it.
    const { unicode: _, ...credentials } = CREDENTIALS;
    const clients = Object.values(credentials).map(({ client_id, secret }) => ({ client_id, client_secret: secret }));
    provider = await startOidcProvider({ clients });
    const form = {
      authUrl: provider.url,
      tokenPath: '/token',
      basicEncoding: 'form',
      parameters: { grant_type: 'client_credentials' },
      parametersIn: 'body',
    };
    broker = await startLocalBroker({ config: config({ form, raw: { ...form, basicEncoding: 'raw' } }) });
  });
  afterAll(async () => {
    expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
    await provider.close();
  });

  it.each([
    ['plain', 'form', 'issued'],
    ['signs', 'form', 'issued'],
    ['encoded', 'form', 'issued'],
    ['colon', 'form', 'issued'],
    ['plain', 'raw', 'issued'],
    // Decoding breaks at the bare percent sign.
    ['signs', 'raw', 'token-endpoint-error'],
    ['encoded', 'raw', 'credential-rejected'],
    ['colon', 'raw', 'credential-malformed'],
  ] as const)('asks for %s in the dialect %s, and the outcome is: %s', async (client, dialect, outcome) => {
    const { status, json } = await ask(broker, ME, { client, service: dialect });

    if (outcome === 'issued') {
      expect({ status, json }).toMatchObject({
        status: 200,
        json: { token_type: 'Bearer', expiry_source: 'response' },
      });
      expect(await provider.issuedTo(json.access_token)).toBe(CREDENTIALS[client].client_id);
    } else {
      expect({ status, json }).toMatchObject({ status: 424, json: { type: outcome } });
    }
  });
});

describe('npm start -- --config FILE, with a service that reads the credential as it stands', () => {
  let service: TokenService;
  beforeAll(async () => {
    const accepted = Object.entries(CREDENTIALS).map(([client, credential]) => ({ client, ...credential }));
    service = await startTokenService({ credentials: { raw: accepted, form: accepted } });
  });
  afterAll(() => service.close());

  const services = () => ({
    raw: { authUrl: service.authUrl('raw') },
    form: { authUrl: service.authUrl('form'), basicEncoding: 'form' },
  });

  it('gets tokens in its dialect, and in the other one only for a credential that looks the same in both', async () => {
    const broker = await startLocalBroker({ config: config(services()) });
    const status = async (client: string, dialect: string) =>
      (await ask(broker, ME, { client, service: dialect })).status;

    for (const client of ['plain', 'signs', 'encoded', 'unicode'])
      expect(await status(client, 'raw'), client).toBe(200);
    expect(await status('plain', 'form')).toBe(200);
    for (const client of ['signs', 'encoded', 'unicode']) expect(await status(client, 'form'), client).toBe(424);
    expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('offers commands for its own callers and clients, and no stand-in for the services', async () => {
    const broker = await startLocalBroker({ config: config(services()) });
    const { stdout } = await broker.end();

    expect(stdout).toMatch(/^ {2}me +may act for all on all$/m);
    expect(stdout).toContain('--user AKIDME:marked-key ');
    expect(stdout).toContain('token --client plain --service raw\n');
    expect(stdout).not.toMatch(/stand-in|AKIDLOCALBILLING/);
  });

  it('offers the key of the broker itself, another one at each start, where no role may check', async () => {
    const brokers = [
      await startLocalBroker({ config: config(services()) }),
      await startLocalBroker({ config: config(services()) }),
    ];
    const listed = await Promise.all(
      brokers.map((broker) => {
        const commands = `${shellCommands(broker)}\n${operatorCommands(broker)}`.replace(/^.*token --client.*$/m, '');
        return promisify(execFile)('sh', ['-c', commands]);
      }),
    );
    const keys = brokers.map((broker) => /AWS_SECRET_ACCESS_KEY=(\S{40})\n/.exec(operatorCommands(broker))?.[1]);
    await Promise.all(brokers.map((broker) => broker.end()));

    for (const { stdout } of listed) expect(stdout).toMatch(/^plain +all +[0-9a-f]{8} /m);
    expect(new Set(keys).size).toBe(2);
    expect(keys).not.toContain(undefined);
  });

  it('quotes what a shell would take for something else', async () => {
    const key = `it's-$HOME&"key"`;
    const caller = { ...ME, secretAccessKey: key };
    const broker = await startLocalBroker({ config: { ...config(services()), callers: [caller] } });
    await broker.end();
    const [, exported] = shellCommands(broker).split('\n');
    const { stdout } = await promisify(execFile)('sh', ['-c', `${exported}; printf %s "$AWS_SECRET_ACCESS_KEY"`]);

    expect(stdout).toBe(key);
  });

  it('says that no caller gets a token when no rule names one', async () => {
    const broker = await startLocalBroker({ config: { ...config(services()), accessRules: [] } });
    const { stdout } = await broker.end();

    expect(stdout).toMatch(/^ {2}me +may act for no client$/m);
    expect(stdout).toContain('No access rule names a caller');
    expect(stdout).not.toContain('curl');
  });
});
