import { type Caller, parseCaller } from '../broker/authorize.ts';
import type { BrokerRequest, BrokerResponse } from '../broker/http/token-endpoint.ts';
import { isRecord, membersOf } from '../broker/json.ts';
import { callDeadline } from '../broker/pair/deadlines.ts';

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
 * from them. An event of another kind gives a request without a caller, which is refused.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads
 */
export function parseEvent(event: unknown, context: InvocationContext, now: number): BrokerRequest {
  const deadline = callDeadline(now, context.getRemainingTimeInMillis());
  const { rawPath, rawQueryString, headers, requestContext, body = '', isBase64Encoded = false } = membersOf(event);
  const { requestId, http, authorizer } = membersOf(requestContext);
  const { method, sourceIp } = membersOf(http);
  const { 'content-type': contentType } = membersOf(headers);
  if (
    typeof rawPath !== 'string' ||
    typeof rawQueryString !== 'string' ||
    typeof requestId !== 'string' ||
    typeof method !== 'string' ||
    typeof body !== 'string' ||
    typeof isBase64Encoded !== 'boolean' ||
    !isRecord(headers) ||
    (typeof contentType !== 'string' && contentType !== undefined)
  ) {
    return { ...NO_REQUEST, deadline };
  }
  return {
    requestId,
    method,
    path: rawPath,
    query: rawQueryString,
    contentType,
    body: isBase64Encoded ? decodeBase64(body) : body,
    caller: parseAuthorizer(authorizer),
    sourceIp: textOf(sourceIp),
    deadline,
  };
}

export function toResult({ status, headers, body }: BrokerResponse): FunctionUrlResult {
  return { statusCode: status, headers, body };
}

const NO_BODY = { contentType: undefined, body: undefined, caller: undefined };
const NO_REQUEST = { requestId: 'none', method: '', path: '', query: '', ...NO_BODY };

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** AWS tells the identity three times; where they disagree, there is no caller. */
function parseAuthorizer(authorizer: unknown): Caller | undefined {
  const { accessKey, accountId, callerId, principalOrgId, userArn } = membersOf(membersOf(authorizer).iam);
  if (typeof callerId !== 'string' || typeof userArn !== 'string') return undefined;

  const caller = parseCaller(userArn);
  const [roleId] = callerId.split(':', 1);
  if (caller === undefined || caller.account !== accountId || callerId !== `${roleId}:${caller.session}`)
    return undefined;
  return { ...caller, roleId, principalOrgId: textOf(principalOrgId), accessKeyId: textOf(accessKey) };
}

/** Node skips what is not base64; a body that does not survive the way back was not base64. */
function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
