import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTokenService, type TokenService } from '../../bin/local/token-service/server.ts';
import { ask, operatorCommands, shellCommands, startLocalBroker } from '../support/local-broker.ts';
import { startOidcProvider } from '../support/oidc.ts';

const ME = { role: 'arn:aws:iam::222222222222:role/me', accessKeyId: 'AKIDME', secretAccessKey: 'marked-key' };

/** The dialects send the first one alike; what a server makes of the others tells which dialect it reads. */
const CREDENTIALS = {
  plain: { client_id: 'plain-id', secret: 'plain-secret' },
  signs: { client_id: 'signs-id', secret: 's+e c%r:&t' },
  encoded: { client_id: 'encoded-id', secret: '100%25+secret' },
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

it('npm start -- --config FILE asks an OAuth server of another project in the dialect that the file says', async () => {
  const { client_id, secret } = CREDENTIALS.signs;
  const provider = await startOidcProvider({ clients: [{ client_id, client_secret: secret }] });
  const parameters = { parameters: { grant_type: 'client_credentials' }, parametersIn: 'body' };
  const form = { authUrl: provider.url, tokenPath: '/token', basicEncoding: 'form', ...parameters };
  const broker = await startLocalBroker({ config: config({ form, raw: { ...form, basicEncoding: 'raw' } }) });
  const issued = await ask(broker, ME, { client: 'signs', service: 'form' });
  const refused = await ask(broker, ME, { client: 'signs', service: 'raw' });
  expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });

  expect(issued).toMatchObject({ status: 200, json: { token_type: 'Bearer', expiry_source: 'response' } });
  expect(await provider.issuedTo(issued.json.access_token)).toBe(client_id);
  // Decoding breaks at the bare percent sign.
  expect(refused).toMatchObject({ status: 424, json: { type: 'token-endpoint-error' } });
  await provider.close();
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
    const { stdout, ...ended } = await broker.end();
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });

    // It offers commands for its own callers and clients, and no stand-in for the services.
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

    for (const { stdout } of listed) expect(stdout).toMatch(/^plain +raw +unproven .* [0-9a-f]{8} /m);
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
