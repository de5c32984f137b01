import { describe, expect, it } from 'vitest';
import { oauthError } from '../../../../functions/broker/http/oauth.ts';
import { parseOAuthForm, readOAuthForm } from '../../../../functions/broker/http/request.ts';
import { createBrokerWorld, exchange } from '../../../support/broker-world.ts';
import { exampleService, PAIR } from '../../../support/example.ts';

const FORM = 'application/x-www-form-urlencoded';
const GRANT = 'grant_type=client_credentials';
const GOOD = `${GRANT}&client_id=acme&client_secret=any&scope=customer-insights`;

const read = (body: string) => parseOAuthForm(readOAuthForm(FORM, body) ?? expect.fail('no form'));
const post = (body: string, world = createBrokerWorld(), more = {}) =>
  world.post({}, { contentType: `${FORM};charset=UTF-8`, body, ...more });

describe('an OAuth 2.0 form', () => {
  it('names the client as client_id and the service as scope, and min_ttl and refused as in JSON', () => {
    expect(read(GOOD)).toEqual({ pair: PAIR, minTtlMs: 0, refused: undefined });
    const asked = { minTtlMs: 60_000, refused: '0123456789abcdef' };
    expect(read(`${GOOD}&min_ttl=60&refused=${asked.refused}`)).toEqual({ pair: PAIR, ...asked });
  });

  it.each([
    ['parameters that it does not know', 'audience=a&audience=b&client=globex&service=other&client_secret=x'],
    ['parameters without a value', 'min_ttl=&refused=&scope=&client_id=&grant_type='],
  ])('ignores %s', (_, more) => {
    expect(read(`${more}&${GOOD}&${more}`)).toEqual({ pair: PAIR, minTtlMs: 0, refused: undefined });
  });

  it.each([
    ['JSON', 'application/json', GOOD],
    ['a form without a grant type', FORM, 'client=acme&service=customer-insights'],
    ['a form with an empty one', FORM, 'grant_type=&client_id=acme&scope=customer-insights'],
    ['a form in another charset', `${FORM}; charset=latin1`, GOOD],
    ['a form that is not UTF-8', FORM, new Uint8Array([0xff, 0x26, ...Buffer.from(GOOD)])],
    ['a form of more than 16 KiB', FORM, `${GOOD}&x=${'x'.repeat(16_384)}`],
  ])('is not %s', (_, contentType, body) => {
    expect(readOAuthForm(contentType, body)).toBeUndefined();
  });
});

describe('the answer to an OAuth 2.0 form', () => {
  it('is a token without scope and expires_at, not even those that the settings pass through', async () => {
    const response = { lifetimeUnit: 'seconds', passThrough: ['scope', 'expires_at', 'region'] } as const;
    const world = createBrokerWorld({
      services: { 'customer-insights': exampleService({ response }) },
      answer: () =>
        exchange(200, { access_token: 't', expires_in: 60, scope: 'read', expires_at: 'soon', region: 'eu' }),
    });
    const { status, headers, json } = await post(GOOD, world);

    const { expires_at: _, scope: __, ...rest } = (await world.post(PAIR)).json;
    expect({ status, json }).toEqual({ status: 200, json: rest });
    expect(json).toMatchObject({ access_token: 't', token_type: 'Bearer', expires_in: 60, region: 'eu' });
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
  });

  it('has at least one second left, because some libraries take 0 for ever', async () => {
    const world = createBrokerWorld({ answer: () => exchange(200, { access_token: 't', expires_in: 1 }) });
    await post(GOOD, world);
    world.clock.now += 500;
    expect((await post(GOOD, world)).json).toMatchObject({ expires_in: 1 });
    expect((await world.post(PAIR)).json).toMatchObject({ expires_in: 0 });
  });

  it.each([
    [`${GRANT}&scope=customer-insights`, 'invalid_request', 'client_id: is required.'],
    [`${GOOD}&client_id=acme`, 'invalid_request', "'client_id': appears more than once."],
    [`${GOOD}&min_ttl=soon`, 'invalid_request', 'min_ttl: must be a whole number of seconds.'],
    [`${GRANT}&client_id=-&scope=s`, 'invalid_request', "client_id: must be 1 to 63 letters, digits, '.', '_' or '-'"],
    [`${GRANT}&client_id=acme&scope=a+b`, 'invalid_scope', 'scope: must be the name of one service, which'],
    ['grant_type=password&client_id=acme', 'unsupported_grant_type', 'grant_type: must be client_credentials.'],
  ])('says what is wrong in the words of the standard: %s', async (body, error, description) => {
    const world = createBrokerWorld();
    const { status, headers, json } = await post(body, world);
    expect(status).toBe(400);
    expect(headers['content-type']).toBe('application/json');
    expect(json).toMatchObject({ type: 'invalid-request', status: 400, retryable: false, request_id: 'request-1' });
    expect(json).toMatchObject({ error, error_description: expect.stringContaining(description) });
    expect(world.counts).toEqual({ secretReads: 0, tokenRequests: 0 });
  });

  it('is a fault of the form, too, where a query or an unsigned request is wrong', async () => {
    const denied = { status: 403, json: { type: 'access-denied', error: 'unauthorized_client' } };
    expect(await post(GOOD, undefined, { caller: undefined })).toMatchObject(denied);
    expect(await post(GOOD, undefined, { query: 'a=b' })).toMatchObject({ json: { error: 'invalid_request' } });
  });

  it.each([
    ['another client', `${GRANT}&client_id=globex&scope=customer-insights`, 200, 403, 'unauthorized_client'],
    ['a rejected credential', GOOD, 401, 424, 'server_error'],
    ['a service that is down', GOOD, 503, 503, 'temporarily_unavailable'],
    ['a service that answers 404', GOOD, 404, 424, 'server_error'],
  ])('is for %s that of JSON, with an error beside it', async (_, body, answered, status, error) => {
    const answer = () => exchange(answered, { access_token: 't', expires_in: 60 });
    const { client_id: client, scope: service } = Object.fromEntries(new URLSearchParams(body));
    const problem = await createBrokerWorld({ answer }).post({ client, service });
    const { headers, json } = await post(body, createBrokerWorld({ answer }));

    const { error: given, error_description: description, ...rest } = json;
    expect({ status: json.status, given, rest }).toEqual({ status, given: error, rest: problem.json });
    expect(description).toMatch(/^[ !#-[\]-~]+$/);
    expect(headers).toEqual({ ...problem.headers, 'content-type': 'application/json' });
  });

  it('describes a failure in the characters that RFC 6749 §5.2 allows, whatever is in the detail', () => {
    const all = String.fromCodePoint(...Array.from({ length: 0x180 }, (_, code) => code), 0x1f511);
    const told = { type: 'internal', detail: `"a\\b" ü\n${all}`, retryable: false };
    const { error_description: description } = oauthError(told);
    expect(description).toMatch(/^'a\?b' \?\?/);
    expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  it('is never the cause of a problem', async () => {
    const secret = () => ({ outcome: 'stopped', cause: 'AccessDeniedException' }) as const;
    const answer = await post(GOOD, createBrokerWorld({ secret }));
    expect(answer).toMatchObject({ status: 424, json: { type: 'client-disabled', error: 'server_error' } });
  });

  it.each(['/check', '/whoami'])('exists on /token alone: %s answers as ever', async (path) => {
    expect(await post(GOOD, undefined, { path })).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/problem+json' },
      json: { type: 'invalid-request' },
    });
  });
});
