import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { SigningKey } from '../../functions/sigv4.ts';
import { AwsError } from '../aws/aws-error.ts';
import { type HttpAnswer, headerValue, json, type LoopbackServer, type ReceivedRequest, serve } from '../loopback.ts';
import { assumedRoleIdentity, functionUrlEvent } from './event.ts';
import { verifySigV4 } from './sigv4.ts';

/** Stands in for a Lambda Function URL with `AWS_IAM`, in us-east-1. Refuses calls and runs the handler as AWS does. */
export async function startFunctionUrl(settings: FunctionUrlSettings): Promise<LoopbackServer> {
  const { handler, port, now = Date.now, timeoutMs = 15_000, onAnswer } = settings;
  const keys = settings.callers.map((caller) => ({
    ...caller,
    identity: assumedRoleIdentity(caller.role, caller.accessKeyId),
  }));

  async function respond(request: ReceivedRequest, response: ServerResponse): Promise<HttpAnswer> {
    const requestId = randomUUID();
    let failure: unknown;
    const answer = await answerTo(request, requestId).catch((error: unknown) => {
      if (error instanceof AwsError) return awsAnswer(403, error.type, { message: error.message });
      failure = error;
      return FUNCTION_FAILED;
    });
    const { method, path } = request;
    onAnswer?.({ requestId, method, path, status: answer.status, failure });
    response.setHeader('x-amzn-requestid', requestId);
    response.setHeader('date', new Date(now()).toUTCString());
    return answer;
  }

  async function answerTo(request: ReceivedRequest, requestId: string): Promise<HttpAnswer> {
    if (request.body.length > MAX_BODY_BYTES) return TOO_LARGE;
    if (headerValue(request, 'authorization') === undefined) return FORBIDDEN;
    const caller = verifySigV4(request, { service: 'lambda', region: 'us-east-1', keys, now });
    return invoke(handler, JSON.stringify(functionUrlEvent(request, caller.identity, requestId)), timeoutMs);
  }

  return serve(respond, { port, mayMove: false, maxBodyBytes: MAX_BODY_BYTES });
}

/** A Lambda handler with the part of the context that the broker needs. */
type FunctionUrlHandler = (
  event: ReturnType<typeof functionUrlEvent>,
  context: { readonly getRemainingTimeInMillis: () => number },
) => Promise<unknown>;

export interface FunctionUrlSettings {
  readonly handler: FunctionUrlHandler;
  readonly callers: readonly FunctionUrlCaller[];
  /** 0 means any free port. */
  readonly port: number;
  /** Returns epoch milliseconds, to compute the age of a signature. */
  readonly now?: () => number;
  /** Defaults to 15 s. */
  readonly timeoutMs?: number;
  readonly onAnswer?: (answered: AnsweredRequest) => void;
}

interface FunctionUrlCaller extends SigningKey {
  /** `arn:aws:iam::<account>:role/<path/><name>` */
  readonly role: string;
}

export interface AnsweredRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The failure of the function, hidden from the client. */
  readonly failure: unknown;
}

/** Runs the handler once with an event parsed from JSON and a deadline, as Lambda does. Throws when it fails. */
async function invoke(handler: FunctionUrlHandler, payload: string, timeoutMs: number): Promise<HttpAnswer> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Task timed out after ${timeoutMs} ms`)), timeoutMs);
  // The deadline uses the monotonic clock, because the clock for signatures may be fixed.
  const deadline = performance.now() + timeoutMs;
  const getRemainingTimeInMillis = () => Math.max(0, Math.floor(deadline - performance.now()));
  try {
    const result = await Promise.race([handler(JSON.parse(payload), { getRemainingTimeInMillis }), timeUp]);
    const { statusCode: status, headers, body } = RESULT.parse(result);
    return { status, headers: { ...JSON_TYPE, ...headers }, body };
  } finally {
    clearTimeout(timer);
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** The result of a function. Lambda would also send a result without a status, which no function here returns. */
const RESULT = z.object({
  statusCode: z.int().min(200).max(599),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().default(''),
});

/** An answer of AWS itself, without a call of the function. */
function awsAnswer(status: number, errorType: string, body: Readonly<Record<string, string>>): HttpAnswer {
  return json(status, body, { 'x-amzn-errortype': errorType });
}

/** The answer to a request that is not signed. */
const FORBIDDEN = awsAnswer(403, 'AccessDeniedException', {
  Message:
    'Forbidden. For troubleshooting Function URL authorization issues, see: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html',
});

/** Lambda's limit on an event. */
const MAX_BODY_BYTES = 6 * 1024 * 1024;

const TOO_LARGE = awsAnswer(413, 'RequestEntityTooLargeException', {
  message: `Request must be smaller than ${MAX_BODY_BYTES} bytes for the InvokeFunction operation`,
});

/** The answer when the function fails, times out or returns an invalid result. Lambda hides the cause from callers. */
export const FUNCTION_FAILED = { status: 502, headers: JSON_TYPE, body: 'Internal Server Error' };
