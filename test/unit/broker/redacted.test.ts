import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isPlainWord } from '../../../functions/broker/plain-word.ts';
import { Redacted, shows } from '../../../functions/broker/redacted.ts';

it('a redacted text is no more than a mark', () => {
  const value = new Redacted('marked-secret');
  const shown = [`${value}`, JSON.parse(JSON.stringify(value)), inspect(value, { showHidden: true })];
  expect(shown).toEqual(Array(3).fill('[redacted]'));
});

/** The forms of a secret that an answer can show: token-response/read-echo. */
it('a secret of eight characters shows within other words, a shorter one only where nothing else stands', () => {
  expect([shows('a12345678', '12345678'), shows('a1234567', '1234567')]).toEqual([true, false]);
  expect([shows('abc', 'abc'), shows({ a: 'abc' }, 'abc'), shows(123, '123')]).toEqual([true, true, true]);
});

it.each([
  [[1, ['a12345678']], true],
  [{ a: { b: '12345678' } }, true],
  [{ x12345678: 1 }, true],
  [{ a: '1234', b: '5678' }, false],
  [null, false],
])('%j shows a secret in a name or a value, however deep: %s', (value, shown) => {
  expect(shows(value, '12345678')).toBe(shown);
});

describe('a plain word', () => {
  it.each([
    ...['a', '0', 'id', 'eTag', 'x', 'URL', 'expiresIn', 'expires_in', 'access-token', 'data.token', 'oauth2_token'],
    ...['sessionID', 'OAuthToken', 'address1', 'address10', '10_year_plan', 'ECONNRESET', 'ERR_HTTP2_STREAM_ERROR'],
    ...['EAI_AGAIN', 'E2BIG', 'EPIPE'],
    ...['AbortError', 'TimeoutError', 'AccessDeniedException', 'KMSInvalidStateException', 'OutOfTime'],
    ...['UnrecognizedClientException', 'ERR_TLS_CERT_ALTNAME_INVALID', 'InvalidClientTokenId', 'TypeError'],
  ])('"%s" is a word', (text) => expect(isPlainWord(text, 64)).toBe(true));

  it.each([
    ...['', ' ', 'two words', 'a:b', 'a/b', '"', 'é', 'word\n', '\u0000'],
    ...['Se9ZpR4S', 'a1b2c3', '123456', 'deadbeef01234567', 'AKIDEXAMPLE123', 'QzXkRwPvTnMa', 'xQzRkW'],
    ...['abcdEf1gh2', 'x-Q-z-R-k', 'abc_1def_ghi'],
    ...['eyJhbGciOiJub25lIn0', 'hunter2hunter22', 'wJalrXUtnFEMIK7MDENGbPxRfiCY', 'cGFzc3dvcmQxMjM'],
  ])('"%s" is none', (text) => expect(isPlainWord(text, 64)).toBe(false));

  it('a text that is longer than allowed is none', () => {
    const lengths = [isPlainWord('a'.repeat(32)), isPlainWord('a'.repeat(33)), isPlainWord('a'.repeat(64), 64)];
    expect(lengths).toEqual([true, false, true]);
  });
});
