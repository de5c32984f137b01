import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { exportLine } from '../../bin/local/shell.ts';
import { startTokenService } from '../../bin/local/token-service/server.ts';
import { ask, startLocalBroker } from '../support/processes/local-broker.ts';
import { startOidcProvider } from '../support/services/oidc.ts';

/** A shell would take this key for something else. */
const KEY = `it's-$HOME&"key"`;
const ME = { role: 'arn:aws:iam::222222222222:role/me', accessKeyId: 'AKIDME', secretAccessKey: KEY };

/** All dialects send the first one alike; a server shows by the other which dialect it reads. */
const CREDENTIALS = {
  plain: { client_id: 'plain-id', secret: 'plain-secret', services: 'all' },
  signs: { client_id: 'signs-id', secret: 's+e c%r:&t', services: 'all' },
};

function config(services: unknown, accessRules: unknown = [{ role: ME.role, clients: 'all', services: 'all' }]) {
  return { services, accessRules, callers: [ME], credentials: CREDENTIALS };
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

it('npm start -- --config FILE asks services of its own, and offers commands for its own callers', async () => {
  const { authUrl, close } = await startTokenService({
    credentials: { raw: [{ client: 'plain', ...CREDENTIALS.plain }] },
  });
  onTestFinished(close);
  const broker = await startLocalBroker({ config: config({ raw: { authUrl: authUrl('raw') } }) });
  expect(await ask(broker, ME, { client: 'plain', service: 'raw' })).toMatchObject({ status: 200 });

  const { stdout, ...ended } = await broker.end();
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^ {2}me +may act for all clients on all services$/m);
  expect(stdout).toContain('token --client plain --service raw\n');
  expect(stdout).not.toMatch(/stand-in|AKIDLOCALBILLING|look after/);
  const shell = await promisify(execFile)('sh', [
    '-c',
    `${exportLine(broker.callers.me ?? {})}; printf %s "$AWS_SECRET_ACCESS_KEY"`,
  ]);
  expect(shell.stdout).toBe(KEY);
});

it('npm start -- --config FILE says that no caller gets a token when no rule names one', async () => {
  const broker = await startLocalBroker({ config: config({ raw: { authUrl: 'http://127.0.0.1:9' } }, []) });
  const { stdout } = await broker.end();

  expect(stdout).toMatch(/^ {2}me +may act for no client$/m);
  expect(stdout).toContain('No access rule names a caller');
  expect(stdout).not.toContain('curl');
});
