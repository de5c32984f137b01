import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Context, LambdaFunctionURLEventWithIAMAuthorizer } from 'aws-lambda';
import { type HttpAnswer, headerValue, listen, type ReceivedRequest, receive, send, stop } from '../loopback.ts';
import {
  answerOfResult,
  awsAnswer,
  FORBIDDEN,
  FUNCTION_FAILED,
  MAX_PAYLOAD_BYTES,
  THROTTLED,
  TOO_LARGE,
} from './answer.ts';
import { assumedRoleIdentity, FUNCTION_ACCOUNT, functionUrlEvent } from './event.ts';
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
    return invoke(handler, payload, { requestId, region, timeoutMs });
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

/** A Lambda handler as the runtime calls it. */
type FunctionUrlHandler = (event: LambdaFunctionURLEventWithIAMAuthorizer, context: Context) => Promise<unknown>;

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

interface Invocation {
  readonly requestId: string;
  readonly region: string;
  readonly timeoutMs: number;
}

/** Runs the handler once, as Lambda does: an event made of JSON, a deadline; throws when the function fails. */
async function invoke(
  handler: FunctionUrlHandler,
  payload: string,
  { requestId, region, timeoutMs }: Invocation,
): Promise<HttpAnswer> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Task timed out after ${timeoutMs} ms`)), timeoutMs);
  timer.unref();
  try {
    const context = lambdaContext(requestId, region, performance.now() + timeoutMs);
    return answerOfResult(await Promise.race([handler(JSON.parse(payload), context), timeUp]));
  } finally {
    clearTimeout(timer);
  }
}

/** The deadline is kept on the monotonic clock: the clock that signatures are checked with may be a fixed one. */
function lambdaContext(awsRequestId: string, region: string, deadline: number): Context {
  const functionName = 'function-url-stand-in';
  const unsupported = () => {
    throw new Error('Node 24 on Lambda has no callbacks: return a promise');
  };
  return {
    awsRequestId,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:${region}:${FUNCTION_ACCOUNT}:function:${functionName}`,
    memoryLimitInMB: '512',
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: `local/[$LATEST]${awsRequestId.replaceAll('-', '')}`,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(deadline - performance.now())),
    done: unsupported,
    fail: unsupported,
    succeed: unsupported,
  };
}
