import { createHash } from 'node:crypto';
import { ROLE_ARN } from '../../../functions/contract.ts';
import type { ReceivedRequest } from '../loopback.ts';

/** Who signed, as Lambda shows it. */
export type IamIdentity = ReturnType<typeof assumedRoleIdentity>;

/** What Lambda adds of its own. */
export interface Invocation {
  readonly requestId: string;
  readonly region: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
}

/** The account that the function is in. */
export const FUNCTION_ACCOUNT = '111111111111';

const URL_ID = 'standinforalambdafunctionurl0000';
const SOURCE_IP = '127.0.0.1';

/** What Lambda hands to a function when its URL with `AWS_IAM` is called: payload format 2.0. */
export function functionUrlEvent(request: ReceivedRequest, iam: IamIdentity, invocation: Invocation) {
  const { requestId, region, receivedAt } = invocation;
  const domainName = `${URL_ID}.lambda-url.${region}.on.aws`;
  const { cookie, ...headers } = eventHeaders(request, invocation);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: request.path,
    rawQueryString: request.query,
    ...(cookie !== undefined && { cookies: cookie.split(/; */) }),
    headers,
    ...(request.query !== '' && { queryStringParameters: joinByName(new URLSearchParams(`?${request.query}`)) }),
    requestContext: {
      accountId: FUNCTION_ACCOUNT,
      apiId: URL_ID,
      authentication: null,
      authorizer: { iam },
      domainName,
      domainPrefix: URL_ID,
      http: {
        method: request.method,
        path: request.path,
        protocol: 'HTTP/1.1',
        sourceIp: SOURCE_IP,
        userAgent: headers['user-agent'] ?? null,
      },
      requestId,
      routeKey: '$default',
      stage: '$default',
      time: logTime(receivedAt),
      timeEpoch: receivedAt,
    },
    ...eventBody(request, headers['content-type'] ?? ''),
  };
}

/** What Lambda's own front takes out, because it is about the connection or because it has done its work. */
const CONSUMED_HEADERS = new Set([
  'authorization',
  'connection',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function eventHeaders(request: ReceivedRequest, { requestId, receivedAt }: Invocation): Record<string, string> {
  const epochSeconds = Math.floor(receivedAt / 1000).toString(16);
  const sent = request.headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    ...joinByName(sent.filter(([name]) => !CONSUMED_HEADERS.has(name))),
    'x-amzn-tls-cipher-suite': 'TLS_AES_128_GCM_SHA256',
    'x-amzn-tls-version': 'TLSv1.3',
    'x-amzn-trace-id': `Root=1-${epochSeconds}-${requestId.replaceAll('-', '').slice(0, 24)}`,
    'x-forwarded-for': SOURCE_IP,
    'x-forwarded-port': '443',
    'x-forwarded-proto': 'https',
  };
}

/** Lambda joins what occurs several times with commas. A name such as `__proto__` is a name like any other. */
function joinByName(entries: Iterable<readonly [name: string, value: string]>): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of entries) {
    const before = joined.get(name);
    joined.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(joined);
}

/** As an access log writes it: `12/Mar/2020:19:03:58 +0000`. */
function logTime(epochMs: number): string {
  const [, day, month, year, clock] = new Date(epochMs).toUTCString().split(' ');
  return `${day}/${month}/${year}:${clock} +0000`;
}

/** Only these travel as text; a form, an unknown type and a missing one arrive in base64. */
const TEXT_TYPE = /^(text\/.*|application\/(json|xml|javascript))$/;

function eventBody({ body }: ReceivedRequest, contentType: string) {
  if (body.length === 0) return { isBase64Encoded: false };
  const mediaType = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  const isBase64Encoded = !TEXT_TYPE.test(mediaType);
  return { body: Buffer.from(body).toString(isBase64Encoded ? 'base64' : 'utf8'), isBase64Encoded };
}

/**
 * How a role looks once it is assumed; `role` is `arn:aws:iam::<account>:role/<path/><name>`.
 * The path gets lost, as in AWS.
 */
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
