import { type Caller, parseCaller } from '../broker/authorize.ts';
import type { BrokerRequest, BrokerResponse } from '../broker/http/token-endpoint.ts';
import { membersOf, textOf } from '../broker/json.ts';
import { callDeadline } from '../broker/pair/deadlines.ts';

/** The part of Lambda's context that the broker needs. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number;
}

/** The answer in the form that a Function URL sends to the caller. */
export type FunctionUrlResult = ReturnType<typeof toResult>;

/**
 * Parses a Function URL event (payload 2.0). The headers contain the caller's session token, so only the content type
 * is read from them. An event of another kind has no caller and is refused.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads
 */
export function parseEvent(event: unknown, context: InvocationContext, now: number): BrokerRequest {
  const { rawPath, rawQueryString, headers, requestContext, body, isBase64Encoded } = membersOf(event);
  const { requestId, http, authorizer } = membersOf(requestContext);
  const { method, sourceIp } = membersOf(http);
  const text = textOf(body) ?? '';
  const isKnown = [rawPath, rawQueryString, body ?? ''].every((part) => typeof part === 'string');
  const { iam } = membersOf(authorizer);
  return {
    requestId: textOf(requestId) ?? 'none',
    method: textOf(method) ?? '',
    path: textOf(rawPath) ?? '',
    // A missing query string counts as a query and is refused.
    query: textOf(rawQueryString) ?? 'unknown',
    contentType: textOf(membersOf(headers)['content-type']),
    body: isBase64Encoded === true ? decodeBase64(text) : text,
    caller: isKnown ? parseIdentity(iam) : undefined,
    signer: NO_ROLE.exec(`${membersOf(iam).userArn}`)?.[0],
    sourceIp: textOf(sourceIp),
    deadline: callDeadline(now, context.getRemainingTimeInMillis()),
  };
}

export function toResult({ status: statusCode, headers, body }: BrokerResponse) {
  return { statusCode, headers, body };
}

/** Returns the caller only if the three places in which AWS states the identity agree. */
function parseIdentity(iam: unknown): Caller | undefined {
  const { accessKey, accountId, callerId, principalOrgId, userArn } = membersOf(iam);
  if (typeof callerId !== 'string' || typeof userArn !== 'string') return undefined;

  const caller = parseCaller(userArn);
  const [roleId] = callerId.split(':', 1);
  if (caller === undefined || caller.account !== accountId) return undefined;
  if (callerId !== `${roleId}:${caller.session}`) return undefined;
  return { ...caller, roleId, principalOrgId: textOf(principalOrgId), accessKeyId: textOf(accessKey) };
}

/** The ARN of a user, a root, a federated session or a service. Its longest path and name have 576 characters. */
const NO_ROLE = /^arn:[\w:-]+:(user|root|federated-user)\b[!-~]{0,600}$/;

/** Rejects text that is not base64. Node skips wrong characters, so the bytes are encoded again and compared. */
function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}
