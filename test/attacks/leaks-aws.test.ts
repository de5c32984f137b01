import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallFault, Call as CallOfAws } from '../support/dynamodb.ts';
import { basicOf, echoOf, type Marks, SPELLINGS } from './leak-marks.ts';
import { credentialOf, json, type LeakWorld, type Outcome, type Path, startLeakWorld } from './leak-world.ts';

type Place = readonly [place: string, isMeant: (call: CallOfAws) => boolean, outcome: Outcome, status?: number];

/** The calls of AWS that an answer needs, and the outcome when they fail in any way. */
const PLACES: readonly Place[] = [
  ['the secret is read', ({ parameters }) => namesSecret(parameters, 'token-broker/'), 'secrets-unavailable'],
  ['the sealing key is read', ({ parameters }) => namesSecret(parameters, 'token-broker-keys/'), 'issued'],
  ['the record is read', ({ operation }) => operation === 'GetItem', 'issued'],
  ['the lease is taken', (call) => writes(call, ':owner'), 'issued'],
  ['the token is published', (call) => writes(call, 'sealedToken'), 'issued'],
  ['a rejection is recorded', (call) => writes(call, 'ADD'), 'credential-rejected', 401],
  ['a pause is recorded', (call) => writes(call, 'pauseProblem'), 'token-endpoint-unavailable', 503],
  ['anything is asked of DynamoDB', ({ operation }) => /Item$/.test(operation), 'issued'],
];

/** Ways in which AWS, or a server that pretends to be AWS, can repeat everything. */
const ECHOES: readonly (readonly [
  name: string,
  answer: (response: ServerResponse, echo: string, marks: Marks) => void,
])[] = [
  [
    'refuses',
    (response, echo) =>
      answer(response, 400, { __type: 'AccessDeniedException', Message: echo, message: echo, More: echo }),
  ],
  ['throttles', (response, echo) => answer(response, 400, { __type: 'ThrottlingException', Message: echo })],
  ['fails', (response, echo) => answer(response, 500, { __type: 'InternalServiceError', message: echo })],
  [
    'names an error by the secret',
    (response, _, { secret }) => answer(response, 400, { __type: secret, code: secret }),
  ],
  [
    'names an error by the secret, in a header',
    (response, _, { secret }) => response.setHeader('x-amzn-errortype', secret) && answer(response, 400, {}),
  ],
  [
    'names a request by the secret',
    (response, echo, { secret }) =>
      response.setHeader('x-amzn-requestid', secret) && answer(response, 400, { __type: 'X', message: echo }),
  ],
  ['breaks off', (response, echo) => response.writeHead(200, TYPE).end(`{"SecretString":"${echo}`)],
  ['goes on behind the end', (response, echo) => response.writeHead(200, TYPE).end(`{"SecretString":"x"}${echo}`)],
  [
    'hangs up',
    (response, echo) =>
      response.writeHead(200, { ...TYPE, 'content-length': 9_999 }).write(echo, () => response.destroy()),
  ],
  [
    'answers with a page',
    (response, echo) => response.writeHead(502, echo, { 'content-type': 'text/html' }).end(`<html>${echo}`),
  ],
  [
    'sends elsewhere',
    (response, echo) => response.writeHead(301, { location: `https://example.com/?${echo}` }).end(echo),
  ],
  [
    'answers with something else',
    (response, echo, { secret }) =>
      answer(response, 200, {
        VersionId: { [secret]: 1 },
        SecretString: [echo],
        Item: { pair: { S: echo } },
        Attributes: { pair: { S: echo } },
      }),
  ],
];

/** Secrets that cannot be used, or hardly. */
const SECRETS: readonly (readonly [what: string, secret: (marks: Marks) => string | Uint8Array, outcome?: Outcome])[] =
  [
    ['JSON that breaks off', (marks) => credentialOf(marks.clientId, marks.secret).slice(0, -2)],
    ['JSON that breaks off in the secret', (marks) => credentialOf(marks.clientId, marks.secret).slice(0, -9)],
    ['JSON with something behind it', (marks) => `${credentialOf(marks.clientId, marks.secret)}${marks.secret}`],
    ['JSON with a missing quote', ({ clientId, secret }) => `{"client_id":${clientId}","secret":"${secret}"}`],
    ['JSON with a secret without quotes', ({ clientId, secret }) => `{"client_id":"${clientId}","secret":${secret}}`],
    ['JSON with single quotes', ({ clientId, secret }) => `{'client_id':'${clientId}','secret':'${secret}'}`],
    ['JSON in JSON', (marks) => JSON.stringify(credentialOf(marks.clientId, marks.secret))],
    ['a list', ({ clientId, secret }) => JSON.stringify([clientId, secret])],
    ['the bare secret', ({ secret }) => secret],
    ['the Basic value', (marks) => basicOf(marks)],
    ['the form of an environment file', ({ clientId, secret }) => `client_id=${clientId}\nsecret=${secret}`],
    ['YAML', ({ clientId, secret }) => `client_id: ${clientId}\nsecret: ${secret}`],
    ['bytes', ({ secret }) => Buffer.from(secret), 'credential-malformed'],
    ['the secret as a name', ({ clientId, secret }) => JSON.stringify({ [clientId]: secret, [secret]: clientId })],
    ['the secret as a list', ({ clientId, secret }) => JSON.stringify({ client_id: clientId, secret: [secret] })],
    [
      'the secret as an object',
      ({ clientId, secret }) => JSON.stringify({ client_id: clientId, secret: { [secret]: 1 } }),
    ],
    ['a client id that is a list', ({ clientId, secret }) => JSON.stringify({ client_id: [clientId], secret })],
    [
      'two secrets that differ',
      ({ clientId, secret }) => JSON.stringify({ client_id: clientId, secret, password: `${secret}2` }),
    ],
    [
      'services that are a text',
      ({ clientId, secret }) => JSON.stringify({ client_id: clientId, secret, services: secret }),
    ],
    [
      'a service that is a text',
      ({ clientId, secret }) =>
        JSON.stringify({ client_id: clientId, secret, services: { 'customer-insights': secret } }),
    ],
    [
      'a service with half of a credential',
      ({ clientId }) => JSON.stringify({ services: { 'customer-insights': { client_id: clientId } } }),
    ],
    ['a line break in the secret', ({ clientId, secret }) => credentialOf(clientId, `${secret}\r\nx: ${secret}`)],
    ['NUL in the secret', ({ clientId, secret }) => credentialOf(clientId, `${secret}\u0000`)],
    ['a line break in the client id', ({ clientId, secret }) => credentialOf(`${clientId}\n`, secret)],
    ['a colon in the client id', ({ clientId, secret }) => credentialOf(`${clientId}:`, secret)],
    ['half a character in the secret', ({ clientId, secret }) => credentialOf(clientId, `${secret}\ud800`)],
    ['a secret of 5 kB', ({ clientId, secret }) => credentialOf(clientId, secret.repeat(200))],
    ['an empty secret', ({ clientId }) => credentialOf(clientId, '')],
    ['letters of all alphabets', ({ clientId, secret }) => credentialOf(`${clientId}é漢`, `${secret}é漢😀`), 'issued'],
    ['a byte order mark', (marks) => `\ufeff${credentialOf(marks.clientId, marks.secret)}`],
  ];

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  let world: LeakWorld;
  beforeAll(async () => {
    world = await startLeakWorld(spelling);
  });
  afterAll(() => world.close());

  const places = PLACES.map(([place, isMeant, outcome, status = 200]) => ({ place, isMeant, outcome, status }));
  describe.each(places)('while $place', ({ isMeant, outcome, status }) => {
    const pathWith = (fault: CallFault): Path => ({
      faultOf: (call) => (isMeant(call) ? fault : undefined),
      isAlone: true,
      ...(status !== 200 && { reply: json(status, {}) }),
    });

    it.each(ECHOES)('AWS %s and repeats everything', async (_name, echo) => {
      let faults = 0;
      const fault = (response: ServerResponse) => {
        faults += 1;
        echo(response, `${echoOf(world.marks)} ${world.marks.sealingKey}`, world.marks);
      };
      await world.expectSilence(pathWith(fault), outcome);
      expect(faults).toBeGreaterThan(0);
    });

    it.each(['reset', 'lost-answer'] as const)('the network fails: %s', async (fault) => {
      await world.expectSilence(pathWith(fault), outcome);
    });
  });

  describe('a stored credential that is', () => {
    const secrets = SECRETS.map(([what, secretOf, outcome = 'credential-malformed']) => ({ what, secretOf, outcome }));
    it.each(secrets)('$what', async ({ secretOf, outcome }) => {
      await world.expectSilence({ secret: secretOf(world.marks) }, outcome);
    });
  });

  describe('a sealing key that is', () => {
    it.each<[string, (marks: Marks) => string | Uint8Array]>([
      ['too short', ({ sealingKey }) => sealingKey.slice(0, 31)],
      ['bytes', ({ sealingKey }) => Buffer.from(sealingKey)],
      ['a credential', (marks) => credentialOf(marks.clientId, marks.secret)],
      ['beyond ASCII', ({ sealingKey }) => `${sealingKey}\ud83d\ude00\u0000`],
      ['60 kB', ({ sealingKey }) => sealingKey.repeat(1_000)],
    ])('%s', async (_, keyOf) => {
      await world.expectSilence({ sealingKey: keyOf(world.marks) }, 'issued');
    });
  });
});

const TYPE = { 'content-type': 'application/x-amz-json-1.1' };

function answer(response: ServerResponse, status: number, members: object): void {
  response.writeHead(status, TYPE).end(JSON.stringify(members));
}

function namesSecret(parameters: object, prefix: string): boolean {
  return 'SecretId' in parameters && `${parameters.SecretId}`.startsWith(prefix);
}

function writes({ operation, parameters }: CallOfAws, word: string): boolean {
  return operation === 'UpdateItem' && JSON.stringify(parameters).includes(word);
}
