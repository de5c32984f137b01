import { describe, expect, it } from 'vitest';
import { parseEvent } from '../../../functions/aws/function-url.ts';
import { CONTEXT, functionUrlEvent, requestContext, signedBy } from '../../support/aws/function-url-events.ts';
import { START } from '../../support/example.ts';

const ARN = 'arn:aws:sts::111111111111:assumed-role/billing/run-1';
const { iam: IAM } = signedBy(ARN);

/** Parses an event for `acme` with these members changed. */
function parse(changes: Readonly<Record<string, unknown>> = {}) {
  return parseEvent(functionUrlEvent({ client: 'acme' }, changes), CONTEXT, START);
}

/** What recorded events become, contract/recorded-events.test.ts shows. */
describe('an event', () => {
  it.each([null, undefined, ['o-example']])(
    'has a caller without an organization that AWS names %j',
    (principalOrgId) => {
      const { caller } = parse({ requestContext: requestContext({ iam: { ...IAM, principalOrgId } }) });
      expect(caller).toMatchObject({ role: 'billing', principalOrgId: undefined });
    },
  );

  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [JSON.parse('{"__proto__":"application/json"}'), undefined],
    [{ 'Content-Type': 'application/json' }, undefined],
    [{ 'content-type': ['application/json'] }, undefined],
    [{ 'content-type': 'application/json,text/plain' }, 'application/json,text/plain'],
  ])('has of the headers %j the content type', (headers, contentType) => {
    expect(parse({ headers }).contentType).toBe(contentType);
  });

  it.each([
    ['a path of any spelling', { rawPath: '//a/%41' }, { path: '//a/%41' }],
    ['a query of any spelling', { rawQueryString: 'a=%zz' }, { query: 'a=%zz' }],
    ['no path', { rawPath: undefined, path: '/token' }, { path: '', caller: undefined }],
    ['a body that is no text', { body: { client: 'acme' } }, { body: '', caller: undefined }],
    ['no body', { body: undefined }, { body: '', caller: { role: 'billing' } }],
    ['no query', { rawQueryString: undefined }, { query: 'unknown', caller: undefined }],
    ['base64 that is not called so', { body: 'YWNtZQ==' }, { body: 'YWNtZQ==' }],
  ])('with %s is read so', (_, changes, read) => {
    expect(parse(changes)).toMatchObject(read);
  });

  it.each<[string, Uint8Array | undefined]>([
    ['YWNtZQ==', Buffer.from('acme')],
    ['//4A', Buffer.of(0xff, 0xfe, 0)],
    ['', Buffer.of()],
    // Without its padding, of the URL alphabet, with a line break, with stray bits at its end, or none.
    ...['YWNtZQ', '_-8=', 'YWNt\nZQ==', 'YR==', '{}'].map((body): [string, undefined] => [body, undefined]),
  ])('has the body %j, if that is base64', (body, bytes) => {
    expect(parse({ body, isBase64Encoded: true }).body).toEqual(bytes);
  });
});

describe('there is no caller', () => {
  it.each<[string, unknown]>([
    ['an authorizer without iam', undefined],
    ['an iam that is a list', [IAM]],
    ...['accountId', 'callerId', 'userArn'].flatMap((name): [string, unknown][] => [
      [`no ${name}`, { ...IAM, [name]: undefined }],
      [`a list as ${name}`, { ...IAM, [name]: [IAM.userArn] }],
    ]),
    ['the anonymous account', { ...IAM, accountId: 'anonymous', callerId: 'anonymous', userArn: 'anonymous' }],
    ['the identity of CloudFront', { ...IAM, callerId: 'cloudfront', userArn: 'arn:aws:iam::cloudfront:user/origin' }],
    ['an account that differs from the one in the ARN', { ...IAM, accountId: '222222222222' }],
    ['a session that differs from the one in the ARN', { ...IAM, callerId: 'AROAEXAMPLE:run-2' }],
    ['a session that only ends like the one in the ARN', { ...IAM, callerId: 'AROAEXAMPLE:x-run-1' }],
  ])('for an event with %s', (_, iam) => {
    expect(parse({ requestContext: requestContext({ iam }) })).toMatchObject({ caller: undefined, method: 'POST' });
  });

  it.each([
    ['arn:aws:iam::111111111111:user/team/alice', true],
    ['arn:aws:iam::111111111111:root', true],
    ['arn:aws-cn:sts::111111111111:federated-user/alice', true],
    ['arn:aws:iam::cloudfront:user/origin', true],
    ['arn:aws:sts::111111111111:assumed-role/user/root:root', false],
    ['arn:aws:iam::111111111111:user/two words', false],
    [`arn:aws:iam::111111111111:user/${'a'.repeat(601)}`, false],
    ['anonymous', false],
  ])('for an event that %s has signed, and whether the signer is named: %s', (userArn, isNamed) => {
    const iam = { ...signedBy(userArn).iam, callerId: 'AIDAEXAMPLE' };
    const signer = isNamed ? userArn : undefined;
    expect(parse({ requestContext: requestContext({ iam }) })).toMatchObject({ caller: undefined, signer });
  });

  it.each([undefined, { lambda: IAM }])('for the authorizer %j', (authorizer) => {
    expect(parse({ requestContext: requestContext(authorizer) })).toMatchObject({ caller: undefined, path: '/token' });
  });

  it.each([undefined, null, 'event', {}, { source: 'aws.scheduler', detail: {} }])('for the event %j', (event) => {
    expect(parseEvent(event, CONTEXT, START)).toEqual({
      ...{ requestId: 'none', method: '', path: '', query: 'unknown', body: '', deadline: START + 14_500 },
      ...{ contentType: undefined, caller: undefined, signer: undefined, sourceIp: undefined },
    });
  });
});
