import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import type { LambdaFunctionURLEventWithIAMAuthorizer } from 'aws-lambda';
import { isRecord } from '../../../functions/broker/json.ts';
import { type HttpAnswer, headerValue, listen, type ReceivedRequest, receive, send, stop } from '../loopback.ts';
import { assumedRoleIdentity, functionUrlEvent } from './event.ts';
import { SigV4Refusal, verifySigV4 } from './sigv4.ts';

/** A Lambda Function URL with `AWS_IAM` on 127.0.0.1: what it lets through, and what the handler gets, is as on AWS. */
export async function startFunctionUrl(settings: FunctionUrlSettings): Promise<FunctionUrl> {
  const { handler, port, region = 'us-east-1', now = Date.now, timeoutMs = 15_000 } = settings;
  const keys = settings.callers.map((caller) => ({
    ...caller,
    identity: assumedRoleIdentity(caller.role, caller.accessKeyId),
  }));
  let toThrottle = 0;

  const server = createServer((request, response) => {
    // A client that hangs up half-way gets no answer.
    respond(request, response).catch(() => response.destroy());
  });

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID();
    const request = await receive(incoming, MAX_PAYLOAD_BYTES);
    let failure: unknown;
    const answer = await answerTo(request, requestId).catch((error: unknown) => {
      if (error instanceof SigV4Refusal) return awsAnswer(403, error.errorType, { message: error.message });
      failure = error;
      return FUNCTION_FAILED;
    });
    response.setHeader('x-amzn-requestid', requestId);
    response.setHeader('date', new Date(now()).toUTCString());
    send(response, answer);
    const { method, path } = request;
    settings.onAnswer?.({ requestId, method, path, status: answer.status, ...(failure !== undefined && { failure }) });
  }

  async function answerTo(request: ReceivedRequest, requestId: string): Promise<HttpAnswer> {
    if (request.body.length > MAX_PAYLOAD_BYTES) return TOO_LARGE;
    if (headerValue(request, 'authorization') === undefined) return FORBIDDEN;
    const caller = await verifySigV4(request, { service: 'lambda', region, keys, now });
    if (caller.mayInvoke === false) return FORBIDDEN;
    const payload = JSON.stringify(
      functionUrlEvent(request, caller.identity, { requestId, region, receivedAt: now() }),
    );
    if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) return TOO_LARGE;
    if (toThrottle > 0) {
      toThrottle -= 1;
      return THROTTLED;
    }
    return invoke(handler, payload, { awsRequestId: requestId, timeoutMs });
  }

  const boundPort = await listen(server, port);
  return {
    url: `http://127.0.0.1:${boundPort}`,
    throttle: (requests) => {
      toThrottle = requests === true ? Infinity : Number(requests);
    },
    close: () => stop(server),
  };
}

/** A Lambda handler as the runtime calls it, with what the broker needs of the context. */
type FunctionUrlHandler = (
  event: LambdaFunctionURLEventWithIAMAuthorizer,
  context: { readonly awsRequestId: string; readonly getRemainingTimeInMillis: () => number },
) => Promise<unknown>;

export interface FunctionUrlSettings {
  readonly handler: FunctionUrlHandler;
  readonly callers: readonly FunctionUrlCaller[];
  /** 0 takes a free one. */
  readonly port: number;
  /** `us-east-1` when left out. */
  readonly region?: string;
  /** Epoch milliseconds; what the age of a signature is measured with. */
  readonly now?: () => number;
  /** 15 s when left out. */
  readonly timeoutMs?: number;
  readonly onAnswer?: (answered: AnsweredRequest) => void;
}

interface FunctionUrlCaller {
  /** `arn:aws:iam::<account>:role/<path/><name>` */
  readonly role: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** `false`: AWS knows the role, but no policy lets it call this URL. */
  readonly mayInvoke?: boolean | undefined;
}

export interface AnsweredRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Why the function failed, which the client is not told. */
  readonly failure?: unknown;
}

export interface FunctionUrl {
  /** Without a slash at the end. */
  readonly url: string;
  /** `true`: every signed request is throttled until `false`; a number: only so many of the next ones are. */
  throttle(requests: boolean | number): void;
  /** Ends open connections, too. */
  close(): Promise<void>;
}

/** Runs the handler once, as Lambda does: an event made of JSON, a deadline; throws when the function fails. */
async function invoke(
  handler: FunctionUrlHandler,
  payload: string,
  { awsRequestId, timeoutMs }: { readonly awsRequestId: string; readonly timeoutMs: number },
): Promise<HttpAnswer> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Task timed out after ${timeoutMs} ms`)), timeoutMs);
  timer.unref();
  // The deadline is kept on the monotonic clock: the clock that signatures are checked with may be a fixed one.
  const deadline = performance.now() + timeoutMs;
  const getRemainingTimeInMillis = () => Math.max(0, Math.floor(deadline - performance.now()));
  try {
    const context = { awsRequestId, getRemainingTimeInMillis };
    return answerOfResult(await Promise.race([handler(JSON.parse(payload), context), timeUp]));
  } finally {
    clearTimeout(timer);
  }
}

/** Lambda's limit on an event and on a result, both counted as JSON. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** The result of a function as Lambda turns it into HTTP; throws when the function returned what Lambda cannot send. */
function answerOfResult(result: unknown): HttpAnswer {
  const json = JSON.stringify(result) ?? 'null';
  if (Buffer.byteLength(json) > MAX_PAYLOAD_BYTES) throw new RangeError('the result of the function exceeds 6 MB');
  const value: unknown = JSON.parse(json);
  if (!isRecord(value) || value.statusCode === undefined) {
    return { status: 200, headers: JSON_TYPE, body: typeof value === 'string' ? value : json };
  }
  const { statusCode, headers = {} } = value;
  const body = value.body ?? '';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status: parseStatus(statusCode), headers: parseHeaders(headers), body: text };
}

function parseStatus(status: unknown): number {
  if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new TypeError('statusCode is not a final HTTP status');
}

function parseHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (!isRecord(headers)) throw new TypeError('headers have the wrong type');
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), `${value}`] as const);
  for (const [name, value] of named) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return { ...JSON_TYPE, ...Object.fromEntries(named) };
}

/** An answer of AWS itself, in front of the function. */
function awsAnswer(status: number, errorType: string, body: Readonly<Record<string, string>>): HttpAnswer {
  return { status, headers: { ...JSON_TYPE, 'x-amzn-errortype': errorType }, body: JSON.stringify(body) };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Unsigned, or signed by a role that no policy lets in. */
const FORBIDDEN = awsAnswer(403, 'AccessDeniedException', {
  Message:
    'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html',
});

/** More than an event may hold. */
const TOO_LARGE = awsAnswer(413, 'RequestEntityTooLargeException', {
  message: `Request must be smaller than ${MAX_PAYLOAD_BYTES} bytes for the InvokeFunction operation`,
});

/** As many invocations run as may. */
const THROTTLED = awsAnswer(429, 'TooManyRequestsException', {
  Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded',
  Type: 'User',
  message: 'Rate Exceeded.',
});

/** The function threw, ran out of time, or returned nonsense: Lambda tells the caller nothing about it. */
export const FUNCTION_FAILED: HttpAnswer = { status: 502, headers: JSON_TYPE, body: 'Internal Server Error' };
