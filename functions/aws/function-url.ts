import * as z from 'zod/mini';
import type { BrokerResponse } from '../broker/broker-response.ts';
import { type Caller, parseCaller } from '../broker/caller.ts';
import type { BrokerRequest } from '../broker/token-endpoint.ts';

/** Lambda's context, as far as the broker needs it. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number;
}

/** What a Function URL sends back to the caller. */
export interface FunctionUrlResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Reads a Function URL event (payload 2.0). The headers hold the caller's session token: only the content type is taken
 * from them. Whatever is no such event comes out as a request without a caller, which is refused.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads
 */
export function parseEvent(event: unknown, context: InvocationContext, now: number): BrokerRequest {
  const result = eventSchema.safeParse(event);
  const deadline = now + context.getRemainingTimeInMillis() - ANSWER_RESERVE_MS;
  if (!result.success) return { ...NO_REQUEST, deadline };

  const { rawPath, rawQueryString, headers, requestContext, body = '', isBase64Encoded = false } = result.data;
  return {
    requestId: requestContext.requestId,
    method: requestContext.http.method,
    path: rawPath,
    query: rawQueryString,
    contentType: headers['content-type'],
    body: isBase64Encoded ? decodeBase64(body) : Buffer.from(body),
    caller: parseAuthorizer(requestContext.authorizer),
    deadline,
  };
}

export function toResult({ status, headers, body }: BrokerResponse): FunctionUrlResult {
  return { statusCode: status, headers, body };
}

/** The answer leaves this long before Lambda would end the invocation. */
const ANSWER_RESERVE_MS = 500;

const NO_REQUEST = {
  requestId: 'none',
  method: '',
  path: '',
  query: '',
  contentType: undefined,
  body: undefined,
  caller: undefined,
} satisfies Omit<BrokerRequest, 'deadline'>;

const eventSchema = z.object({
  rawPath: z.string(),
  rawQueryString: z.string(),
  headers: z.object({ 'content-type': z.optional(z.string()) }),
  body: z.optional(z.string()),
  isBase64Encoded: z.optional(z.boolean()),
  requestContext: z.object({
    requestId: z.string(),
    http: z.object({ method: z.string() }),
    authorizer: z.optional(z.unknown()),
  }),
});

const authorizerSchema = z.object({
  iam: z.object({ accountId: z.string(), callerId: z.string(), userArn: z.string() }),
});

/** AWS tells the identity three times; where they disagree, nobody has signed. */
function parseAuthorizer(authorizer: unknown): Caller | undefined {
  const result = authorizerSchema.safeParse(authorizer);
  if (!result.success) return undefined;

  const { accountId, callerId, userArn } = result.data.iam;
  const caller = parseCaller(userArn);
  const agree = caller?.account === accountId && callerId.endsWith(`:${caller.session}`);
  return agree ? caller : undefined;
}

/** Node skips what is not base64; a body that does not survive the way back was not base64. */
function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
