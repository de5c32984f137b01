import { createHash } from 'node:crypto';

/** A request as it came over the wire: nothing decoded, every header in its order, one character per byte. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** The SHA-256 of the request in the one form that signer and verifier agree on, for every service but S3. */
export function hashCanonicalRequest(request: ReceivedRequest, signedHeaders: readonly string[]): string {
  const lines = [
    request.method,
    canonicalPath(request.path),
    canonicalQuery(request.query),
    ...signedHeaders.map((name) => `${name}:${headerValue(request, name) ?? ''}`),
    '',
    signedHeaders.join(';'),
    sha256(request.body),
  ];
  return sha256(Buffer.from(lines.join('\n'), 'latin1'));
}

/** The values of a header joined by commas, as they are signed: trimmed, and inner white space collapsed. */
export function headerValue(request: ReceivedRequest, name: string): string | undefined {
  const values = request.headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.map(collapse).join(',');
}

function collapse(value: string): string {
  return value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '');
}

/** In hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Dot segments and empty segments go; then the path, already encoded on the wire, is encoded once more. */
function canonicalPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(percentEncode(segment));
  }
  return `/${segments.join('/')}${segments.length > 0 && path.endsWith('/') ? '/' : ''}`;
}

/** Decoded and encoded anew, so that it does not matter which characters the sender left as they are. */
function canonicalQuery(query: string): string {
  return query
    .split('&')
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(parameter) ?? [];
      return { name: percentEncode(percentDecode(name)), value: percentEncode(percentDecode(value)) };
    })
    .sort((one, other) => compare(one.name, other.name) || compare(one.value, other.value))
    .map(({ name, value }) => `${name}=${value}`)
    .join('&');
}

function percentEncode(text: string): string {
  return text.replace(/[^A-Za-z0-9._~-]/g, (byte) => `%${Buffer.from(byte, 'latin1').toString('hex').toUpperCase()}`);
}

function percentDecode(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1'));
}

/** By code, never by locale. */
function compare(one: string, other: string): number {
  return Number(one > other) - Number(one < other);
}
