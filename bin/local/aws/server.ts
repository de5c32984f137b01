import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { z } from 'zod';
import { type SigningKey, SigV4Refusal, verifySigV4 } from '../function-url/sigv4.ts';
import { type HttpAnswer, headerValue, listenNear, type ReceivedRequest, receive, send, stop } from '../loopback.ts';

/** A key that the stand-ins of AWS know. */
export interface AwsKey extends SigningKey {
  /** `arn:aws:iam::<account>:role/<path/><name>` */
  readonly role: string;
  /** Whether the role may read the values of secrets. */
  readonly mayReadSecrets: boolean;
}

/** Which signatures a stand-in takes, and where it listens. */
export interface StandInOptions {
  /** A free one when left out or taken. */
  readonly port?: number | undefined;
  readonly keys: readonly AwsKey[];
  /** Takes signatures of any date: for environments that live in a time of their own. */
  readonly ageless?: boolean | undefined;
  /** Answers a call in place of the stand-in, or gives `false`. */
  readonly intercept?: ((response: ServerResponse) => boolean) | undefined;
}

export interface AwsServer {
  readonly url: string;
  /** The names of the operations that were called, in order; nothing of what they were called with. */
  readonly calls: readonly string[];
  readonly close: () => Promise<void>;
}

/**
 * Takes the members of a request and the key that signed it, gives the members of the answer; `undefined` is answered with
 * an empty body, as AWS does.
 */
export type Operation = (input: unknown, key: AwsKey) => object | undefined;

interface Options extends StandInOptions {
  /** As a signature names it. */
  readonly service: string;
  /** `json`: AWS JSON 1.1; `query`: a form in, XML out. */
  readonly protocol: keyof typeof CODECS;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Serves operations of one AWS service on 127.0.0.1, to the SDKs and the command line of AWS, with one of the keys. */
export async function serveAws({ service, protocol, operations, ...signatures }: Options): Promise<AwsServer> {
  const codec: Codec = CODECS[protocol];
  const known = new Map(Object.entries(operations));
  const calls: string[] = [];

  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await receive(incoming, MAX_BODY_BYTES);
    const name = codec.nameOf(request, service);
    calls.push(name);
    if (signatures.intercept?.(response)) return;
    send(response, await answerTo(request, name).catch((error) => codec.refusal(asAwsError(error))));
  }

  async function answerTo(request: ReceivedRequest, name: string): Promise<HttpAnswer> {
    if (request.method !== 'POST' || request.path !== '/') throw new AwsError(codec.unknown, 'Send a POST to /', 404);
    if (request.body.length > MAX_BODY_BYTES) {
      throw new AwsError('RequestEntityTooLargeException', 'The body is too large', 413);
    }
    const key = await signerOf(request, service, signatures);
    const operation = known.get(name);
    if (operation === undefined) throw new AwsError(codec.unknown, 'There is no such operation');
    return codec.answer(name, operation(codec.read(request), key));
  }

  const port = await listenNear(server, signatures.port);
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    close: () => stop(server),
  };
}

const MAX_BODY_BYTES = 1_048_576;

/** The key that signed a request; throws an `AwsError` when none of the keys did. */
export async function signerOf(request: ReceivedRequest, service: string, signatures: StandInOptions): Promise<AwsKey> {
  if (!headerValue(request, 'authorization')) {
    throw new AwsError('MissingAuthenticationTokenException', 'Missing Authentication Token');
  }
  const { keys, ageless } = signatures;
  try {
    return await verifySigV4(request, { service, keys, now: ageless ? undefined : Date.now });
  } catch (error) {
    throw error instanceof SigV4Refusal ? new AwsError(error.errorType, error.message) : error;
  }
}

/** An operation that runs only with input that fits its schema; as in AWS, other members are ignored. */
export function operation<Schema extends z.ZodType>(
  schema: Schema,
  run: (input: z.output<Schema>, key: AwsKey) => object | undefined,
): Operation {
  return (input, key) => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return run(parsed.data, key);
    // The complaint names the member that is wrong and none of its content.
    const [issue] = parsed.error.issues;
    const detail = `Value at '${issue?.path.join('.')}' failed to satisfy constraint: ${issue?.message}`;
    throw new AwsError('ValidationException', `1 validation error detected: ${detail}`);
  };
}

/** A failure as an AWS service answers it: the type becomes `__type`. The message never holds a value of the request. */
export class AwsError extends Error {
  override readonly name = 'AwsError';
  readonly type: string;
  readonly status: number;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

/** A failure as an answer of the JSON protocols. */
export function jsonRefusal(error: unknown, contentType = JSON_TYPE): HttpAnswer {
  const { type, message, status } = asAwsError(error);
  return jsonAnswer({ __type: type, Message: message }, status, contentType);
}

/** Of a bug the name alone: its message could quote a secret. */
function asAwsError(error: unknown): AwsError {
  if (error instanceof AwsError) return error;
  return new AwsError('InternalFailure', error instanceof Error ? error.name : 'unknown', 500);
}

interface Codec {
  /** The type of the refusal of an operation that is not there. */
  readonly unknown: string;
  readonly nameOf: (request: ReceivedRequest, service: string) => string;
  readonly read: (request: ReceivedRequest) => unknown;
  readonly answer: (name: string, output: object | undefined) => HttpAnswer;
  readonly refusal: (error: AwsError) => HttpAnswer;
}

const CODECS = {
  json: {
    unknown: 'UnknownOperationException',
    nameOf(request, service) {
      const [prefix, name = ''] = (headerValue(request, 'x-amz-target') ?? '').split('.');
      return prefix === (TARGETS.get(service) ?? service) ? name : 'unknown';
    },
    read(request) {
      if (headerValue(request, 'content-type') !== JSON_TYPE) {
        throw new AwsError('UnknownOperationException', `The content type must be ${JSON_TYPE}`, 404);
      }
      return parseJson(request.body);
    },
    answer: (_name, output) => jsonAnswer(output, 200),
    refusal: jsonRefusal,
  },
  query: {
    unknown: 'InvalidAction',
    nameOf: (request) => formOf(request).get('Action') ?? '',
    read: (request) => Object.fromEntries(formOf(request)),
    answer: (name, output) =>
      xmlAnswer({ [`${name}Response`]: { [`${name}Result`]: output ?? {}, ResponseMetadata: requestId() } }, 200),
    refusal({ type, message, status }) {
      const own = Object.hasOwn(QUERY_REFUSALS, type) ? QUERY_REFUSALS[type] : undefined;
      const refusal = { Type: status < 500 ? 'Sender' : 'Receiver', Code: own ?? type, Message: message };
      return xmlAnswer({ ErrorResponse: { Error: refusal, ...requestId() } }, own === undefined ? status : 403);
    },
  },
} as const satisfies Record<string, Codec>;

/** Services whose operations are not named after them. */
const TARGETS = new Map([['logs', 'Logs_20140328']]);

const JSON_TYPE = 'application/x-amz-json-1.1';

/** AWS takes a member that is null for one that is absent. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body), (_key, value) => value ?? undefined);
  } catch {
    throw new AwsError('SerializationException', 'The body is not well-formed JSON');
  }
}

function jsonAnswer(members: object | undefined, status: number, contentType = JSON_TYPE): HttpAnswer {
  const headers = { 'content-type': contentType, 'x-amzn-requestid': randomUUID() };
  return { status, headers, body: members === undefined ? '' : JSON.stringify(members) };
}

/** What the query protocol calls the refusals of a signature; all of them are a 403. */
const QUERY_REFUSALS: Readonly<Record<string, string>> = {
  MissingAuthenticationTokenException: 'MissingAuthenticationToken',
  UnrecognizedClientException: 'InvalidClientTokenId',
  IncompleteSignatureException: 'IncompleteSignature',
  InvalidSignatureException: 'SignatureDoesNotMatch',
};

function formOf({ body }: ReceivedRequest): URLSearchParams {
  return new URLSearchParams(Buffer.from(body).toString('utf8'));
}

function requestId() {
  return { RequestId: randomUUID() };
}

function xmlAnswer(members: object, status: number): HttpAnswer {
  return { status, headers: { 'content-type': 'text/xml' }, body: xml(members) };
}

function xml(members: object): string {
  return Object.entries(members)
    .map(([name, value]) => `<${name}>${typeof value === 'object' ? xml(value) : escapeXml(`${value}`)}</${name}>`)
    .join('');
}

function escapeXml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
