import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { Provider } from 'oidc-provider';
import { expect, it, onTestFinished, vi } from 'vitest';
import { causeWord } from '../../functions/aws/calls.ts';
import { parseLocalConfig } from '../../lib/settings/local-config.ts';
import { greeting } from '../../local/banner.ts';
import { listen, stop } from '../../local/loopback.ts';
import { exportLine, leaveShellFile, OUTRANKING, powershellLines, shellFile } from '../../local/shell.ts';
import { startTokenService } from '../../local/token-service/server.ts';
import { ask, startLocalBroker } from '../support/processes/local-broker.ts';

/** A shell would take this key for something else. */
const KEY = `it's-$HOME&"key"`;
const ME = { role: 'arn:aws:iam::222222222222:role/me', accessKeyId: 'AKIDME', secretAccessKey: KEY };

/** All dialects send the first one alike; a server shows by the other which dialect it reads. */
const CREDENTIALS = {
  plain: { client_id: 'plain-id', secret: 'plain-secret', services: 'all' },
  signs: { client_id: 'signs-id', secret: 's+e c%r:&t', services: 'all' },
  colon: { client_id: 'colon:id', secret: 'c', services: 'all' },
};

function config(services: unknown, accessRules: unknown = [{ role: ME.role, clients: 'all', services: 'all' }]) {
  return { services, accessRules, callers: [ME], credentials: CREDENTIALS };
}

it('npm start -- --config FILE asks services of its own, each in the dialect that the file says, and offers commands for its own callers', async () => {
  const provider = await startOidcProvider();
  const own = await startTokenService({ credentials: { own: [{ client: 'plain', ...CREDENTIALS.plain }] } });
  onTestFinished(own.close);
  const parameters = { parameters: { grant_type: 'client_credentials' }, parametersIn: 'body' };
  const form = { authUrl: provider.url, tokenPath: '/token', basicEncoding: 'form', ...parameters };
  const keyed = { authUrl: own.authUrl('own'), clientHeaders: ['X-Api-Key', 'x-id'] };
  const services = { own: { authUrl: own.authUrl('own') }, form, raw: { ...form, basicEncoding: 'raw' }, keyed };
  const broker = await startLocalBroker({ config: config(services) });
  const issued = await ask(broker, ME, { client: 'signs', service: 'form' });

  expect(issued).toMatchObject({ status: 200, json: { token_type: 'Bearer', expiry_source: 'response' } });
  expect(await provider.issuedTo(issued.json.access_token)).toBe(CREDENTIALS.signs.client_id);
  // Decoding breaks at the bare percent sign.
  const refused = { status: 424, json: { type: 'token-endpoint-error' } };
  expect(await ask(broker, ME, { client: 'signs', service: 'raw' })).toMatchObject(refused);
  // The service would read a part of the client id as secret.
  const cut = { status: 424, json: { type: 'credential-malformed', detail: expect.stringContaining('colon') } };
  expect(await ask(broker, ME, { client: 'colon', service: 'raw' })).toMatchObject(cut);
  expect(await ask(broker, ME, { client: 'plain', service: 'own' })).toMatchObject({ status: 200 });

  expect(broker.shell('me')).toMatchObject({
    TOKEN_BROKER_CLIENT_HEADERS: 'keyed:X-Api-Key keyed:x-id',
    TOKEN_BROKER_AUTH_URLS: expect.stringMatching(/(?:^| )keyed:http:/),
  });

  const { stdout, ...ended } = await broker.end();
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^ {2}me +may act for all clients on all services$/m);
  expect(stdout).toContain('token --client plain --service own\n');
  expect(stdout).not.toMatch(/stand-in|AKIDLOCALBILLING|manage the clients/);
  const command = `${exportLine(broker.shell('me'))}; printf %s "$AWS_SECRET_ACCESS_KEY"`;
  expect((await promisify(execFile)('sh', ['-c', command])).stdout).toBe(KEY);
});

it('the variables for PowerShell have every kind of its quotes doubled, and no other sign-in', () => {
  const lines = powershellLines({ AWS_REGION: 'us-east-1', AWS_SECRET_ACCESS_KEY: "it's a ‘secret’; $x `n" });
  expect(lines).toEqual([
    "$env:AWS_REGION = 'us-east-1'",
    "$env:AWS_SECRET_ACCESS_KEY = 'it''s a ‘‘secret’’; $x `n'",
    ...OUTRANKING.map((name) => `$env:${name} = $null`),
  ]);
});

/** @see react/create-react-app#1009 */
it('the broker starts where the file of `env` cannot be written, as in a read-only checkout', () => {
  const [file, failures] = [shellFile(19_997), [] as string[]];
  mkdirSync(file, { recursive: true });
  onTestFinished(() => rmSync(file, { recursive: true }));
  const parsed = parseLocalConfig(config({ raw: { authUrl: 'http://127.0.0.1:9' } }));
  const broker = { url: 'http://127.0.0.1:19997', pageUrl: 'http://127.0.0.1:19998', config: parsed };
  leaveShellFile(broker, (what, error) => failures.push(`${what}: ${causeWord(error)}`))();
  expect(failures).toEqual(['env has no variables here: ERR_FS_EISDIR']);
});

it.each(['8788', '9000'])('the greeting names npm.cmd in PowerShell, and nowhere else: port %s', (port) => {
  const parsed = parseLocalConfig(config({ raw: { authUrl: 'http://127.0.0.1:9' } }));
  const broker = { url: `http://127.0.0.1:${port}`, config: parsed, moved: [] } as never;
  const prefix = port === '8788' ? '' : `$env:PORT = ${port}; `;
  const command = `  ${prefix}npm.cmd run --silent token-broker -- env CALLER --powershell | Invoke-Expression`;
  expect(greeting(broker, 'win32').split('\n')).toContain(command);
  expect(greeting(broker, 'linux')).not.toContain('npm.cmd');
});

it('the greeting says that no caller gets a token when no rule names one', () => {
  const parsed = parseLocalConfig(config({ raw: { authUrl: 'http://127.0.0.1:9' } }, []));
  const text = greeting({ url: 'http://127.0.0.1:8788', config: parsed, moved: [] } as never);
  expect(text).toContain('No access rule names a caller');
  expect(text).not.toContain('curl');
});

/** An OAuth server on loopback, at `/token`, that takes only `client_credentials` with HTTP Basic in the form dialect. */
async function startOidcProvider() {
  const server = createServer();
  const url = `http://127.0.0.1:${await listen(server, 0)}`;
  onTestFinished(() => stop(server));

  // It warns that its keys and its memory are for development only, as they are here.
  const warnings = vi.spyOn(console, 'warn').mockReturnValue();
  const client = {
    client_id: CREDENTIALS.signs.client_id,
    client_secret: CREDENTIALS.signs.secret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: 'client_secret_basic',
  } as const;
  const provider = new Provider(url, {
    clients: [client],
    ttl: { ClientCredentials: 600 },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  });
  warnings.mockRestore();
  server.on('request', provider.callback());
  /** The client id that a token was issued to. */
  const issuedTo = async (token: string) => (await provider.ClientCredentials.find(token))?.clientId;
  return { url, issuedTo };
}
