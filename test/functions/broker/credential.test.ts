import { expect, it } from 'vitest';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';

const SERVICE = 'customer-insights';

function parse(secret: unknown, service = SERVICE) {
  return parseText(JSON.stringify(secret), service);
}

function parseText(text: string, service = SERVICE) {
  const { clientId, secret } = parseCredential(new Redacted(text), service);
  return [clientId.reveal(), secret.reveal()];
}

it.each([
  ['client_id and secret', { client_id: 'id', secret: 's' }],
  ['client_id and client_secret', { client_id: 'id', client_secret: 's' }],
  ['username and password', { username: 'id', password: 's' }],
  ['the same value under two names', { client_id: 'id', secret: 's', client_secret: 's' }],
  ['members that a rotation tool added', { username: 'id', password: 's', engine: 'none', port: 1 }],
])('reads %s', (_what, secret) => {
  expect(parse(secret)).toEqual(['id', 's']);
});

it('keeps spaces, also at the ends, and everything beyond ASCII', () => {
  expect(parse({ client_id: 'a b', secret: ' pä€🔑 ' })).toEqual(['a b', ' pä€🔑 ']);
});

it('lets the entry of a service win for that service only', () => {
  const secret = {
    client_id: 'id',
    secret: 's',
    services: { 'customer-insights': { username: 'own', password: 'o' } },
  };

  expect(parse(secret)).toEqual(['own', 'o']);
  expect(parse(secret, 'merchant-payment-cleansing')).toEqual(['id', 's']);
});

it('takes from the top level what the entry of a service leaves out', () => {
  expect(parse({ client_id: 'id', secret: 's', services: { [SERVICE]: { secret: 'o' } } })).toEqual(['id', 'o']);
});

it('needs no top level when the entry of the service is complete', () => {
  expect(parse({ services: { [SERVICE]: { client_id: 'own', secret: 'o' } } })).toEqual(['own', 'o']);
});

it('does not let the entry of one service spoil the others', () => {
  expect(parse({ client_id: 'id', secret: 's', services: { other: 7 } })).toEqual(['id', 's']);
});

it.each(['constructor', 'toString'])('finds no entry for a service called %s where nobody put one', (service) => {
  expect(parse({ client_id: 'id', secret: 's', services: {} }, service)).toEqual(['id', 's']);
});

it.each([
  ['plain text', 'hunter2hunter2', 'not a JSON object'],
  ['nothing', '', 'not a JSON object'],
  ['an array', '["hunter2hunter2"]', 'not a JSON object'],
  ['null', 'null', 'not a JSON object'],
  ['broken JSON', '{"client_id":"id","secret":"hunter2hunter2', 'not a JSON object'],
])('refuses %s', (_what, text, said) => {
  expect(() => parseText(text)).toThrow(expect.objectContaining({ type: 'credential-malformed' }));
  expect(() => parseText(text)).toThrow(said);
});

it.each([
  [{ secret: 'hunter2' }, 'client_id is missing'],
  [{ client_id: 'id-1234', Secret: 'hunter2' }, 'secret is missing'],
  [{ client_id: 12345, secret: 'hunter2' }, 'client_id is not a string'],
  [{ client_id: 'id-1234', secret: null }, 'secret is not a string'],
  [{ client_id: '', secret: 'hunter2' }, 'client_id is empty'],
  [{ client_id: 'id-1234', password: '' }, 'password is empty'],
  [{ client_id: 'id-1234', client_secret: 'hunter2\n' }, 'client_secret holds a control character'],
  [{ client_id: 'id-1234\t', secret: 'hunter2' }, 'client_id holds a control character'],
  [{ client_id: 'id-1234', secret: 'hunter2\u0000' }, 'secret holds a control character'],
  [{ client_id: 'id-1234', secret: 'hunter2\u0085' }, 'secret holds a control character'],
  [{ client_id: 'id-1234', secret: 'hunter2\ud800' }, 'secret is not well-formed Unicode'],
  [{ client_id: 'id-1234', secret: 'é'.repeat(2_049) }, 'secret is longer than 4096 bytes'],
  [{ client_id: 'id-1234', secret: 'hunter2', password: 'hunter3' }, 'secret and password contradict each other'],
  [{ client_id: 'id-1234', username: 'id-5678', secret: 'x' }, 'client_id and username contradict each other'],
  [{ services: ['hunter2'] }, 'services is not an object'],
  [{ services: { [SERVICE]: 'hunter2' } }, `services.${SERVICE} is not an object`],
  [{ client_id: 'id-1234', services: { [SERVICE]: { secret: '' } } }, `services.${SERVICE}.secret is empty`],
])('names the member that is wrong and none of the content: %j', (secret, said) => {
  const { type, message, detail, cause } = problemOf(secret);

  expect(type).toBe('credential-malformed');
  expect(detail).toContain(said);
  expect(message + detail).not.toMatch(/hunter|id-1234|id-5678|12345/);
  expect(cause).toBeUndefined();
});

it('takes a secret of exactly 4 KiB', () => {
  expect(parse({ client_id: 'id', secret: 'é'.repeat(2_048) })[1]).toHaveLength(2_048);
});

function problemOf(secret: unknown): Problem {
  try {
    parse(secret);
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error('There was no problem.');
}
