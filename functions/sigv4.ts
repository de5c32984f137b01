import { createHash, createHmac } from 'node:crypto';

/** An AWS key. The key of an assumed role has a `sessionToken`. */
export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface Signing {
  readonly credentials: SigningKey;
  readonly scope: readonly [region: string, service: string];
  /** Epoch milliseconds. Default: this machine's time. */
  readonly now?: number;
}

type Headers = Readonly<Record<string, string>>;

/**
 * Returns the headers of a signed POST without a query (Signature Version 4).
 *
 * @param named further headers, with names in lower case and values without blanks around them
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signPost({ host, pathname }: URL, named: Headers, body: string, signing: Signing): Headers {
  const { now = Date.now(), credentials } = signing;
  const { sessionToken } = credentials;
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const headers: Headers = {
    ...named,
    host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': time,
    ...(sessionToken && { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(headers).toSorted();
  const lines = names.map((name) => `${name}:${headers[name]}`);
  const request = ['POST', pathname, '', ...lines, '', names.join(';'), sha256(body)].join('\n');
  return { ...headers, authorization: authorizationOf(request, names, time, signing) };
}

/** Returns the header `authorization` for a canonical request with these signed headers. */
export function authorizationOf(
  request: string | Uint8Array,
  names: readonly string[],
  time: string,
  { credentials: { accessKeyId, secretAccessKey }, scope }: Signing,
): string {
  const steps = [time.slice(0, 8), ...scope, 'aws4_request'];
  const place = steps.join('/');
  const key = steps.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, place, sha256(request)].join('\n')).toString('hex');
  const credential = `Credential=${accessKeyId}/${place}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return `AWS4-HMAC-SHA256 ${credential}`;
}

/** Returns the hash in hexadecimal digits. */
export const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
