import { type AttributeValue, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenServiceAnswer } from '../../bin/local/token-service/answer.ts';
import { encodingsOf, findMark } from '../support/encodings.ts';
import { SESSION_TOKEN } from '../support/environment-process.ts';
import { ask, type Fleet, SERVICE, startFleet, TABLE } from './fleet.ts';

const CLIENT_ID = 'marked-client-id';
const SECRET = 'marked/secret+with=odd&"characters"';
const TOKEN = 'marked.token~with+odd/characters==';
const CREDENTIAL = JSON.stringify({ client_id: CLIENT_ID, secret: SECRET });
const ECHO = `${SECRET} ${TOKEN} Basic ${Buffer.from(`${CLIENT_ID}:${SECRET}`).toString('base64')}`;

/** Ways for secrets and tokens through the broker: what the secret of a client of that name holds, what the service answers. */
const STORIES: readonly [client: string, secret: string, status: number, answer: TokenServiceAnswer][] = [
  ['issued', CREDENTIAL, 200, { status: 200, body: JSON.stringify({ access_token: TOKEN, scope: 'all' }) }],
  ['rejected', CREDENTIAL, 424, { status: 401, headers: { 'www-authenticate': ECHO }, body: ECHO }],
  ['unusable', CREDENTIAL, 424, { status: 200, body: JSON.stringify({ said: ECHO }) }],
  ['redirected', CREDENTIAL, 424, { status: 302, headers: { location: `https://example.com/?${ECHO}` }, body: ECHO }],
  ['failing', CREDENTIAL, 503, { status: 500, headers: { 'x-echo': ECHO }, body: ECHO }],
  ['throttling', CREDENTIAL, 503, { status: 429, headers: { 'retry-after': ECHO }, body: ECHO }],
  ['no-json', `{"client_id":"${CLIENT_ID}","secret":"${SECRET}`, 424, { status: 500 }],
  ['no-header', JSON.stringify({ client_id: CLIENT_ID, secret: `${SECRET}\u0007` }), 424, { status: 500 }],
];

let fleet: Fleet;
let sealingKey = '';
let table = '';
/** Everything that the process has written, and what callers got that was no token. */
let said = '';
beforeAll(async () => {
  fleet = await startFleet({ clients: [] });
  const process = fleet.startProcess();
  for (const [client, secret, status, answer] of STORIES) {
    await fleet.storeSecret(client, secret);
    fleet.tokenService.respondWith(SERVICE, answer);
    for (const environment of [1, 2]) {
      const { body, ...answered } = await ask(process, environment, { client });
      expect({ client, status: answered.status }).toEqual({ client, status });
      if (status === 200) expect(body.access_token).toBe(TOKEN);
      else said += JSON.stringify({ body, ...answered });
    }
  }
  await process.kill();
  said += process.written();
  table = dump((await fleet.dynamodbClient.send(new ScanCommand({ TableName: TABLE }))).Items ?? []);
  const command = new GetSecretValueCommand({ SecretId: 'token-broker-keys/fleet/sealing' });
  sealingKey = (await fleet.secretsClient.send(command)).SecretString ?? '';
});
afterAll(() => fleet.close());

describe.each([
  ['the secret', () => SECRET],
  ['the token', () => TOKEN],
  ['the sealing key', () => sealingKey],
  ["the caller's session token", () => SESSION_TOKEN],
])('%s', (_name, markOf) => {
  it('is not in the table, in no encoding', () => {
    expect(markOf()).not.toBe('');
    expect(findMark(table, markOf())).toEqual([]);
  });

  it('is not in what the processes write nor in any problem, in no encoding', () => {
    expect(findMark(said, markOf())).toEqual([]);
  });
});

it('what was searched holds every story', () => {
  for (const [client] of STORIES) expect(said).toContain(`"pair":"${client}/${SERVICE}"`);
  for (const client of ['issued', 'rejected', 'unusable', 'redirected', 'failing', 'throttling']) {
    expect(table).toContain(`${client}/${SERVICE}`);
  }
});

it.each(encodingsOf(SECRET))('a secret would be found in %s', (name, encoded) => {
  expect(findMark(`before ${encoded} after`, SECRET)).toContain(name);
});

it.each(['', 'a', 'ab'])('a secret would be found in the Basic value of the client id "acme%s"', (rest) => {
  const basic = Buffer.from(`acme${rest}:${SECRET}`).toString('base64');
  expect(findMark(`Basic ${basic}`, SECRET)).not.toEqual([]);
});

/** All attributes as text; bytes as they are and in the encodings that code might print them in. */
function dump(items: readonly Readonly<Record<string, AttributeValue>>[]): string {
  const bytes = items.flatMap((item) => Object.values(item)).flatMap(({ B }) => (B ? [Buffer.from(B)] : []));
  const texts = bytes.flatMap((each) => [each.toString('latin1'), each.toString('base64'), each.toString('hex')]);
  return [JSON.stringify(items), ...texts].join('\n');
}
