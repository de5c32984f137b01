import { createHash } from 'node:crypto';
import { ROLE_ARN } from '../../../functions/vocabulary.ts';
import type { ReceivedRequest } from '../loopback.ts';

/** The account that the function is in. */
const FUNCTION_ACCOUNT = '111111111111';

const URL_ID = 'standinforalambdafunctionurl0000';
const SOURCE_IP = '127.0.0.1';

/** The event of a call to a Function URL with `AWS_IAM`: payload format 2.0, as far as the broker reads it. */
export function functionUrlEvent(
  request: ReceivedRequest,
  iam: ReturnType<typeof assumedRoleIdentity>,
  requestId: string,
) {
  const { method, path, query, body } = request;
  const headers = eventHeaders(request);
  const mediaType = (headers['content-type'] ?? '').replace(/;.*/, '').trim().toLowerCase();
  const isBase64Encoded = body.length > 0 && !TEXT_TYPE.test(mediaType);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: query,
    headers,
    requestContext: {
      accountId: FUNCTION_ACCOUNT,
      apiId: URL_ID,
      authentication: null,
      authorizer: { iam },
      domainName: `${URL_ID}.lambda-url.us-east-1.on.aws`,
      domainPrefix: URL_ID,
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: SOURCE_IP, userAgent: headers['user-agent'] ?? null },
      requestId,
      routeKey: '$default',
      stage: '$default',
    },
    ...(body.length > 0 && { body: Buffer.from(body).toString(isBase64Encoded ? 'base64' : 'utf8') }),
    isBase64Encoded,
  };
}

/** Only these travel as text; forms, unknown types and bodies without a type arrive in base64. */
const TEXT_TYPE = /^(text\/.*|application\/(json|xml|javascript))$/;

/** Headers that Lambda's front removes: they are about the connection, or have done their work. */
const CONSUMED_HEADERS = /^(authorization|connection|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

/** A header that occurs several times is joined with commas. */
function eventHeaders({ headers }: ReceivedRequest): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of headers.map(([sent, text]) => [sent.toLowerCase(), text] as const)) {
    const before = joined.get(name);
    if (!CONSUMED_HEADERS.test(name)) joined.set(name, before === undefined ? value : `${before},${value}`);
  }
  const forwarded = { 'x-forwarded-for': SOURCE_IP, 'x-forwarded-port': '443', 'x-forwarded-proto': 'https' };
  return { ...Object.fromEntries(joined), ...forwarded };
}

/** The identity of an assumed role; `role` is `arn:aws:iam::<account>:role/<path/><name>`, and the path gets lost. */
export function assumedRoleIdentity(role: string, accessKey: string) {
  const [, partition, account, name] = ROLE_ARN.exec(role) ?? [];
  if (name === undefined) throw new TypeError(`not the ARN of a role: ${role}`);
  const roleId = `AROA${createHash('sha256').update(role).digest('hex').slice(0, 17).toUpperCase()}`;
  const session = 'local-session';
  return {
    accessKey,
    accountId: account,
    callerId: `${roleId}:${session}`,
    cognitoIdentity: null,
    principalOrgId: 'o-localstandin',
    userArn: `arn:${partition}:sts::${account}:assumed-role/${name}/${session}`,
    userId: `${roleId}:${session}`,
  };
}
