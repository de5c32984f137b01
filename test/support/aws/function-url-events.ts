import type { InvocationContext } from '../../../functions/aws/function-url.ts';

/** As much time as a real invocation has. */
export const CONTEXT: InvocationContext = { getRemainingTimeInMillis: () => 15_000 };

/** The event of a signed `POST /token`, as Lambda sends it; changes replace whole members. */
export function functionUrlEvent(members: unknown, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: '/token',
    rawQueryString: '',
    headers: { 'content-type': 'application/json', 'x-amz-security-token': 'marked-session-token' },
    requestContext: requestContext(signedBy('arn:aws:sts::111111111111:assumed-role/billing/run-1')),
    body: JSON.stringify(members),
    isBase64Encoded: false,
    ...changes,
  };
}

export function requestContext(authorizer: unknown, method = 'POST') {
  return { requestId: 'request-1', http: { method, path: '/token', sourceIp: '192.0.2.1' }, authorizer };
}

/** The signer as Lambda describes it; account and session are those of the ARN. */
export function signedBy(userArn: string) {
  const userId = `AROAEXAMPLE:${userArn.split('/')[2]}`;
  const accountId = userArn.split(':')[4];
  const iam = { accessKey: 'ASIAEXAMPLE', accountId, callerId: userId, userArn, userId, cognitoIdentity: null };
  return { iam };
}
