import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../local/loopback.ts';
import { createCertificateAuthority } from '../../support/services/certificates.ts';
import { startRawServer } from '../../support/services/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { answerWith } from '../../unit/client/loopback-server.ts';
import { answering, ended, execute, ROOT } from '../commands/shared/command-line.ts';
import { PYTHON } from './languages/languages.ts';
import { ROLE_VARIABLES } from './role.ts';

/** The suite languages.test.ts plays the days that are bad in every language. */
describe.skipIf(!PYTHON.isThere)(`token_broker.py for ${PYTHON.title}`, () => {
  it('keeps its promises, and those of fake_token_broker.py', async () => {
    expect(await python(['-m', 'unittest', 'token_broker_test'])).toEqual(ended(0, '', /^Ran 6 tests .*\n\nOK$/m));
  });

  it('sends through HTTPS_PROXY, except to the hosts of NO_PROXY', async () => {
    const proxy = await startRawServer({ onRequest: (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n') });
    const variables = { TOKEN_BROKER_URL: 'https://broker.invalid', HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    expect(await program(variables)).toEqual(ended(1, '', /\(ProxyConnectionError, OSError\)/));
    const past = await program({ ...variables, NO_PROXY: 'broker.invalid' });
    expect(past).toEqual(ended(1, '', /\(EndpointConnectionError, gaierror\)/));
    expect(new Set(proxy.requests)).toEqual(new Set([expect.stringMatching(/^CONNECT broker\.invalid:443 /)]));
  });

  it('trusts the certificates of AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE and a profile, as boto3 does', async () => {
    const authority = await createCertificateAuthority();
    const server = createServer(await authority.issue(), (_, response) => response.end(JSON.stringify(TOKEN)));
    onTestFinished(() => void server.close());
    const TOKEN_BROKER_URL = `https://localhost:${await listen(server, 0)}`;
    const bundle = written('ca.pem', authority.ca);
    const AWS_CONFIG_FILE = written('config', `[default]\nca_bundle = ${bundle}\n`);
    for (const trusting of [{ AWS_CA_BUNDLE: bundle }, { REQUESTS_CA_BUNDLE: bundle }, { AWS_CONFIG_FILE }]) {
      expect(await program({ TOKEN_BROKER_URL, ...trusting })).toEqual(ISSUED);
    }
    expect(await program({ TOKEN_BROKER_URL })).toEqual(ended(1, '', /\(SSLError, SSLCertVerificationError\)/));
  });

  it('reads the keys of a profile anew after AWS says that they have expired', async () => {
    const file = written('credentials', profile('AKIDOLD'));
    const { url, requests } = await answering((response, request) => {
      const isOld = request.headers.authorization?.includes('AKIDOLD');
      if (isOld) writeFileSync(file, profile('AKIDNEW'));
      const expired = answerWith(403, {}, { 'x-amzn-ErrorType': 'ExpiredTokenException' });
      (isOld ? expired : answerWith(200, TOKEN))(response, request);
    });
    const variables = { ...NO_KEYS, AWS_SHARED_CREDENTIALS_FILE: file, TOKEN_BROKER_URL: url };
    expect(await program(variables)).toEqual(ISSUED);
    expect(requests).toHaveLength(2);
  });

  it.each<[string, Variables, RegExp]>([
    ['without https', { TOKEN_BROKER_URL: 'http://broker.example.com' }, /^wrong-url: [^\n]+\n$/],
    ['of a URL without a scheme', { TOKEN_BROKER_URL: 'broker.example.com' }, /^wrong-url: [^\n]+\n$/],
    ['without a region', { AWS_REGION: '' }, /^region-missing: [^\n]+AWS_REGION[^\n]+\n$/],
    [
      'without AWS keys',
      { AWS_ACCESS_KEY_ID: '' },
      /^aws-credentials-unavailable: [^\n]+ \(NoCredentialsError, .*\)\n$/,
    ],
    [
      'of a profile that does not exist',
      { AWS_PROFILE: 'no' },
      /^aws-credentials-unavailable: [^\n]+ \(ProfileNotFound, .*\)\n$/,
    ],
  ])('ends with one sentence as a program %s', async (_, variables, sentence) => {
    expect(await program(variables)).toEqual(ended(1, '', sentence));
  });
});

const TOKEN = { access_token: 'the-token', token_type: 'Bearer', expires_in: 3600, fingerprint: '0123456789abcdef' };
const ISSUED = ended(0, '0123456789abcdef lives 3600 s\n');
const NO_KEYS = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '' };

type Variables = Readonly<Record<string, string>>;

/** Returns the path of a file that lasts as long as the test. */
function written(name: string, text: string): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

function profile(accessKeyId: string): string {
  return `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = example\n`;
}

/** Runs the file as a program that does not pause. */
function program(variables: Variables) {
  const lines = 'import runpy, time; time.sleep = id; runpy.run_module("token_broker", run_name="__main__")';
  return python(['-c', lines, 'acme', 'customer-insights'], variables);
}

function python(args: readonly string[], variables: Variables = {}) {
  const own = { PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: join(ROOT, 'docs/examples') };
  const env = { ...own, ...ROLE_VARIABLES, TOKEN_BROKER_URL: 'https://broker.example.com', ...variables };
  return execute(['python3', ...args], env, join(ROOT, 'test/e2e/docs/languages'));
}
