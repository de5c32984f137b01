import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import tls, { type SecureVersion } from 'node:tls';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import type { Service } from '../../../functions/broker/service.ts';
import { createTokenRequester } from '../../../functions/broker/token-request/token-request.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { exampleService, PAIR, START } from '../../support/example.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../../support/services/certificates.ts';
import { startRawServer } from '../../support/services/raw-server.ts';
import { http, write } from '../hostile-answers.ts';

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
const ANSWER = '{"access_token":"a-good-token","expires_in":3600}';

interface Endpoint {
  readonly certificate?: Parameters<CertificateAuthority['issue']>[0];
  readonly signedBy?: 'known' | 'unknown';
  readonly tls?: { maxVersion?: SecureVersion; minVersion?: SecureVersion; ciphers?: string };
  readonly host?: string;
  readonly certificateAuthorities?: readonly string[] | undefined;
}

let known: CertificateAuthority;
let unknown: CertificateAuthority;
beforeAll(async () => {
  [known, unknown] = await Promise.all([createCertificateAuthority(), createCertificateAuthority()]);
  // One of the public ones, as far as Node can tell.
  tls.setDefaultCACertificates([known.ca]);
});

it('sends the credential to a token endpoint with a certificate for its host, of an authority that is known', async () => {
  expect(await issueFrom({})).toMatchObject({ status: 200, requests: 1 });
});

it.each<[string, Endpoint]>([
  ['is signed by an unknown authority', { signedBy: 'unknown' }],
  ['is not yet valid', { certificate: { notBefore: inDays(1), notAfter: inDays(2) } }],
  ['is for another host', { certificate: { host: 'auth.example.com' } }],
  ['is for all hosts below this one', { certificate: { host: '*.localhost' } }],
  ['is for its host, asked for by its address', { host: '127.0.0.1' }],
  ['is good, over TLS 1.1', { tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } }],
  ['is good, over TLS without encryption', { tls: { maxVersion: 'TLSv1.2', ciphers: 'eNULL@SECLEVEL=0' } }],
])('sends nothing to a token endpoint whose certificate %s, and pauses the pair', async (_, endpoint) => {
  const problem = { status: 424, type: 'token-endpoint-error' };
  expect(await issueFrom(endpoint)).toEqual({ ...problem, requests: 0, retryAfter: '1' });
});

it('trusts the authorities of a service for it alone, and no public one beside them', async () => {
  const send = createHttpsSender();
  const statusOf = async (signedBy: 'known' | 'unknown', certificateAuthorities?: readonly string[]) =>
    (await issueFrom({ signedBy, certificateAuthorities }, send)).status;
  expect(await statusOf('unknown', [unknown.ca])).toBe(200);
  expect(await statusOf('unknown')).toBe(424);
  expect(await statusOf('known', [unknown.ca])).toBe(424);
  expect(await statusOf('known')).toBe(200);
});

// @see dadrian/tldr.fail#23, golang/go#80573
it.each(['drops', 'resets'] as const)(
  'a box that %s a TLS hello above one packet gets a smaller one on the second connection, with a warning',
  async (does) => {
    const service = await startRawServer({ certificate: await known.issue(), onRequest: write(http(200, ANSWER)) });
    const sizes: number[] = [];
    const box = net.createServer((socket) => {
      socket
        .on('error', () => {})
        .once('data', (hello) => {
          sizes.push(hello.length);
          if (hello.length > 1_400) return void (does === 'resets' && socket.resetAndDestroy());
          const way = net.connect(service.port, '127.0.0.1').on('error', () => {});
          way.write(hello);
          socket.pipe(way).pipe(socket);
        });
    });
    await once(box.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void box.close());
    const { port } = box.address() as AddressInfo;
    const { post, audited } = worldOf({ authUrl: `https://localhost:${port}`, requestTimeoutMs: 1_500 });
    expect(await post(PAIR)).toMatchObject({ status: 200 });
    expect([service.requests.length, sizes.length]).toEqual([1, 2]);
    expect([...(audited[0]?.trace.warnings ?? [])]).toEqual(['classical-tls']);
  },
);

async function issueFrom(
  { certificate, signedBy = 'known', tls: settings, host = 'localhost', certificateAuthorities }: Endpoint,
  sendHttp = createHttpsSender(),
) {
  // Node's own defaults protect no client here: only the sender's own settings do.
  const { DEFAULT_CIPHERS, DEFAULT_MIN_VERSION } = tls;
  Object.assign(tls, { DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0', DEFAULT_MIN_VERSION: 'TLSv1' });
  onTestFinished(() => void Object.assign(tls, { DEFAULT_CIPHERS, DEFAULT_MIN_VERSION }));
  const issued = await { known, unknown }[signedBy].issue(certificate);
  const service = await startRawServer({
    certificate: { ...issued, ...settings },
    onRequest: write(http(200, ANSWER)),
  });
  await connectCarelessly(service.port);

  const { post } = worldOf({ authUrl: `https://${host}:${service.port}`, certificateAuthorities }, sendHttp);
  const { status, json, headers } = await post(PAIR);
  return { status, type: json.type, requests: service.requests.length, retryAfter: headers['retry-after'] };
}

/** The rules of the broker over a real sender. */
function worldOf(service: Partial<Service>, sendHttp = createHttpsSender()) {
  const requestToken = createTokenRequester({ sendHttp, now: () => START, sleep: async () => {}, random: () => 0 });
  const services = { 'customer-insights': exampleService(service) };
  return createBrokerWorld({ services, answer: (_, ...order) => requestToken(...order) });
}

/** Proves that the server works, and that only a careful client refuses it. */
async function connectCarelessly(port: number): Promise<void> {
  const careless = { rejectUnauthorized: false, minVersion: 'TLSv1', ciphers: 'ALL:eNULL@SECLEVEL=0' } as const;
  const socket = tls.connect({ host: '127.0.0.1', port, ...careless });
  await once(socket, 'secureConnect');
  socket.destroy();
}
