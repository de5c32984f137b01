import { describe, expect, it } from 'vitest';
import { parseEvent, toResult } from '../../../functions/aws/function-url.ts';
import { START } from '../../support/example.ts';

const CONTEXT = { getRemainingTimeInMillis: () => 15_000 };

const IAM = {
  accessKey: 'ASIAEXAMPLE',
  accountId: '111111111111',
  callerId: 'AROAEXAMPLE:run-1',
  cognitoIdentity: null,
  principalOrgId: 'o-example',
  userArn: 'arn:aws:sts::111111111111:assumed-role/billing/run-1',
  userId: 'AROAEXAMPLE:run-1',
};

/** What Lambda sends for a signed request, as far as it is read. */
function event(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    version: '2.0',
    rawPath: '/token',
    rawQueryString: '',
    headers: { 'content-type': 'application/json', 'x-amz-security-token': 'marked-session-token' },
    requestContext: requestContext({ iam: IAM }),
    body: '{"client":"acme"}',
    isBase64Encoded: false,
    ...changes,
  };
}

function requestContext(authorizer?: unknown) {
  return { requestId: 'request-1', http: { method: 'POST', sourceIp: '192.0.2.1' }, authorizer };
}

function parse(input: unknown) {
  return parseEvent(input, CONTEXT, START);
}

function text(body: string | Uint8Array | undefined) {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
}

describe('an event', () => {
  it('becomes a request with the role that signed it, and time to answer', () => {
    expect(parse(event())).toEqual({
      requestId: 'request-1',
      method: 'POST',
      path: '/token',
      query: '',
      contentType: 'application/json',
      body: '{"client":"acme"}',
      caller: {
        partition: 'aws',
        account: '111111111111',
        role: 'billing',
        session: 'run-1',
        roleId: 'AROAEXAMPLE',
        principalOrgId: 'o-example',
        accessKeyId: 'ASIAEXAMPLE',
      },
      sourceIp: '192.0.2.1',
      deadline: START + 14_500,
    });
  });

  it.each([null, undefined, ['o-example']])(
    'has a caller without an organization when AWS names it %j',
    (principalOrgId) => {
      const { caller } = parse(event({ requestContext: requestContext({ iam: { ...IAM, principalOrgId } }) }));
      expect(caller).toMatchObject({ role: 'billing', principalOrgId: undefined });
    },
  );

  it('leaves the session token of the caller behind', () => {
    expect(JSON.stringify(parse(event()))).not.toContain('marked-session-token');
  });

  it('keeps path and query as they came over the wire', () => {
    expect(parse(event({ rawPath: '//token/%41', rawQueryString: 'a=1&a=%zz' }))).toMatchObject({
      path: '//token/%41',
      query: 'a=1&a=%zz',
    });
  });

  it.each<[string, unknown, string | undefined]>([
    ['no content type', {}, undefined],
    ['an inherited name', JSON.parse('{"__proto__":"application/json","constructor":"x"}'), undefined],
    ['an upper-case name, which Lambda never sends', { 'Content-Type': 'application/json' }, undefined],
    ['two values', { 'content-type': 'application/json,text/plain' }, 'application/json,text/plain'],
  ])('has the content type that a request with %s says', (_, headers, contentType) => {
    expect(parse(event({ headers })).contentType).toBe(contentType);
  });
});

describe('the body', () => {
  it.each<[string, unknown, string | undefined]>([
    ['base64', 'eyJjbGllbnQiOiJhY21lIn0=', '{"client":"acme"}'],
    ['nothing', '', ''],
    ['base64 without its padding', 'eyJjbGllbnQiOiJhY21lIn0', undefined],
    ['base64 of the URL alphabet', '_-8=', undefined],
    ['base64 with a line break', 'eyJj\nbGll', undefined],
    ['base64 that ends in stray bits', 'YR==', undefined],
    ['something else', '{"client":"acme"}', undefined],
  ])('in base64 is decoded when it is %s', (_, body, decoded) => {
    expect(text(parse(event({ body, isBase64Encoded: true })).body)).toBe(decoded);
  });

  it('in base64 may hold bytes that are no text', () => {
    expect(parse(event({ body: '//4A', isBase64Encoded: true })).body).toEqual(Buffer.from([0xff, 0xfe, 0]));
  });

  it('in plain is not taken for base64', () => {
    expect(text(parse(event({ body: 'YWNtZQ==' })).body)).toBe('YWNtZQ==');
  });

  it('is empty when the request had none', () => {
    const { body: _, ...withoutBody } = event();
    expect(parse(withoutBody)).toMatchObject({ body: '', caller: { role: 'billing' } });
  });
});

describe('there is no caller', () => {
  const CLOUDFRONT = 'arn:aws:sts::222222222222:assumed-role/OriginAccessControlRole/EdgeCredentialsProxy+EdgeHost';

  it.each<[string, unknown]>([
    ['an authorizer without iam', undefined],
    ['an iam that is null', null],
    ['an iam that is a text', IAM.userArn],
    ['an iam that is a list', [IAM]],
    ['no account', { ...IAM, accountId: undefined }],
    ['no caller id', { ...IAM, callerId: undefined }],
    ['no ARN', { ...IAM, userArn: undefined }],
    ['an ARN that is no text', { ...IAM, userArn: [IAM.userArn] }],
    ['the anonymous account', { ...IAM, accountId: 'anonymous', callerId: 'anonymous', userArn: 'anonymous' }],
    ['the identity of CloudFront', { ...IAM, callerId: 'cloudfront', userArn: 'arn:aws:iam::cloudfront:user/origin' }],
    ['a role of CloudFront in another account', { ...IAM, userArn: CLOUDFRONT }],
    ['a user', { ...IAM, callerId: 'AIDAEXAMPLE', userArn: 'arn:aws:iam::111111111111:user/run-1' }],
    ['the root of the account', { ...IAM, callerId: '111111111111', userArn: 'arn:aws:iam::111111111111:root' }],
    ['a federated user', { ...IAM, userArn: 'arn:aws:sts::111111111111:federated-user/run-1' }],
    ['a role that is not assumed', { ...IAM, userArn: 'arn:aws:iam::111111111111:role/billing' }],
    ['an account that differs from the one in the ARN', { ...IAM, accountId: '222222222222' }],
    ['a session that differs from the one in the ARN', { ...IAM, callerId: 'AROAEXAMPLE:run-2' }],
    ['a session that only ends like the one in the ARN', { ...IAM, callerId: 'AROAEXAMPLE:x-run-1' }],
    ['a line break behind the ARN', { ...IAM, userArn: `${IAM.userArn}\n`, callerId: `${IAM.callerId}\n` }],
  ])('for an event with %s', (_, iam) => {
    expect(parse(event({ requestContext: requestContext({ iam }) }))).toMatchObject({
      caller: undefined,
      requestId: 'request-1',
    });
  });

  it('for an event without an authorizer, as it comes from a URL without IAM', () => {
    expect(parse(event({ requestContext: requestContext() }))).toMatchObject({ caller: undefined, path: '/token' });
  });

  it('for an event whose IAM identity stands where a Lambda authorizer would put it', () => {
    expect(parse(event({ requestContext: requestContext({ lambda: IAM }) }))).toMatchObject({ caller: undefined });
  });

  it.each([undefined, null, 'event', {}, { source: 'aws.scheduler', detail: {} }])('for the event %j', (input) => {
    expect(parse(input)).toEqual({
      ...{ requestId: 'none', method: '', path: '', query: 'unknown', body: '', deadline: START + 14_500 },
      ...{ contentType: undefined, caller: undefined, sourceIp: undefined },
    });
  });
});

it.each([
  ['no path', { rawPath: undefined, path: '/token' }, { path: '' }],
  ['a body that is no text', { body: { client: 'acme' } }, { body: '' }],
  ['a header with several values', { headers: { 'content-type': ['application/json'] } }, { contentType: undefined }],
  ['no headers', { headers: undefined }, { contentType: undefined }],
  ['no query', { rawQueryString: undefined }, { query: 'unknown' }],
])('reads nothing into an event with %s', (_, changes, empty) => {
  expect(parse(event(changes))).toMatchObject(empty);
});

it('an answer goes back as Lambda expects it', () => {
  expect(toResult({ status: 403, headers: { 'cache-control': 'no-store' }, body: '{}' })).toEqual({
    statusCode: 403,
    headers: { 'cache-control': 'no-store' },
    body: '{}',
  });
});
