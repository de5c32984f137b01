import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import { parseJsonObject } from '../broker/json.ts';
import type { Send } from '../broker/token-request/send.ts';
import { ANSWER_LIMITS } from './calls.ts';
import { Sha256 } from './sha256.ts';

export interface Access {
  readonly send: Send;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly credentials?: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
}

/**
 * Asks an API of AWS for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`)
 * without the SDK's client, which is a fifth of a bundle, and gives the members of the answer. Each call is one request,
 * signed with the machine's time as it is: AWS sets that of Lambda. A refusal is an error with AWS's name for it, in the form
 * of the SDK's errors; no error holds anything else of an answer.
 */
export function createJsonApi(service: string, version: string, contentType: string, access: Access) {
  const { send, region = process.env.AWS_REGION, credentials = defaultProvider() } = access;
  if (!region) throw new Error('AWS_REGION must be set.');
  const { endpoint = process.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] } = access;
  const url = new URL(endpoint || `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`);
  const { protocol, hostname, pathname: path, host } = url;
  const signer = new SignatureV4({ service, region, credentials, sha256: Sha256 });

  return async (operation: string, input: object, signal: AbortSignal) => {
    const body = JSON.stringify(input, bytesToBase64);
    const named = { 'content-type': contentType, 'x-amz-target': `${version}.${operation}` };
    const unsigned = { method: 'POST', protocol, hostname, path, headers: { host, ...named }, body };
    const { headers } = await signer.sign(unsigned);
    const answer = await send({ method: 'POST', url, headers, body }, { ...ANSWER_LIMITS, signal });
    const members = parseJsonObject(Buffer.from(answer.body).toString(), base64ToBytes);
    if (members === undefined) throw new SyntaxError('The answer of AWS is no JSON object');
    if (answer.status !== 200) throw awsError(members.__type, answer.status);
    return members;
  };
}

/** Bytes travel as base64. They are read from their holder, because `value` is already the `toJSON` form of a `Buffer`. */
function bytesToBase64(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Uint8Array ? Buffer.from(given).toString('base64') : value;
}

/** Only the bytes of an attribute are a text with this name. */
function base64ToBytes(name: string, value: unknown): unknown {
  return name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value;
}

/** Has only the members of the SDK's errors that `isDefinitive` and `causeWord` read. */
function awsError(type: unknown, httpStatusCode: number): Error {
  // Without its name space: `com.amazonaws.dynamodb.v20120810#ResourceNotFoundException`.
  const name = (typeof type === 'string' && /([^#:]+)(?::.*)?$/.exec(type)?.[1]) || 'UnknownError';
  const error = new Error(`AWS answered with the status ${httpStatusCode}`);
  return Object.assign(error, { name, $fault: 'client', $metadata: { httpStatusCode } });
}
