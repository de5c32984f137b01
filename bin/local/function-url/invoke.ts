import type { Context, LambdaFunctionURLEventWithIAMAuthorizer } from 'aws-lambda';
import { answerOfResult, type HttpAnswer } from './answer.ts';
import { FUNCTION_ACCOUNT } from './event.ts';

/** A Lambda handler as the runtime calls it. */
export type FunctionUrlHandler = (event: LambdaFunctionURLEventWithIAMAuthorizer, context: Context) => Promise<unknown>;

interface Invocation {
  readonly requestId: string;
  readonly region: string;
  readonly timeoutMs: number;
}

/** Runs the handler once, as Lambda does: an event made of JSON, a deadline; throws when the function fails. */
export async function invoke(
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
