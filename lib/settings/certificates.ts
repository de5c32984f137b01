import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of lib/environments.ts. */
export const ENVIRONMENTS_FOLDER = fileURLToPath(new URL('..', import.meta.url));

/** Why a file does not hold certificates alone; its content travels in the code asset of the token function. */
export function certificateFault(folder: string, path: string): string | undefined {
  if (!/^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/.test(path)) return 'must be the path of a file beside the settings';
  try {
    const text = readFileSync(join(folder, path), 'utf8');
    if (text.includes('PRIVATE KEY')) return 'holds a private key: it must hold certificates alone';
    const certificates = certificatesIn(text).map((pem) => new X509Certificate(pem));
    return certificates.length === 0 ? 'must hold a certificate in PEM' : undefined;
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return isMissing ? 'is not there: paths begin in the folder of the settings' : 'must hold certificates in PEM';
  }
}

/** The certificates of files, each in PEM. */
export function readCertificates(folder: string, paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => certificatesIn(readFileSync(join(folder, path), 'utf8')));
}

/** The first day on which a certificate of a file has ended. */
export function endOfCertificates(folder: string, path: string): Date {
  const ends = readCertificates(folder, [path]).map((pem) => new X509Certificate(pem).validToDate.getTime());
  return new Date(Math.min(...ends));
}

function certificatesIn(text: string): readonly string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
