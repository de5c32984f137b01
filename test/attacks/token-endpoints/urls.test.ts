import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { buildTokenRequest } from '../../../functions/broker/token-request/token-request.ts';
import { serviceUrlFault } from '../../../functions/service-url.ts';
import { exampleService } from '../../support/example.ts';
import { startRawServer } from '../../support/services/raw-server.ts';
import { end, http } from '../hostile-answers.ts';

const SEED = 8;
const CREDENTIAL = {
  clientId: new Redacted('acme'),
  secret: new Redacted('hunter2'),
  authorization: new Redacted('Basic YWNtZTpodW50ZXIy'),
  headers: {},
};

const PATHS = [
  '//evil.example.net/token',
  '/\\evil.example.net',
  '@evil.example.net/token',
  ':8443/token',
  '/\r\nhost: x',
];

it('the rule of service URLs accepts, of made-up URLs, only those that every parser reads as they are written', () => {
  let taken = 0;
  fc.assert(
    fc.property(madeUpUrl, (authUrl) => {
      if (serviceUrlFault(authUrl, { allowLoopback: false }) !== undefined) return;
      taken += 1;
      const { protocol, hostname, port, username, password, search, hash } = new URL(authUrl);
      expect(authUrl).toMatch(new RegExp(`^https://${hostname.replaceAll('.', '\\.')}(:443)?(/|$)`));
      expect([protocol, port, username, password, search, hash]).toEqual(['https:', '', '', '', '', '']);
      expect(isIP(hostname.replace(/^\[|\]$/g, ''))).toBe(0);
    }),
    { numRuns: 5_000, seed: SEED },
  );
  expect(taken).toBeGreaterThan(50);
});

describe('at run time', () => {
  it('no path, parameter or header of the settings changes the host, the port or the user', () => {
    const hostile = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...PATHS), madeUpUrl);
    fc.assert(
      fc.property(
        hostile,
        hostile,
        hostile,
        fc.constantFrom('query', 'body'),
        (tokenPath, name, value, parametersIn) => {
          const service = exampleService({ tokenPath, parameters: { [name]: value }, parametersIn });
          const { url } = buildTokenRequest(service, CREDENTIAL);
          expect([url.origin, url.username + url.password]).toEqual(['https://auth.example.com', '']);
        },
      ),
      { numRuns: 5_000, seed: SEED },
    );
  });

  it('a redirect is not followed', async () => {
    const trap = await startRawServer({});
    const location = `location: http://127.0.0.1:${trap.port}/`;
    const service = await startRawServer({ onRequest: end(http(307, '', location)) });
    const url = new URL(`http://127.0.0.1:${service.port}/token`);
    const request = { method: 'POST', url, headers: {}, body: '' } as const;
    expect(await createHttpsSender()(request, { timeoutMs: 60_000, maxBodyBytes: 10 })).toMatchObject({ status: 307 });
    expect([service.requests.length, trap.connections()]).toEqual([1, 0]);
  });

  it('a connection goes to the configured host, also when the variables name a proxy', async () => {
    const [proxy, service] = [await startRawServer({}), await startRawServer({ onRequest: end(http(200, '')) })];
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'HTTPS_PROXY'];
    const proxied = names.map((name) => [name, `http://127.0.0.1:${proxy.port}`]);
    // Node reads the variables when it starts.
    const options = { env: { ...Object.fromEntries(proxied), NODE_USE_ENV_PROXY: '1' } };
    const args = ['--input-type=module', '-e', SEND_ONCE, `http://127.0.0.1:${service.port}/token`];
    const { stdout } = await promisify(execFile)(process.execPath, args, options);
    expect([stdout, service.requests.length, proxy.connections()]).toEqual(['200', 1, 0]);
  });
});

/** A program that sends a request to the URL that it is given, and prints the status. */
const SEND_ONCE = `
import { createHttpsSender } from ${JSON.stringify(new URL('../../../functions/aws/https/sender.ts', import.meta.url))};
const request = { method: 'POST', url: new URL(process.argv[1]), headers: {}, body: '' };
const { status } = await createHttpsSender()(request, { timeoutMs: 60_000, maxBodyBytes: 10 });
process.stdout.write(String(status));
`;

const WORDS = 'auth example com net evil localhost 443 8443 127 0 1 0x7f 2130706433 [::1] xn--a \u2460'.split(' ');
const word = fc.oneof(fc.constantFrom('', ...WORDS), fc.string({ maxLength: 5 }));
const mark = fc.constantFrom('.', '.', '.', '.', ':', '@', '/', '\\', '?', '#', '%2e', '-', ' ', '\t', '');
const madeUpUrl = fc
  .tuple(
    fc.constantFrom('https://', 'https://', 'https://', 'https:/', 'http://', '//'),
    fc.array(fc.tuple(word, mark), { maxLength: 6 }),
    fc.constantFrom('example.com', 'com', '/', ''),
  )
  .map(([scheme, parts, end]) => scheme + parts.flat().join('') + end);
