import { getDiffieHellman } from 'node:crypto';
import dns, { type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, connect, Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { generate } from 'selfsigned';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHttpsSender } from '../../../../functions/aws/https/sender.ts';
import { bomb, http } from '../../../attacks/hostile-answers.ts';
import { START } from '../../../support/example.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../../../support/services/certificates.ts';
import { startRawServer } from '../../../support/services/raw-server.ts';
import { exampleRequest, outcomeOf, post, stopTime } from './https-sending.ts';

const OK = http(200, 'ok');
const PATIENCE = { timeout: 60_000 };

let authority: CertificateAuthority;
beforeAll(async () => {
  authority = await createCertificateAuthority();
});

it('uses a kept connection again whose answer was read to its end, and leaves nothing behind on it', async () => {
  const server = await startRawServer({ onRequest: (socket, count) => socket.write(http(200, `answer ${count}`)) });
  const send = createHttpsSender({ keepAlive: true });
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  onTestFinished(() => warned.mockRestore());

  for (let count = 1; count <= 15; count += 1)
    expect(await post(send, server)).toMatchObject({ text: `answer ${count}` });

  expect(server.connections()).toBe(1);
  // Of too many listeners.
  expect(warned).not.toHaveBeenCalled();
});

it.each([
  ['was too large', http(200, 'x'.repeat(1_001))],
  ['was too large when it was inflated', http(200, bomb(1_000_000), 'content-encoding: gzip')],
  ['was followed by a second one', `${OK}${http(200, 'poison')}`],
])('does not use a kept connection again whose answer %s', async (_what, bytes) => {
  const server = await startRawServer({ onRequest: (socket, count) => socket.write(count === 1 ? bytes : OK) });
  const send = createHttpsSender({ keepAlive: true });

  await post(send, server);

  expect(await post(send, server)).toEqual({ status: 200, text: 'ok' });
  expect(server.connections()).toBe(2);
});

it('does not use a kept connection again that was idle for 30 s, as after a freeze', async () => {
  let now = START;
  const server = await startRawServer({ onRequest: (socket) => socket.write(OK) });
  const send = createHttpsSender({ keepAlive: true, now: () => now });

  await post(send, server);
  now += 29_999;
  await post(send, server);
  expect(server.connections()).toBe(1);

  now += 30_000;
  await post(send, server);
  expect(server.connections()).toBe(2);
});

it.each(['http', 'https'] as const)(
  'a token request over %s is sent once, on a connection of its own, which ends with its answer or without one',
  async (scheme) => {
    const ended = Promise.withResolvers<void>();
    const server = await startRawServer({
      onRequest: (socket, count) => {
        socket.on('close', () => ended.resolve());
        if (count < 3) socket.write(OK);
        else socket.end();
      },
      ...(scheme === 'https' && { certificate: await authority.issue() }),
    });
    const send = createHttpsSender();
    const trusted = { certificateAuthorities: [authority.ca] };
    const request = exampleRequest(`${scheme}://localhost:${server.port}/`, trusted);
    for (const connections of [1, 2]) {
      expect(await outcomeOf(send, request)).toEqual({ status: 200, text: 'ok' });
      expect(server.connections()).toBe(connections);
    }
    await ended.promise;
    expect(await outcomeOf(send, request)).toEqual({ kind: 'broken', code: 'ECONNRESET', status: undefined });
    expect(server.requests).toHaveLength(3);
    for (const text of server.requests) expect(text).toContain('Connection: close');
  },
);

it('connects to no server when a name is resolved after the deadline', async () => {
  const server = await startRawServer({});
  const asked = Promise.withResolvers<(error: null, addresses: LookupAddress[]) => void>();
  const lookup = vi
    .spyOn(dns, 'lookup')
    .mockImplementation((...given: unknown[]) => asked.resolve(given.at(-1) as never));
  onTestFinished(() => lookup.mockRestore());

  const time = stopTime();
  const request = exampleRequest(`http://localhost:${server.port}/`);
  const outcome = outcomeOf(createHttpsSender(), request, { timeoutMs: 50 });
  const resolveName = await asked.promise;
  await time.pass(50);
  resolveName(null, [{ address: '127.0.0.1', family: 4 }]);

  expect(await outcome).toEqual({ kind: 'connect', code: 'ETIMEDOUT', status: undefined });
  // A connection that is opened a few turns later waits in line behind earlier ones.
  await time.pass(0);
  vi.useRealTimers();
  const other = connect(server.port, '127.0.0.1');
  await once(other, 'connect');
  await vi.waitFor(() => expect(server.connections()).toBeGreaterThan(0), PATIENCE);
  expect(server.connections()).toBe(1);
  other.destroy();
});

it.each<[string, (kept: Socket | undefined) => unknown]>([
  ['does not take unrequested bytes as the answer', (kept) => kept?.write(http(200, 'poison'))],
  ['does not use a connection that the server has closed', (kept) => kept?.destroy()],
])('after a freeze %s', async (_what, happens) => {
  const sockets: Socket[] = [];
  const server = await startRawServer({ onRequest: (socket) => sockets.push(socket) && socket.write(OK) });
  const send = createHttpsSender({ keepAlive: true });

  await post(send, server);
  // It is on its way at once, and no turn of the event loop has shown it to the client.
  happens(sockets[0]);

  expect(await post(send, server)).toEqual({ status: 200, text: 'ok' });
  expect(server.connections()).toBe(2);
});

// @see nodejs/node#54359
it('waits for each address of a host longer than the 250 ms of Node, where the other family has no route', async () => {
  const connected = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function connect(this: Socket) {
    process.nextTick(() => this.destroy(Object.assign(new Error('x'), { code: 'ENETUNREACH' })));
    return this;
  });
  onTestFinished(() => connected.mockRestore());
  const request = exampleRequest('http://localhost:9/');
  for (const timeoutMs of [600, 60_000]) await outcomeOf(createHttpsSender(), request, { timeoutMs });
  const limits = connected.mock.calls.flat(2).flatMap((given) => Object(given).autoSelectFamilyAttemptTimeout ?? []);
  expect(limits).toEqual([200, 2_000]);
});

describe('over TLS', () => {
  const toServer = ({ port }: { readonly port: number }) => exampleRequest(`https://localhost:${port}/`);

  it('asks for the host of the URL, and takes no certificate that it does not know, also when a variable says otherwise', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const warning = vi.spyOn(process, 'emitWarning').mockReturnValue();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      warning.mockRestore();
    });
    const onRequest = (socket: Socket) => socket.write(http(200, `${'servername' in socket && socket.servername}`));
    const server = await startRawServer({ certificate: await authority.issue(), onRequest });
    const request = exampleRequest(toServer(server).url.href, { headers: { host: 'other.example.com' } });

    const trusting = { ...request, certificateAuthorities: [authority.ca] };
    expect(await outcomeOf(createHttpsSender(), trusting)).toEqual({ status: 200, text: 'localhost' });
    const code = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
    expect(await outcomeOf(createHttpsSender(), request)).toEqual({ kind: 'tls', code, status: undefined });
    expect(server.requests).toHaveLength(1);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ['an untrusted server', 'tls', (socket) => void socket.end(http(400, 'plain HTTP'))],
    ['a handshake that is reset', 'handshake', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['a handshake that is closed', 'handshake', (socket) => void socket.end()],
  ])('calls what breaks off the handshake %s', async (_what, kind, onConnection) => {
    const server = await startRawServer({ onConnection });
    expect(await outcomeOf(createHttpsSender(), toServer(server))).toMatchObject({ kind, status: undefined });
  });

  it('calls a handshake that does not end in time by its name, and ends it at a limit of its own', async () => {
    const time = stopTime();
    const server = await startRawServer({ onConnection: () => time.pass(250) });
    const outcome = await outcomeOf(createHttpsSender(), toServer(server), { timeoutMs: 250 });
    expect(outcome).toEqual({ kind: 'handshake', code: 'ETIMEDOUT', status: undefined });

    const limits = { timeoutMs: 1_000_000, handshakeMs: 250 };
    expect(await outcomeOf(createHttpsSender(), toServer(server), limits)).toEqual(outcome);
  });

  it('offers a post-quantum key exchange, and a smaller hello without it', async () => {
    const hellos: Buffer[] = [];
    const server = await startRawServer({
      onConnection: (socket) =>
        void socket.once('data', (data) => hellos.push(Buffer.from(data.toString(), 'latin1')) && socket.destroy()),
    });
    for (const isClassical of [false, true]) {
      await outcomeOf(createHttpsSender(), { ...toServer(server), isClassical });
    }
    // X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem).
    expect(hellos.map((hello) => hello.includes(Buffer.from('11ec', 'hex')))).toEqual([true, false]);
    expect(hellos[0]?.length).toBeGreaterThan(1_400);
    expect(hellos[1]?.length).toBeLessThan(600);
  });

  it.each([
    ['HTTP/1.1 400 X\r\n\r\n', 'EPROTO: not TLS'],
    ['\x15\x03\x01\x00\x02\x02\x46', 'EPROTO: no protocol in common'],
    ['\x15\x03\x01\x00\x02\x02\x28', 'EPROTO: no protocol in common, or it wants a client certificate'],
    ['\x15\x03\x01\x00\x02\x02\x2a', 'EPROTO: it wants a client certificate'],
    ['\x15\x03\x01\x00\x02\x02\x70', 'EPROTO: it does not know this host name'],
    ['\x15\x03\x01\x00\x02\x02\x2f', 'EPROTO'],
    // A ServerHello of TLS 1.2 without the extension of RFC 5746.
    [`\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03${'r'.repeat(32)}\x00\xc0\x2f\x00`, 'EPROTO: old renegotiation'],
  ])('names the reason of a handshake that fails (%j)', async (bytes, code) => {
    const server = await startRawServer({ onConnection: (socket) => void socket.end(bytes, 'latin1') });
    expect(await outcomeOf(createHttpsSender(), toServer(server))).toEqual({ kind: 'tls', code, status: undefined });
  });

  // @see JanssenProject/jans#444
  it.each([
    ['TLSv1.3', 'client-certificate', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'],
    ['TLSv1.2', 'tls', 'EPROTO: no protocol in common, or it wants a client certificate'],
  ] as const)('names a server that wants a client certificate: %s', async (maxVersion, kind, code) => {
    const server = { ...(await authority.issue()), requestCert: true, rejectUnauthorized: true, maxVersion };
    const request = { ...toServer(await listen(server)), certificateAuthorities: [authority.ca] };
    expect(await outcomeOf(createHttpsSender(), request)).toEqual({ kind, code, status: undefined });
  });

  it('names the weak key of a server whose Diffie-Hellman group has 1024 bits', async () => {
    const prime = getDiffieHellman('modp2').getPrime();
    const der = Buffer.concat([Buffer.from('30818702818100', 'hex'), prime, Buffer.from('020102', 'hex')]);
    const dhparam = `-----BEGIN DH PARAMETERS-----\n${der.toString('base64')}\n-----END DH PARAMETERS-----\n`;
    const ciphers = 'DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0';
    const { private: key, cert } = await generate(undefined, { keySize: 2_048, algorithm: 'sha256' });
    const weak = { key, cert, dhparam, ciphers, maxVersion: 'TLSv1.2' } as const;
    const warning = vi.spyOn(process, 'emitWarning').mockReturnValue();
    onTestFinished(() => warning.mockRestore());
    const outcome = await outcomeOf(createHttpsSender(), toServer(await listen(weak)));
    expect(outcome).toEqual({ kind: 'tls', code: 'EPROTO: weak key', status: undefined });
  });

  /** Starts a server of TLS that no client passes. */
  async function listen(options: TlsOptions) {
    const server = createServer(options).on('tlsClientError', () => undefined);
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return server.address() as AddressInfo;
  }
});
