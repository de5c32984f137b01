import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { AwsV4Signer } from 'aws4fetch';
import type { SigningKey } from '../../bin/local/function-url/sigv4.ts';

export interface RequestToSign {
  readonly method: string;
  /** With path and query as they are to go over the wire. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export type SignedHeaders = Readonly<Record<string, string>>;

/** Three implementations of Signature Version 4 that know nothing of each other, nor of ours. */
export const SIGNERS = ['botocore', 'aws4fetch', '@smithy/signature-v4'] as const;

export type Signer = (typeof SIGNERS)[number];

/** Whether the signer can be used on this machine; the two from npm always can. */
export function hasSigner(signer: Signer): boolean {
  return signer !== 'botocore' || runs('python3', '-c', 'import botocore.auth');
}

/** Whether a command ends well. */
export function runs(command: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The headers to send one request with, signed for Lambda in us-east-1 unless told otherwise. */
export async function sign(
  signer: Signer,
  request: RequestToSign,
  credentials: SigningKey,
  date: Date,
  scope: SigningScope = LAMBDA,
): Promise<SignedHeaders> {
  const [headers] = await signAll(signer, [request], credentials, date, scope);
  if (headers === undefined) throw new Error(`${signer} signed nothing`);
  return headers;
}

/** Many requests at once, in one process even where the signer is not JavaScript. */
export async function signAll(
  signer: Signer,
  requests: readonly RequestToSign[],
  credentials: SigningKey,
  date: Date,
  scope: SigningScope = LAMBDA,
): Promise<readonly SignedHeaders[]> {
  const withHost = requests.map((request) => ({
    ...request,
    headers: { ...request.headers, host: new URL(request.url).host },
  }));
  if (signer === 'botocore') return signWithBotocore(withHost, credentials, date, scope);
  const signOne = signer === 'aws4fetch' ? signWithAws4fetch : signWithSmithy;
  return Promise.all(withHost.map((request) => signOne(request, credentials, date, scope)));
}

export interface SigningScope {
  readonly service: string;
  readonly region: string;
}

const LAMBDA: SigningScope = { service: 'lambda', region: 'us-east-1' };

function signWithBotocore(
  requests: readonly RequestToSign[],
  credentials: SigningKey,
  date: Date,
  scope: SigningScope,
): readonly SignedHeaders[] {
  const input = requests.map((request) => ({
    ...request,
    ...scope,
    body: Buffer.from(request.body).toString('base64'),
    credentials,
    timestamp: basicFormat(date),
  }));
  const script = fileURLToPath(new URL('sign.py', import.meta.url));
  return JSON.parse(
    execFileSync('python3', [script], { input: JSON.stringify(input), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }),
  );
}

async function signWithAws4fetch(
  { method, url, headers, body }: RequestToSign,
  { accessKeyId, secretAccessKey, sessionToken }: SigningKey,
  date: Date,
  scope: SigningScope,
): Promise<SignedHeaders> {
  const signed = await new AwsV4Signer({
    method,
    url,
    headers: { ...headers },
    body: Buffer.from(body),
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    datetime: basicFormat(date),
    ...scope,
  }).sign();
  return Object.fromEntries(signed.headers);
}

async function signWithSmithy(
  { method, url, headers, body }: RequestToSign,
  { accessKeyId, secretAccessKey, sessionToken }: SigningKey,
  date: Date,
  scope: SigningScope,
): Promise<SignedHeaders> {
  const { protocol, hostname, pathname, searchParams } = new URL(url);
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  const signer = new SignatureV4({ ...scope, credentials, sha256: Sha256 });
  const query = Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
  const request = { method, protocol, hostname, path: pathname, query, headers: { ...headers }, body };
  const signed = await signer.sign(request, { signingDate: date });
  return signed.headers;
}

/** `20261121T061600Z` */
function basicFormat(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d+/g, '');
}
