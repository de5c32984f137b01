import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../../support/certificates.ts';
import { answer, exampleRequest, outcomeOf, serve, stopTime } from './https-sending.ts';

let authority: CertificateAuthority;
beforeAll(async () => {
  authority = await createCertificateAuthority();
});

const DAY_MS = 24 * 60 * 60 * 1_000;

async function receive(issue: Parameters<CertificateAuthority['issue']>[0], ca: string | undefined) {
  const server = await serve({
    certificate: await authority.issue(issue),
    onRequest: (socket) => socket.write(answer(200, serverName(socket))),
  });
  const request = exampleRequest(`https://localhost:${server.port}/`, { headers: { host: 'other.example.com' } });
  const outcome = await outcomeOf(createHttpsSender({ ca }), request);
  return { outcome, requests: server.requests };
}

function serverName(socket: Socket): string {
  return socket instanceof TLSSocket ? `asked for ${socket.servername}` : 'no TLS';
}

it('trusts a certificate of an authority it knows, and asks for the host of the URL', async () => {
  const { outcome } = await receive({}, authority.ca);

  expect(outcome).toEqual({ status: 200, text: 'asked for localhost' });
});

describe('sends nothing to a server', () => {
  it.each([
    ['whose authority it does not know', {}, undefined, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['whose certificate is for another host', { host: 'other.example.com' }, 'known', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [
      'whose certificate has expired',
      { notBefore: new Date(Date.now() - 2 * DAY_MS), notAfter: new Date(Date.now() - DAY_MS) },
      'known',
      'CERT_HAS_EXPIRED',
    ],
  ])('%s', async (_what, issue, known, code) => {
    const { outcome, requests } = await receive(issue, known && authority.ca);

    expect(outcome).toEqual({ kind: 'tls', code, status: undefined });
    expect(requests).toEqual([]);
  });

  it('that it does not trust, even if an environment variable turns the check off', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const warning = vi.spyOn(process, 'emitWarning').mockReturnValue();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      warning.mockRestore();
    });

    expect((await receive({}, undefined)).outcome).toMatchObject({ kind: 'tls' });
  });

  it('that speaks plain HTTP', async () => {
    const server = await serve({ onConnection: (socket) => socket.end(answer(400, 'no')) });

    const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`https://localhost:${server.port}/`));

    expect(outcome).toMatchObject({ kind: 'tls', status: undefined });
  });
});

describe('calls it a failed connection, which may be tried again, when a server', () => {
  it('breaks off the handshake', async () => {
    const server = await serve({ onConnection: (socket) => socket.resetAndDestroy() });

    const outcome = await outcomeOf(createHttpsSender(), exampleRequest(`https://localhost:${server.port}/`));

    expect(outcome).toEqual({ kind: 'connect', code: 'ECONNRESET', status: undefined });
  });

  it('does not finish the handshake in time', async () => {
    const time = stopTime();
    const server = await serve({ onConnection: () => time.pass(250) });
    const request = exampleRequest(`https://localhost:${server.port}/`);

    const outcome = await outcomeOf(createHttpsSender(), request, { timeoutMs: 250 });

    expect(outcome).toEqual({ kind: 'connect', code: 'ETIMEDOUT', status: undefined });
  });
});
