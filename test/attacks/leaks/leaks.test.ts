import type { ServerResponse } from 'node:http';
import { request } from 'node:https';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AwsCall } from '../../support/aws/faulty-endpoint.ts';
import { requestContext, signedBy } from '../../support/aws/function-url-events.ts';
import { createCertificateAuthority } from '../../support/services/certificates.ts';
import { CHUNKED, end, head, http, write } from '../hostile-answers.ts';
import { basicOf, echoOf, type Marks, SPELLINGS } from './marks.ts';
import { credentialOf, json, type Outcome, type Path, startLeakWorld, startServer } from './world.ts';

const UNUSABLE = 'token-response-unusable';
const ODD = 'token-endpoint-error';
const UNAVAILABLE = 'token-endpoint-unavailable';
const REJECTED = 'credential-rejected';

type Row<Value> = readonly [what: string, of: (marks: Marks, echo: string) => Value, outcome: Outcome];

/** Everything in the body, the reason and a header. */
const echoed = (status: number, header: string) => (_: Marks, echo: string) =>
  http(status, echo, `${header}: ${echo}`).replace(' X\r\n', ` ${echo}\r\n`);

const zipped = (members: object) =>
  http(200, gzipSync(JSON.stringify(members)).toString('latin1'), 'content-encoding: gzip');

/** Bytes of a token endpoint. */
const BYTES: readonly Row<string>[] = [
  ['401 and a challenge', echoed(401, 'www-authenticate'), REJECTED],
  ['307 and where to go', echoed(307, 'location'), ODD],
  ['200 and a type', echoed(200, 'content-type'), UNUSABLE],
  ['999', echoed(999, 'x-echo'), ODD],
  ['JSON that is cut off', (_, echo) => http(200, `{"echo":"${echo}`), UNUSABLE],
  ['a compressed body', (_, echo) => http(200, gzipSync(echo).toString('latin1'), 'content-encoding: gzip'), UNUSABLE],
  ['members in a compressed body', ({ secret, token }) => zipped({ [secret]: { token, jwt: secret } }), UNUSABLE],
  ['a page', (_, echo) => http(200, `<html>${echo}</html>`, 'content-type: text/html'), UNUSABLE],
  ['a redirect to the secret', ({ secret }) => http(302, '', `location: /${encodeURIComponent(secret)}/token`), ODD],
  ['a redirect to the client id', ({ clientId }) => http(302, '', `location: /${clientId}/token`), ODD],
  ['a mark to wait', ({ secret }) => http(429, '', `retry-after: ${encodeURIComponent(secret)}`), UNAVAILABLE],
  ['a body without an end', (_, echo) => `${CHUNKED}4000\r\n${echo}`, 'token-endpoint-timeout'],
  ['headers that are too large', (_, echo) => `${head(200)}x-echo: ${echo.repeat(300)}\r\n\r\n`, UNUSABLE],
  ['a malformed first line', (_, echo) => `${echo}\r\n\r\n`, ODD],
  ['a malformed chunk', (_, echo) => `${CHUNKED}${echo}\r\n`, ODD],
  ['another protocol', (_, echo) => `HTTP/1.1 101 ${echo}\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n`, UNAVAILABLE],
];

/** JSON of a token endpoint, by status. */
const BODIES: readonly (readonly [status: number, ...Row<unknown>])[] = [
  [400, 'the members of an error', (_, echo) => ({ error: echo, error_description: echo, error_uri: echo }), ODD],
  [400, 'the description of a known error', (_, echo) => ({ error: 'invalid_scope', message: echo }), ODD],
  [200, 'an error within a success', (_, echo) => ({ error: echo, access_token: echo }), UNUSABLE],
  [200, 'names of members', (marks, echo) => ({ [marks.secret]: 1, [marks.token]: 2, [echo]: 3 }), UNUSABLE],
  [200, 'the client id as a name', (marks) => ({ [marks.clientId]: { [`my-${marks.clientId}`]: 1 } }), UNUSABLE],
  [200, 'names in a text', (marks, echo) => ({ a: JSON.stringify({ [marks.secret]: { [echo]: 1 } }) }), UNUSABLE],
  [200, 'short names', (marks) => ({ [marks.secret.slice(0, 8)]: 1, [marks.token.slice(0, 8)]: {} }), UNUSABLE],
  [200, 'wrong types', (marks, echo) => ({ access_token: [marks.token], expires_in: echo }), UNUSABLE],
  [200, 'a token with NUL', (marks) => ({ access_token: `${marks.token}\u0000${marks.secret}` }), UNUSABLE],
  [500, 'a fault of a gateway', (_, echo) => ({ fault: { faultstring: echo, detail: [echo] } }), UNAVAILABLE],
  [200, 'the secret as the token', (marks) => ({ access_token: marks.secret }), UNUSABLE],
];

/** The members beside a token. */
const BESIDES: readonly Row<object>[] = [
  ['a member that the broker does not read', (_, echo) => ({ message: echo }), 'issued'],
  ['the token in token_type', (marks) => ({ token_type: marks.token }), 'issued'],
  ['everything in scope', (_, echo) => ({ scope: echo }), 'issued'],
  ['everything in a member to be passed on', (_, echo) => ({ instance: echo }), 'issued'],
  ['a text to be passed on that contains marks', ({ token }) => ({ instance: `{"a":"${token}"}` }), 'issued'],
  ['marks below a member to be passed on', ({ token, secret: s }) => ({ instance: { a: [token], [s]: s } }), 'issued'],
];

const PAIR = { client: 'acme', service: 'customer-insights' };
const members = (body: unknown) => ({ body: JSON.stringify(body) });
const headers = (names: Readonly<Record<string, string>>, { sessionToken }: Marks) => ({
  headers: { 'content-type': 'application/json', 'x-amz-security-token': sessionToken, ...names },
});
const BAD = 'invalid-request';
const NO_TABLE = 'table-unavailable';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const GRANT = 'grant_type=client_credentials&client_id=acme&scope=customer-insights';
const secretIn = ({ secret }: Marks) => `${new URLSearchParams({ client_secret: secret })}`;

/** Requests of a caller that puts its secrets and tokens where they do not belong. */
const EVENTS: readonly Row<Path['event']>[] = [
  ['refused', ({ token }) => members({ ...PAIR, refused: token }), BAD],
  ['service, as a Basic value', (marks) => members({ ...PAIR, service: `Basic ${basicOf(marks)}` }), BAD],
  ['the name of an unknown member', ({ token, secret }) => members({ ...PAIR, [token]: 1, [secret]: secret }), BAD],
  ['a body that is no JSON', ({ token }) => ({ body: token }), BAD],
  ['the method', ({ token }) => ({ requestContext: requestContext(signedBy(BILLING), token) }), 'method-not-allowed'],
  ['the content type', (marks) => headers({ 'content-type': marks.token }, marks), 'unsupported-media-type'],
  ['headers', (marks) => headers({ authorization: basicOf(marks), [marks.secret]: marks.token }, marks), 'issued'],
  ['client_secret of a form', (marks) => ({ ...headers(FORM, marks), body: `${GRANT}&${secretIn(marks)}` }), 'issued'],
  ['what is not signed', ({ token }) => ({ body: token, requestContext: requestContext(undefined) }), 'access-denied'],
  ['an input that is not an event', ({ sessionToken }) => ({ rawPath: { sessionToken } }), 'access-denied'],
];
const BILLING = 'arn:aws:sts::111111111111:assumed-role/billing/run-1';

const MALFORMED = 'credential-malformed';

/** Secrets that cannot be used, or hardly. */
const SECRETS: readonly Row<string | Uint8Array>[] = [
  ['JSON that breaks off', (marks) => credentialOf(marks.clientId, marks.secret).slice(0, -9), MALFORMED],
  ['the bare secret', ({ secret }) => secret, MALFORMED],
  ['bytes', ({ secret }) => Buffer.from(secret), MALFORMED],
  ['the secret as a name', ({ clientId, secret }) => JSON.stringify({ [clientId]: secret, [secret]: 1 }), MALFORMED],
  ['half of a credential', ({ clientId: id }) => JSON.stringify({ services: { [PAIR.service]: { id } } }), MALFORMED],
  ['a line break in the secret', ({ clientId, secret }) => credentialOf(clientId, `${secret}\r\nx: y`), MALFORMED],
  ['letters of all alphabets', ({ clientId, secret }) => credentialOf(`${clientId}é漢`, `${secret}é漢😀`), 'issued'],
];

/** The calls of AWS that an answer needs, and the outcome when they fail in any way. */
const PLACES: readonly (readonly [string, (call: AwsCall) => boolean, Outcome, Path])[] = [
  ['the secret is read', ({ parameters }) => namesSecret(parameters, 'token-broker/'), 'secrets-unavailable', {}],
  ['the sealing key is read', ({ parameters }) => namesSecret(parameters, 'token-broker-keys/'), NO_TABLE, {}],
  ['the record is read', ({ operation }) => operation === 'GetItem', NO_TABLE, {}],
  ['the lease is taken', (call) => sets(call, 'lease'), NO_TABLE, {}],
  ['the token is published', (call) => sets(call, 'sealed'), 'issued', {}],
  ['a rejection is recorded', (call) => sets(call, 'rejected'), REJECTED, { reply: json(401, {}) }],
  ['a pause is recorded', (call) => sets(call, 'pause'), UNAVAILABLE, { reply: json(503, {}) }],
];
const namesSecret = (parameters: object, prefix: string) =>
  'SecretId' in parameters && `${parameters.SecretId}`.startsWith(prefix);
const sets = ({ operation, parameters }: AwsCall, attribute: string) =>
  operation === 'UpdateItem' && JSON.stringify(parameters).includes(`#${attribute} = :${attribute}`);

const TYPE = { 'content-type': 'application/x-amz-json-1.1' };
const answer = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, TYPE).end(JSON.stringify(body));

type Echo = (response: ServerResponse, echo: string, marks: Marks) => void;

/** Ways in which AWS, or a server that pretends to be AWS, can repeat everything. */
const ECHOES: readonly (readonly [string, Echo])[] = [
  ['refuses', (to, echo) => answer(to, 400, { __type: 'AccessDeniedException', Message: echo, message: echo })],
  ['names an error by the secret', (to, _, { secret }) => answer(to, 400, { __type: secret, code: secret })],
  ['breaks off', (to, echo) => to.writeHead(200, TYPE).end(`{"SecretString":"${echo}`)],
  ['hangs up', (to, echo) => to.writeHead(200, { ...TYPE, 'content-length': 9_999 }).write(echo, () => to.destroy())],
  ['answers with a page', (to, echo) => to.writeHead(502, echo, { 'content-type': 'text/html' }).end(`<html>${echo}`)],
  [
    'answers with something else',
    (to, echo, { secret }) => {
      const item = { pair: { S: echo } };
      answer(to, 200, { VersionId: { [secret]: 1 }, SecretString: [echo], Item: item, Attributes: item });
    },
  ],
];

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  let world: Awaited<ReturnType<typeof startLeakWorld>>;
  beforeAll(async () => {
    world = await startLeakWorld(spelling);
  });
  afterAll(() => world.close());
  const of = <Value>(make: Row<Value>[1]): Value => make(world.marks, echoOf(world.marks));
  const faultBy = (echo: Echo) =>
    vi.fn((response: ServerResponse) => echo(response, `${of(echoOf)} ${world.marks.sealingKey}`, world.marks));

  it.each(BYTES)('a token endpoint that answers %s', async (_, textOf, outcome) => {
    const service = { requestTimeoutMs: 1_000 };
    await world.expectSilence({ reply: write(of(textOf)), service }, outcome);
  });

  it.each(BODIES)('a token endpoint that answers %i with everything in %s', async (status, _, bodyOf, outcome) => {
    await world.expectSilence({ reply: json(status, of(bodyOf)) }, outcome);
  });

  it.each(BESIDES)('a token with %s', async (_, moreOf, outcome) => {
    const service = { response: { lifetimeUnit: 'seconds', passThrough: ['instance'] } } as const;
    const members = { access_token: world.marks.token, ...of(moreOf) };
    await world.expectSilence({ service, reply: json(200, members) }, outcome);
  });

  it('a token in a header, beside the value of a header of the client in a scope and in the body', async () => {
    const { clientId, token, secret } = world.marks;
    const response = { tokenHeader: 'x-auth-token', lifetimeUnit: 'seconds', passThrough: ['instance'] } as const;
    const service = { clientHeaders: ['x-api-key'], response };
    const stored = JSON.stringify({ client_id: clientId, secret: 'another-password', 'x-api-key': secret });
    const body = JSON.stringify({ scope: secret, instance: [secret], token_type: token });
    const reply = write(http(200, body, `content-type: application/json\r\nx-auth-token: ${token}`));
    await world.expectSilence({ service, secret: stored, reply }, 'issued');
    const wrong = write(http(200, '', `x-auth-token: ${encodeURIComponent(secret)} ${encodeURIComponent(token)}`));
    await world.expectSilence({ service, secret: stored, reply: wrong }, UNUSABLE);
  });

  it.each([
    ['headers', `${head(200)}x-echo: `],
    ['a body', `${head(200)}content-length: 9999\r\n\r\n`],
  ])('a token endpoint that hangs up in the middle of %s', async (_, start) => {
    await world.expectSilence({ reply: end(start + echoOf(world.marks)) }, UNAVAILABLE);
  });

  it.each<Row<object>>([
    ['message', (_, echo) => new Error(echo, { cause: new AggregateError([new Error(echo)]) }), 'internal'],
    ['name', (_, echo) => Object.assign(new Error('x'), { name: echo, stack: `Error: x\n    at ${echo}` }), 'internal'],
    ['code', ({ clientId }) => Object.assign(new Error('x'), { code: clientId }), 'internal'],
  ])('a bug while a token is requested, with everything in the %s of its error', async (_, thrown, outcome) => {
    await world.expectSilence({ send: () => Promise.reject(of(thrown)), isAlone: true }, outcome);
  });

  it.each(EVENTS)('a caller who sends a secret or a token in %s', async (_, eventOf, outcome) => {
    await world.expectSilence({ event: of(eventOf) ?? {} }, outcome);
  });

  it.each(SECRETS)('a stored credential that is %s', async (_, secretOf, outcome) => {
    await world.expectSilence({ secret: of(secretOf) }, outcome);
  });

  it.each<Row<string | Uint8Array>>([
    ['too short', ({ sealingKey }) => sealingKey.slice(0, 31), NO_TABLE],
    ['bytes', ({ sealingKey }) => Buffer.from(sealingKey), NO_TABLE],
  ])('a sealing key that is %s', async (_, keyOf, outcome) => {
    await world.expectSilence({ sealingKey: of(keyOf) }, outcome);
  });

  describe.each(PLACES)('while %s', (place, isMeant, told, path) => {
    // Each client of AWS meets all of them once.
    const isFirst = place === 'the secret is read' || place === 'the record is read';
    it.each(isFirst ? ECHOES : ECHOES.slice(-1))('AWS %s and repeats everything', async (name, echo) => {
      // That is a write's success to a reader of its status.
      const isWritten = place === 'the lease is taken' && name === 'answers with something else';
      const outcome = isWritten ? 'issued' : told;
      const fault = faultBy(echo);
      // An outcome is written again until the table takes it, so its write fails with a single repetition.
      const isLasting = outcome === NO_TABLE || outcome === 'secrets-unavailable';
      const faultOf = (call: AwsCall) =>
        isMeant(call) && (isLasting || fault.mock.calls.length < 2) ? fault : undefined;
      await world.expectSilence({ ...path, faultOf, isAlone: true }, outcome);
      expect(fault).toHaveBeenCalled();
    });
  });

  it.each(ECHOES)('a warm instance in an outage of the table, while AWS %s and repeats everything', async (_, echo) => {
    const fault = faultBy(echo);
    const outageOf = ({ operation }: AwsCall) => (operation === 'GetItem' ? fault : undefined);
    await world.expectSilence({ outageOf }, 'issued');
    // The look of the token's caller, and that of the check.
    expect(fault.mock.calls.length).toBeGreaterThanOrEqual(2);
  });

  it('a token endpoint and AWS with a certificate for other names, which Node itself would show', async () => {
    const { secret, token, clientId } = world.marks;
    const { ca, issue } = await createCertificateAuthority();
    const url = await startServer({ certificate: await issue({ host: `${secret}.${token}.${clientId}.example.com` }) });
    const error = await new Promise<Error>((resolve) => request(url, { ca }).on('error', resolve).end());
    expect(error.message).toContain(secret);
    for (const certificateAuthorities of [undefined, [ca]]) {
      await world.expectSilence({ authUrl: url, service: { certificateAuthorities } }, 'token-endpoint-error');
    }
    await world.expectSilence({ awsUrl: url, isAlone: true }, NO_TABLE);
  });

  it('a server that does not speak TLS and repeats everything', async () => {
    const url = await startServer({ onConnection: end(echoOf(world.marks)) });
    await world.expectSilence({ authUrl: url }, 'token-endpoint-error');
    await world.expectSilence({ awsUrl: url, isAlone: true }, NO_TABLE);
  });
});
