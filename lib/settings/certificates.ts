import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Returns why a file is not a list of certificates. Its content becomes a part of the token function's code asset. */
export function certificateFault(folder: string, path: string): string | undefined {
  if (!/^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/.test(path)) return 'must be the path of a file next to the settings';
  try {
    // Reading a pipe would wait for its writer.
    if (!statSync(join(folder, path)).isFile()) return 'must be a file';
    const text = readFileSync(join(folder, path), 'utf8');
    if (text.includes('PRIVATE KEY')) return 'contains a private key: it must contain only certificates';
    const certificates = certificatesIn(text).map((pem) => new X509Certificate(pem));
    return certificates.length === 0 ? 'must contain a certificate in PEM' : undefined;
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return isMissing
      ? 'does not exist: paths are relative to the folder of the settings'
      : 'must contain certificates in PEM';
  }
}

/** Returns the certificates of the files, each in PEM. */
export function readCertificates(folder: string, paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => certificatesIn(readFileSync(join(folder, path), 'utf8')));
}

/** Returns the time at which the first certificate of a file expires. */
export function endOfCertificates(folder: string, path: string): Date {
  const ends = readCertificates(folder, [path]).map((pem) => new X509Certificate(pem).validToDate.getTime());
  return new Date(Math.min(...ends));
}

function certificatesIn(text: string): readonly string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
