import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Call as CallOfAws } from '../support/dynamodb.ts';
import { echoOf, type Marks, SPELLINGS } from './leak-marks.ts';
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

type Echo = readonly [name: string, answer: (response: ServerResponse, echo: string, marks: Marks) => void];

/** Ways in which AWS, or a server that pretends to be AWS, can repeat everything. */
const ECHOES: readonly Echo[] = [
  ['refuses', (to, echo) => answer(to, 400, { __type: 'AccessDeniedException', Message: echo, message: echo })],
  ['fails', (to, echo) => answer(to, 500, { __type: 'InternalServiceError', message: echo })],
  ['names an error by the secret', (to, _, { secret }) => answer(to, 400, { __type: secret, code: secret })],
  [
    'names an error and a request by a mark, in headers',
    (to, _, { secret, clientId }) =>
      answer(to.setHeader('x-amzn-errortype', clientId).setHeader('x-amzn-requestid', secret), 400, {}),
  ],
  ['breaks off', (to, echo) => to.writeHead(200, TYPE).end(`{"SecretString":"${echo}`)],
  ['goes on behind the end', (to, echo) => to.writeHead(200, TYPE).end(`{"SecretString":"x"}${echo}`)],
  ['hangs up', (to, echo) => to.writeHead(200, { ...TYPE, 'content-length': 9_999 }).write(echo, () => to.destroy())],
  ['answers with a page', (to, echo) => to.writeHead(502, echo, { 'content-type': 'text/html' }).end(`<html>${echo}`)],
  ['sends elsewhere', (to, echo) => to.writeHead(301, { location: `https://example.com/?${echo}` }).end(echo)],
  [
    'answers with something else',
    (to, echo, { secret }) => {
      const item = { pair: { S: echo } };
      answer(to, 200, { VersionId: { [secret]: 1 }, SecretString: [echo], Item: item, Attributes: item });
    },
  ],
];

type Secret = readonly [what: string, secret: (marks: Marks) => string | Uint8Array, outcome?: Outcome];

/** Secrets that cannot be used, or hardly. */
const SECRETS: readonly Secret[] = [
  ['JSON that breaks off', (marks) => credentialOf(marks.clientId, marks.secret).slice(0, -2)],
  ['JSON that breaks off in the secret', (marks) => credentialOf(marks.clientId, marks.secret).slice(0, -9)],
  ['JSON with something behind it', (marks) => `${credentialOf(marks.clientId, marks.secret)}${marks.secret}`],
  ['JSON with a secret without quotes', ({ clientId, secret }) => `{"client_id":"${clientId}","secret":${secret}}`],
  ['JSON in JSON', (marks) => JSON.stringify(credentialOf(marks.clientId, marks.secret))],
  ['a list', ({ clientId, secret }) => JSON.stringify([clientId, secret])],
  ['the bare secret', ({ secret }) => secret],
  ['the form of an environment file', ({ clientId, secret }) => `client_id=${clientId}\nsecret=${secret}`],
  ['bytes', ({ secret }) => Buffer.from(secret)],
  ['the secret as a name', ({ clientId, secret }) => JSON.stringify({ [clientId]: secret, [secret]: clientId })],
  ['lists and objects', ({ clientId, secret }) => JSON.stringify({ client_id: [clientId], secret: { [secret]: 1 } })],
  ['two secrets', ({ clientId: client_id, secret }) => JSON.stringify({ client_id, secret, password: `${secret}2` })],
  ['services that are a text', (marks) => withServices(marks, marks.secret)],
  ['a service that is a text', (marks) => withServices(marks, { 'customer-insights': marks.secret })],
  ['half of a credential', ({ clientId }) => JSON.stringify({ services: { 'customer-insights': { clientId } } })],
  ['a line break in the secret', ({ clientId, secret }) => credentialOf(clientId, `${secret}\r\nx: ${secret}`)],
  ['a colon in the client id', ({ clientId, secret }) => credentialOf(`${clientId}:`, secret)],
  ['half a character in the secret', ({ clientId, secret }) => credentialOf(clientId, `${secret}\ud800`)],
  ['a secret of 5 kB', ({ clientId, secret }) => credentialOf(clientId, secret.repeat(300))],
  ['letters of all alphabets', ({ clientId, secret }) => credentialOf(`${clientId}é漢`, `${secret}é漢😀`), 'issued'],
];

describe.each(SPELLINGS)('with %s marks', (spelling) => {
  let world: LeakWorld;
  beforeAll(async () => {
    world = await startLeakWorld(spelling);
  });
  afterAll(() => world.close());

  const places = PLACES.map(([place, isMeant, outcome, status = 200]) => ({ place, isMeant, outcome, status }));
  describe.each(places)('while $place', ({ isMeant, outcome, status }) => {
    it.each(ECHOES)('AWS %s and repeats everything', async (_name, echo) => {
      let faults = 0;
      const fault = (response: ServerResponse) => {
        faults += 1;
        echo(response, `${echoOf(world.marks)} ${world.marks.sealingKey}`, world.marks);
      };
      const path: Path = { faultOf: (call) => (isMeant(call) ? fault : undefined), isAlone: true };
      await world.expectSilence(status === 200 ? path : { ...path, reply: json(status, {}) }, outcome);
      expect(faults).toBeGreaterThan(0);
    });
  });

  const secrets = SECRETS.map(([what, secretOf, outcome = 'credential-malformed']) => ({ what, secretOf, outcome }));
  it.each(secrets)('a stored credential that is $what', async ({ secretOf, outcome }) => {
    await world.expectSilence({ secret: secretOf(world.marks) }, outcome);
  });

  it.each<[string, (marks: Marks) => string | Uint8Array]>([
    ['too short', ({ sealingKey }) => sealingKey.slice(0, 31)],
    ['bytes', ({ sealingKey }) => Buffer.from(sealingKey)],
    ['a credential', (marks) => credentialOf(marks.clientId, marks.secret)],
    ['beyond ASCII', ({ sealingKey }) => `${sealingKey}\ud83d\ude00\u0000`],
  ])('a sealing key that is %s', async (_, keyOf) => {
    await world.expectSilence({ sealingKey: keyOf(world.marks) }, 'issued');
  });
});

const TYPE = { 'content-type': 'application/x-amz-json-1.1' };

function answer(response: ServerResponse, status: number, members: object): void {
  response.writeHead(status, TYPE).end(JSON.stringify(members));
}

function withServices({ clientId: client_id, secret }: Marks, services: unknown): string {
  return JSON.stringify({ client_id, secret, services });
}

function namesSecret(parameters: object, prefix: string): boolean {
  return 'SecretId' in parameters && `${parameters.SecretId}`.startsWith(prefix);
}

function writes({ operation, parameters }: CallOfAws, word: string): boolean {
  return operation === 'UpdateItem' && JSON.stringify(parameters).includes(word);
}
