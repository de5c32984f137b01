import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { parseJsonObject } from '../broker/json.ts';
import type { Send } from '../broker/token-request/send.ts';
import { AwsRefusal } from './calls.ts';

/** What tells the requests to one API of AWS from those to another. */
interface JsonApi {
  /** In the host's name and in signatures. */
  readonly service: string;
  /** Precedes the operation in the header that names it. */
  readonly version: string;
  readonly contentType: string;
  /** The standard variable that names another endpoint. */
  readonly endpointVariable: `AWS_ENDPOINT_URL_${string}`;
  /** Gives a refusal another name where only AWS's message tells two of one name apart. The message goes no further. */
  readonly nameRefusal?: (name: string, message: string) => string;
}

export interface Access {
  readonly send: Send;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly credentials?: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
}

/**
 * Asks an API of AWS, in the region of `AWS_REGION` unless another one is given, without the SDK's client, and gives the
 * members of the answer. Each call is one request, signed with the machine's time as it is: AWS sets that of Lambda.
 *
 * @throws AwsRefusal, which holds a name and a status; no error holds anything else of an answer
 */
export function createJsonApi(
  { service, version, contentType, endpointVariable, nameRefusal = (name) => name }: JsonApi,
  access: Access,
) {
  const { send, region = process.env.AWS_REGION, credentials = credentialsOfVariables } = access;
  if (!region) throw new Error('AWS_REGION must be set.');
  const { endpoint = process.env[endpointVariable] } = access;
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
    if (answer.status === 200) return members;
    const { __type: type, message = members.Message } = members;
    throw new AwsRefusal(nameRefusal(nameOf(type), typeof message === 'string' ? message : ''), answer.status);
  };
}

/**
 * What one answer of AWS may take; callers end a call by its signal, long before. DynamoDB's items have at most 400 kB, and
 * bytes take a third more as text; a secret has 64 kB.
 */
const ANSWER_LIMITS = { timeoutMs: 15_000, maxBodyBytes: 1_000_000 } as const;

/** Lambda gives a function its role's credentials in these variables, and nowhere else. */
async function credentialsOfVariables() {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN } = process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error('The environment variables hold no credentials.');
  return { accessKeyId, secretAccessKey, ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }) };
}

/** For the signer, which takes the hash of any platform. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    // The signer's bytes are a Uint8Array. Node takes four times as long for bytes that are not made a key of first.
    const key = typeof secret === 'object' ? createSecretKey(secret as Uint8Array) : secret;
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
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

/** Without its name space: `com.amazonaws.dynamodb.v20120810#ResourceNotFoundException`. */
function nameOf(type: unknown): string {
  return (typeof type === 'string' && /([^#:]+)(?::.*)?$/.exec(type)?.[1]) || 'UnknownError';
}
