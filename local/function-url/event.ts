import { createHash } from 'node:crypto';
import { ROLE_ARN } from '../../functions/vocabulary.ts';
import type { ReceivedRequest } from '../loopback.ts';

/** Returns the event of a call to a Function URL with `AWS_IAM`: the members of format 2.0 that the broker reads. */
export function functionUrlEvent(request: ReceivedRequest, iam: ReturnType<typeof assumedRoleIdentity>, id: string) {
  const { method, path, query, body } = request;
  const headers = eventHeaders(request);
  const mediaType = (headers['content-type'] ?? '').replace(/;.*/, '').trim().toLowerCase();
  const isBase64Encoded = body.length > 0 && !TEXT_TYPE.test(mediaType);
  return {
    rawPath: path,
    rawQueryString: query,
    headers,
    requestContext: { authorizer: { iam }, http: { method, sourceIp: '127.0.0.1' }, requestId: id },
    ...(body.length > 0 && { body: Buffer.from(body).toString(isBase64Encoded ? 'base64' : 'utf8') }),
    isBase64Encoded,
  };
}

/** The types that Lambda passes as text. Forms, unknown types and bodies without a type arrive in base64. */
const TEXT_TYPE = /^(text\/.*|application\/(json|xml|javascript))$/;

/** Headers that AWS removes before it calls the function: it has used them, or they only concern the connection. */
const CONSUMED_HEADERS = /^(authorization|connection|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

/** Joins the values of a repeated header with commas. */
function eventHeaders({ headers }: ReceivedRequest): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of headers.map(([sent, text]) => [sent.toLowerCase(), text] as const)) {
    const before = joined.get(name);
    if (!CONSUMED_HEADERS.test(name)) joined.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(joined);
}

/** Returns the identity of an assumed role `arn:aws:iam::<account>:role/<path/><name>`, as in AWS without the path. */
export function assumedRoleIdentity(role: string, accessKey: string) {
  const [, partition, account, name] = ROLE_ARN.exec(role) ?? [];
  if (name === undefined) throw new TypeError(`not the ARN of a role: ${role}`);
  const roleId = `AROA${createHash('sha256').update(role).digest('hex').slice(0, 17).toUpperCase()}`;
  const session = 'local-session';
  return {
    accessKey,
    accountId: account,
    callerId: `${roleId}:${session}`,
    userArn: `arn:${partition}:sts::${account}:assumed-role/${name}/${session}`,
  };
}
