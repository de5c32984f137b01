import { createServer } from 'node:https';
import { generate } from 'selfsigned';
import { onTestFinished } from 'vitest';
import { listen } from '../../../local/loopback.ts';

export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

export type CertificateAuthority = Awaited<ReturnType<typeof createCertificateAuthority>>;

interface IssueOptions {
  readonly host?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** A certificate authority that lives as long as the test and signs certificates for servers on loopback. */
export async function createCertificateAuthority() {
  const authority = await generate([{ name: 'commonName', value: 'Test authority' }], {
    ...KEYS,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });

  return {
    /** The authority's own certificate (PEM), for a client that is to trust it. */
    ca: authority.cert,
    async issue({ host = 'localhost', notBefore, notAfter }: IssueOptions = {}): Promise<ServerCertificate> {
      const issued = await generate([{ name: 'commonName', value: host }], {
        ...KEYS,
        ca: { key: authority.private, cert: authority.cert },
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: host }] }],
        ...(notBefore && { notBeforeDate: notBefore }),
        ...(notAfter && { notAfterDate: notAfter }),
      });
      return { key: issued.private, cert: issued.cert };
    },
  };
}

const KEYS = { keyType: 'ec', algorithm: 'sha256' } as const;

/** Returns the URL of a server for one test whose authority no client trusts. */
export async function startUntrustedServer(): Promise<string> {
  const authority = await createCertificateAuthority();
  const server = createServer(await authority.issue(), (_, response) => response.end());
  const port = await listen(server, 0);
  onTestFinished(() => void server.close());
  return `https://localhost:${port}`;
}
