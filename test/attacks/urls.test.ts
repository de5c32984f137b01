import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpsSender } from '../../functions/aws/https/sender.ts';
import { Redacted } from '../../functions/broker/redacted.ts';
import { buildTokenRequest } from '../../functions/broker/token-request/token-request.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { exampleService } from '../support/example.ts';
import { startRawServer } from '../support/raw-server.ts';
import { changed, exampleForm, faultsIn } from '../unit/settings/example-form.ts';

const SEED = 8;
const CREDENTIAL = {
  clientId: new Redacted('acme'),
  secret: new Redacted('hunter2'),
  authorization: new Redacted('Basic YWNtZTpodW50ZXIy'),
};

/** URLs to which the broker must never send a credential, in every spelling. */
const AUTH_URLS = [
  // This machine, its network, and the metadata service, in every spelling that some parser takes for an address.
  'https://127.0.0.1',
  'https://127.1',
  'https://127.0.1',
  'https://2130706433',
  'https://0x7f000001',
  'https://0x7f.1',
  'https://0177.0.0.1',
  'https://017700000001',
  'https://127.0.0.1.',
  'https://127.000.000.001',
  'https://0',
  'https://0.0.0.0',
  'https://%31%32%37.0.0.1',
  'https://\u2460\u2461\u2466.0.0.1',
  'https://\uff11\uff12\uff17.0.0.1',
  'https://127\u30020\u30020\u30021',
  'https://10.0.0.1',
  'https://172.16.0.1',
  'https://192.168.1.1',
  'https://100.64.0.1',
  'https://198.51.100.7',
  'https://169.254.169.254',
  'https://169.254.170.2',
  'https://2852039166',
  'https://0xa9fea9fe',
  'https://0251.0376.0251.0376',
  'https://255.255.255.255',
  'https://224.0.0.1',
  'https://4294967295',
  'https://1.2.3',
  'https://[::1]',
  'https://[::]',
  'https://[0:0:0:0:0:0:0:1]',
  'https://[::ffff:127.0.0.1]',
  'https://[::ffff:7f00:1]',
  'https://[::ffff:169.254.169.254]',
  'https://[64:ff9b::7f00:1]',
  'https://[fe80::1%25eth0]',
  'https://[fd00:ec2::254]',
  'https://[2001:db8::1]',
  'https://::1',
  'https://[v1.x]',
  'https://localhost',
  'https://LOCALHOST',
  'https://localhost.',
  'https://x.localhost',
  'https://host.local',
  'https://metadata.google.internal',
  'https://ip-10-0-0-1.eu-west-1.compute.internal',
  'https://intranet',
  // The name that a person reads is not the host that a client asks.
  'https://auth.example.com@evil.example.net',
  'https://auth.example.com:443@evil.example.net',
  'https://user:pass@auth.example.com',
  'https://@auth.example.com',
  'https://:@auth.example.com',
  'https://auth.example.com%40evil.example.net',
  'https://auth.example.com#@evil.example.net',
  'https://auth.example.com?@evil.example.net',
  'https://auth.example.com#',
  'https://auth.example.com\\@evil.example.net',
  'https:\\\\auth.example.com',
  'https:/\\auth.example.com',
  'https://auth.example.com\\',
  'https://auth.example.com:8443',
  'https://auth.example.com:80',
  'https://auth.example.com:0443',
  'https://auth.example.com:',
  'https://auth.example.com:443:443',
  'https://auth.example.com.',
  'https://auth..example.com',
  'https://.example.com',
  'https://xn--uth-7cd.example.com',
  'https://auth.xn--exampl-8ya.com',
  'https://\u0430uth.example.com',
  'https://auth.ex\u00adample.com',
  'https://auth.exam\u200bple.com',
  'https://auth\u3002example\u3002com',
  'https://auth\uff0eexample.com',
  'https://AUTH.example.com',
  'https://*.example.com',
  'https://auth_.example.com',
  'https://-auth.example.com',
  'https://auth.example.com,evil.example.net',
  // Not https, or not a URL.
  'http://auth.example.com',
  'HTTPS://auth.example.com',
  'ftp://auth.example.com',
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:alert(1)',
  '//auth.example.com',
  'https:auth.example.com',
  'https:///auth.example.com',
  'https://',
  'auth.example.com',
  '',
  ' https://auth.example.com',
  'https://auth.example.com ',
  'https://auth.example.com\n',
  '\thttps://auth.example.com',
  'https://auth.exam\tple.com',
  'ht\ntps://auth.example.com',
  'https://auth.example.com\r\nx-evil: 1',
  'https://auth.example.com\u0000',
  'https://auth.example.com/a b',
  'https://auth.example.com/\u00a0',
  // A path that a client resolves to another path.
  'https://auth.example.com/../admin',
  'https://auth.example.com/%2e%2e/admin',
  'https://auth.example.com/a/./b',
  'https://auth.example.com//evil.example.net',
  'https://auth.example.com/a?b=c',
  'https://auth.example.com/a#b',
  'https://auth.example.com/%0d%0a',
];

const TOKEN_PATHS = [
  'auth/v1/token',
  '',
  '//evil.example.net/token',
  '/\\evil.example.net',
  '\\\\evil.example.net',
  'https://evil.example.net/token',
  '@evil.example.net/token',
  ':8443/token',
  '.evil.example.net/token',
  '/../token',
  '/a/../token',
  '/./token',
  '/%2e%2e/token',
  '/token?grant_type=x',
  '/token#x',
  '/token\r\nhost: evil.example.net',
  '/to ken',
  '/t\u00f6ken',
  '/token\u0000',
  '/token%00',
];

describe('synth', () => {
  it.each(AUTH_URLS)('refuses the authUrl %j and names the place', (authUrl) => {
    const faults = faultsWith('authUrl', authUrl);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/services\.customer-insights\.authUrl: must /);
  });

  it.each(TOKEN_PATHS)('refuses the tokenPath %j and names the place', (tokenPath) => {
    expect(faultsWith('tokenPath', tokenPath)).toEqual([
      expect.stringMatching(/services\.customer-insights\.tokenPath: must /),
    ]);
  });

  it('accepts, of made-up URLs, only those that every parser reads as they are written', () => {
    let taken = 0;
    fc.assert(
      fc.property(madeUpUrl, (authUrl) => {
        if (faultsWith('authUrl', authUrl).length > 0) return;
        taken += 1;
        const { protocol, hostname, port, username, password, search, hash } = new URL(authUrl);
        expect(authUrl).toMatch(new RegExp(`^https://${hostname.replaceAll('.', '\\.')}(:443)?(/|$)`));
        expect({ protocol, port, username, password, search, hash }).toEqual({
          protocol: 'https:',
          port: '',
          username: '',
          password: '',
          search: '',
          hash: '',
        });
        expect(isIP(hostname.replace(/^\[|\]$/g, ''))).toBe(0);
      }),
      { numRuns: 5_000, seed: SEED },
    );
    expect(taken).toBeGreaterThan(50);
  });
});

describe('at run time', () => {
  it.each([...TOKEN_PATHS, '/..//..//', '/@evil.example.net', '/;@evil.example.net:1'])(
    'the tokenPath %j, even if it passed the settings, changes no host',
    (tokenPath) => {
      const { url } = buildTokenRequest(exampleService({ tokenPath }), CREDENTIAL);
      expect(url.origin).toBe('https://auth.example.com');
    },
  );

  it('no path, parameter or header of the settings changes the host, the port or the user', () => {
    const hostile = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...TOKEN_PATHS, ...AUTH_URLS));
    fc.assert(
      fc.property(
        hostile,
        hostile,
        hostile,
        fc.constantFrom('query', 'body'),
        (tokenPath, name, value, parametersIn) => {
          const service = exampleService({ tokenPath, parameters: { [name]: value }, parametersIn });
          const { url } = buildTokenRequest(service, CREDENTIAL);
          expect({ origin: url.origin, user: url.username + url.password }).toEqual({
            origin: 'https://auth.example.com',
            user: '',
          });
        },
      ),
      { numRuns: 5_000, seed: SEED },
    );
  });

  it.each(['Host', 'host', 'HOST'])('the header %s of a service cannot be set', (name) => {
    expect(faultsWith('headers', { [name]: 'evil.example.net' })).not.toEqual([]);
  });

  it('a connection goes to the configured host, also when the environment names a proxy', async () => {
    const proxy = await startRawServer({});
    const service = await startRawServer({
      onRequest: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
    });
    onTestFinished(() => Promise.all([proxy.close(), service.close()]).then(() => undefined));
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'HTTPS_PROXY'])
      setVariable(name, `http://127.0.0.1:${proxy.port}`);
    setVariable('NODE_USE_ENV_PROXY', '1');

    const send = createHttpsSender();
    const authUrl = `http://127.0.0.1:${service.port}`;
    const request = buildTokenRequest(exampleService({ authUrl }), CREDENTIAL);
    const { status } = await send(request, { timeoutMs: 5_000, maxBodyBytes: 10 });
    expect({ status, asked: service.requests.length, proxied: proxy.connections() }).toEqual({
      status: 200,
      asked: 1,
      proxied: 0,
    });
  });

  it.each([
    'http://auth.example.com',
    'http://169.254.169.254',
    'http://10.0.0.1',
    'http://127.0.0.1.example.com',
    'http://[::ffff:a9fe:a9fe]',
  ])('nothing is sent in the clear to %s', async (authUrl) => {
    const send = createHttpsSender();
    const request = buildTokenRequest(exampleService({ authUrl }), CREDENTIAL);
    await expect(send(request, { timeoutMs: 5_000, maxBodyBytes: 10 })).rejects.toThrow(
      'over https, or over http on loopback',
    );
  });
});

function faultsWith(member: string, value: unknown): string[] {
  return faultsIn(() => parseEnvironment('dev', changed(exampleForm(), `services/customer-insights/${member}`, value)));
}

function setVariable(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

const word = fc.oneof(
  fc.constantFrom(
    'auth',
    'example',
    'com',
    '127',
    '0',
    '1',
    '0x7f',
    'xn--a',
    'localhost',
    '[::1]',
    'evil',
    '443',
    '8443',
    '',
    'net',
  ),
  fc.string({ maxLength: 5 }),
);
const mark = fc.constantFrom('.', '.', '.', '.', ':', '@', '/', '\\', '?', '#', '%2e', '-', ' ', '\t', '');
const madeUpUrl = fc
  .tuple(
    fc.constantFrom('https://', 'https://', 'https://', 'https:/', 'http://', '//'),
    fc.array(fc.tuple(word, mark), { maxLength: 6 }),
    fc.constantFrom('example.com', 'com', '/', ''),
  )
  .map(([scheme, parts, end]) => scheme + parts.flat().join('') + end);
