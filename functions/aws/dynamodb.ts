import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';
import type { AttributeValue, GetItemCommandInput, UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';
import { isRecord, parseJsonObject } from '../broker/json.ts';
import type { HttpsSender } from './https/sender.ts';

/**
 * The two operations that the pair table uses. Each is one request: repeating it is for the caller. A refusal is an error
 * with AWS's name for it, in the form of the SDK's errors; no error holds anything else of an answer.
 */
export interface DynamoDB {
  readonly getItem: Operation<GetItemCommandInput>;
  readonly updateItem: Operation<UpdateItemCommandInput>;
}

/** Gives the attributes that the answer holds, if any. */
type Operation<Input> = (
  input: Input,
  abortSignal: AbortSignal,
) => Promise<Readonly<Record<string, AttributeValue>> | undefined>;

interface Options {
  readonly send: HttpsSender;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly credentials?: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
}

/**
 * DynamoDB for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`) without
 * the SDK's client, which is a fifth of a bundle. It signs with the machine's time as it is: AWS sets that of Lambda.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
 */
export function createDynamoDB({
  send,
  region = process.env.AWS_REGION,
  endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB,
  credentials = defaultProvider(),
}: Options): DynamoDB {
  if (!region) throw new Error('AWS_REGION must be set.');
  const url = new URL(endpoint || regionalEndpoint(region));
  const signer = new SignatureV4({ service: 'dynamodb', region, credentials, sha256: Sha256 });

  return {
    getItem: async (input, abortSignal) => attributes((await call('GetItem', input, abortSignal)).Item),
    updateItem: async (input, abortSignal) => attributes((await call('UpdateItem', input, abortSignal)).Attributes),
  };

  async function call(operation: string, input: object, signal: AbortSignal) {
    const body = JSON.stringify(input, bytesToBase64);
    const { protocol, hostname, pathname: path } = url;
    const unsigned = { method: 'POST', protocol, hostname, path, headers: headersOf(operation, url.host), body };
    const { headers } = await signer.sign(unsigned);
    const answer = await send({ method: 'POST', url, headers, body }, { ...LIMITS, signal });
    const members = parseAnswer(answer.body);
    if (answer.status !== 200) throw new Refusal(errorName(members.__type), answer.status);
    return members;
  }
}

function regionalEndpoint(region: string): string {
  return `https://dynamodb.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** Callers end a call by its signal, long before. An item has at most 400 kB, and bytes take a third more as text. */
const LIMITS = { timeoutMs: 15_000, maxBodyBytes: 1_000_000 };

function headersOf(operation: string, host: string) {
  return { host, 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${operation}` };
}

/** Bytes travel as base64. They are looked up in their holder, because a `Buffer` has become something else by now. */
function bytesToBase64(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Uint8Array ? Buffer.from(given).toString('base64') : value;
}

function parseAnswer(body: Uint8Array): Readonly<Record<string, unknown>> {
  const answer = parseJsonObject(Buffer.from(body).toString(), base64ToBytes);
  if (answer === undefined) throw new SyntaxError('The answer of DynamoDB is no JSON object');
  return answer;
}

/** Only the bytes of an attribute are a text with this name. */
function base64ToBytes(name: string, value: unknown): unknown {
  return name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value;
}

/** As AWS says what an attribute is; those who read one look whether it is. */
function attributes(value: unknown) {
  return isRecord(value) ? (value as Readonly<Record<string, AttributeValue>>) : undefined;
}

/** Without its name space: `com.amazonaws.dynamodb.v20120810#ResourceNotFoundException`. */
function errorName(type: unknown): string {
  return (typeof type === 'string' && /([^#:]+)(?::.*)?$/.exec(type)?.[1]) || 'UnknownError';
}

/** What `isDefinitive` and `causeWord` read of the SDK's errors, and nothing else. */
class Refusal extends Error {
  override readonly name: string;
  readonly $fault: 'client' | 'server';
  readonly $metadata: { readonly httpStatusCode: number };

  constructor(name: string, httpStatusCode: number) {
    super('DynamoDB refused a call');
    this.name = name;
    this.$fault = httpStatusCode < 500 ? 'client' : 'server';
    this.$metadata = { httpStatusCode };
  }
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
