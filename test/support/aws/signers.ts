import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Sha256Node } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { AwsV4Signer } from 'aws4fetch';
import type { SigningKey } from '../../../functions/sigv4.ts';

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
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** The headers to send one request with, signed for Lambda in us-east-1 unless told otherwise. */
export async function sign(
  signer: Signer,
  request: RequestToSign,
  ...how: [SigningKey, Date, SigningScope?]
): Promise<SignedHeaders> {
  const [headers] = await signAll(signer, [request], ...how);
  if (headers === undefined) throw new Error(`${signer} signed nothing`);
  return headers;
}

/** Many requests at once, in one process even where the signer is not JavaScript. */
export async function signAll(
  signer: Signer,
  requests: readonly RequestToSign[],
  { accessKeyId, secretAccessKey, sessionToken }: SigningKey,
  date: Date,
  scope: SigningScope = { service: 'lambda', region: 'us-east-1' },
): Promise<readonly SignedHeaders[]> {
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  const how = { ...scope, credentials };
  const withHost = requests.map((one) => ({ ...one, headers: { ...one.headers, host: new URL(one.url).host } }));
  const datetime = date.toISOString().replace(/[-:]|\.\d+/g, '');
  if (signer === 'botocore') return signWithBotocore(withHost, { ...how, timestamp: datetime });
  return Promise.all(
    withHost.map(async ({ body, ...request }) => {
      if (signer === '@smithy/signature-v4') return signWithSmithy({ ...request, body }, how, date);
      const aws4fetch = new AwsV4Signer({ ...request, body: Buffer.from(body), ...credentials, ...scope, datetime });
      return Object.fromEntries((await aws4fetch.sign()).headers);
    }),
  );
}

export interface SigningScope {
  readonly service: string;
  readonly region: string;
}

function signWithBotocore(requests: readonly RequestToSign[], how: object): readonly SignedHeaders[] {
  const toSign = requests.map(({ body, ...request }) => {
    return { ...request, ...how, body: Buffer.from(body).toString('base64') };
  });
  const script = fileURLToPath(new URL('sign.py', import.meta.url));
  const options = { input: JSON.stringify(toSign), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  return JSON.parse(execFileSync('python3', [script], options));
}

async function signWithSmithy(
  { method, url, headers, body }: RequestToSign,
  how: Omit<ConstructorParameters<typeof SignatureV4>[0], 'sha256'>,
  signingDate: Date,
): Promise<SignedHeaders> {
  const { protocol, hostname, pathname: path, searchParams } = new URL(url);
  const query = Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
  const request = { method, protocol, hostname, path, query, headers: { ...headers }, body };
  return (await new SignatureV4({ ...how, sha256: Sha256Node }).sign(request, { signingDate })).headers;
}
