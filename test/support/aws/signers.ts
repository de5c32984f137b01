import { spawnSync } from 'node:child_process';
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

export interface SigningScope {
  readonly service: string;
  readonly region: string;
}

/** Whether a command ends well. */
export function runs(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** The headers to send a request with, signed for Lambda in us-east-1 unless told otherwise. */
export async function sign(
  { body, ...request }: RequestToSign,
  { accessKeyId, secretAccessKey, sessionToken }: SigningKey,
  date: Date,
  scope: SigningScope = { service: 'lambda', region: 'us-east-1' },
): Promise<SignedHeaders> {
  const headers = { ...request.headers, host: new URL(request.url).host };
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }), ...scope };
  const what = { ...request, headers, body: Buffer.from(body), datetime: timestampOf(date) };
  return Object.fromEntries((await new AwsV4Signer({ ...what, ...keys }).sign()).headers);
}

/** A date as signatures have it. */
export function timestampOf(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d+/g, '');
}
