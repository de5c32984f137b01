import { parseJsonObject, textOf } from '../broker/json.ts';
import type { SendHttp } from '../broker/token-request/send-http.ts';
import { type SigningKey, signPost } from '../sigv4.ts';
import { urlSuffixOf } from '../vocabulary.ts';
import { AwsRefusal } from './calls.ts';

/** The name in hosts, the prefix of `x-amz-target`, the version of the JSON, and the variable for another endpoint. */
type Api = readonly [service: string, prefix: string, json: string, endpointVariable: string];

// Constants of their own, so that a function's bundle contains only those that it uses.
export const CODEDEPLOY: Api = ['codedeploy', 'CodeDeploy_20141006', '1.1', 'AWS_ENDPOINT_URL_CODEDEPLOY'];
export const DYNAMODB: Api = ['dynamodb', 'DynamoDB_20120810', '1.0', 'AWS_ENDPOINT_URL_DYNAMODB'];
export const SECRETS: Api = ['secretsmanager', 'secretsmanager', '1.1', 'AWS_ENDPOINT_URL_SECRETS_MANAGER'];

export interface Access {
  readonly send: SendHttp;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** The environment of the broker, for AWS's records of the call. */
  readonly environment: string;
  readonly credentials?: SigningKey | undefined;
}

/**
 * Calls an AWS API without the SDK's client and returns the members of the answer. The region defaults to `AWS_REGION`.
 * Each call is a single request. Its signature uses the machine's time, which AWS sets for Lambda.
 *
 * @see docs/development.md, "Decisions", for why this is not the SDK's client
 * @param nameRefusal renames a refusal that only AWS's message distinguishes. No other code receives the message.
 * @throws AwsRefusal, which contains a name and a status. No error contains anything else of an answer.
 */
export function createJsonApi(
  [service, prefix, json, endpointVariable]: Api,
  access: Access,
  nameRefusal = (name: string, _message: string) => name,
) {
  const { send, region = process.env.AWS_REGION } = access;
  const { endpoint = process.env[endpointVariable] || process.env.AWS_ENDPOINT_URL } = access;
  if (!region) throw new Error('AWS_REGION must be set.');
  // Another text would name another host, which the signed request would go to.
  if (!/^[a-z\d]+(-[a-z\d]+)+$/.test(region)) throw new Error('AWS_REGION must be a region such as eu-west-1.');
  const url = new URL(endpoint || `https://${service}.${region}.${urlSuffixOf(region)}`);
  const userAgent = `token-broker/${RELEASE} (${access.environment})`;

  return async (operation: string, input: object, signal: AbortSignal) => {
    const body = JSON.stringify(input, bytesToBase64);
    const named = { 'content-type': `application/x-amz-json-${json}`, 'x-amz-target': `${prefix}.${operation}` };
    const credentials = access.credentials ?? credentialsOfVariables();
    const signed = signPost(url, named, body, { credentials, scope: [region, service] });
    // Outside the signature, because a proxy may change it.
    const headers = { ...signed, 'user-agent': userAgent };
    const answer = await send({ method: 'POST', url, headers, body }, { ...ANSWER_LIMITS, signal });
    const members = parseJsonObject(Buffer.from(answer.body).toString(), base64ToBytes);
    if (members === undefined) throw new SyntaxError('The answer of AWS is not a JSON object');
    const name = nameOf(answer.headers['x-amzn-errortype'] ?? members.code ?? members.__type);
    const message = textOf(members.message) ?? textOf(members.Message);
    if (answer.status !== 200) throw new AwsRefusal(nameRefusal(name || 'UnknownError', message ?? ''), answer.status);
    if (name !== undefined || message !== undefined)
      throw new SyntaxError('The answer of AWS is an error with status 200');
    return members;
  };
}

/** The bundler replaces it by the version of the package. */
const RELEASE = process.env.TOKEN_BROKER_RELEASE ?? 'local';

/**
 * The limits of an answer. Callers end a call much earlier, by its signal. DynamoDB's items have at most 400 kB, and
 * bytes take a third more as text. A secret has at most 64 kB.
 */
const ANSWER_LIMITS = { timeoutMs: 15_000, maxBodyBytes: 1_000_000 } as const;

/** Lambda passes the credentials of a function's role in these variables and nowhere else. */
function credentialsOfVariables(): SigningKey {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
  if (!accessKeyId || !secretAccessKey) {
    throw Object.assign(new Error('The environment variables contain no credentials.'), { name: 'NoCredentials' });
  }
  return { accessKeyId, secretAccessKey, sessionToken: process.env.AWS_SESSION_TOKEN };
}

/** Encodes bytes as base64. Reads them from `this`, because `value` is already the `toJSON` form of a `Buffer`. */
function bytesToBase64(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Uint8Array ? Buffer.from(given).toString('base64') : value;
}

/** Decodes the bytes of an attribute. No other text has the name `B`. */
function base64ToBytes(name: string, value: unknown): unknown {
  return name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value;
}

/** Removes the namespace and the part after a colon: `com.amazonaws.dynamodb.v20120810#SomeException:http://…`. */
function nameOf(type: unknown): string | undefined {
  const [qualified] = textOf(type)?.split(':', 1) ?? [];
  return qualified?.slice(qualified.lastIndexOf('#') + 1);
}
