import { describe, expect, it } from 'vitest';
import { flawOf, looksLikeToken, withoutScheme } from '../../../functions/broker/token-response/token-text.ts';

describe('a token', () => {
  it.each([
    ['Bearer tok-1', 'tok-1'],
    ['bearer   tok-1', 'tok-1'],
    ['BEARER tok-1', 'tok-1'],
    ['Bearertok-1', 'Bearertok-1'],
    ['tok-1 Bearer x', 'tok-1 Bearer x'],
    ['Basic tok-1', 'Basic tok-1'],
  ])('of %j is %j', (text, token) => {
    expect(withoutScheme(text)).toBe(token);
  });

  it.each<readonly [string, string | undefined]>([
    ['', 'is empty'],
    ['t', undefined],
    ['!~', undefined],
    ['t'.repeat(65_536), undefined],
    ['t'.repeat(65_537), 'is longer than 64 KiB'],
    ...['a b', ' a', 'a ', 'a\n', '\u007f', 'ä', '\0'].map(
      (text) => [text, 'holds a space, a control character or one beyond ASCII'] as const,
    ),
  ])('has 1 to 65 536 visible characters of ASCII (%#)', (text, flaw) => {
    expect(flawOf(text)).toBe(flaw);
  });
});

describe('a text that nothing calls a token', () => {
  it.each([
    ['of eight characters with a digit', 'abcdefg1'],
    ['of sixteen letters', 'abcdefghijklmnop'],
    ['of base64', 'QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
    ['of 40 characters that hold a word of failures by chance', `error${'x'.repeat(34)}1`],
    ['of a short JWT that holds such a word by chance', `${base64url('{"alg":""}')}.${base64url('{}')}.error`],
    ['of other characters that tokens have', 'v1.a~b+c/d=e:f|g!h*i$j@k-l_m'],
  ])('is one if it is a word %s', (_what, text) => {
    expect(looksLikeToken(text)).toBe(true);
  });

  it.each([
    ['of seven characters', 'abcdef1'],
    ['of fifteen letters', 'abcdefghijklmno'],
    ['of digits', '1234567890123456'],
    ['with a space', 'abcdefgh 12345678'],
    ['with a space before it', ' abcdefgh12345678'],
    ['with a line break after it', 'abcdefgh12345678\n'],
    ['of other characters', 'abcdefgh{12345678}'],
    ['of 39 characters that tells of a failure', `error${'x'.repeat(33)}1`],
    ...['error', 'failed', 'failure', 'invalid', 'denied', 'unauthori', 'forbidden', 'exception'].map(telling),
    ...['unavailable', 'expired', 'notfound', 'not_found', 'Not.Found', 'UNAUTHORIZED'].map(telling),
  ])('is none if it is a word %s', (_what, text) => {
    expect(looksLikeToken(text)).toBe(false);
  });
});

function telling(word: string): [string, string] {
  return [`that tells "${word}"`, `request_1_${word}_abcdef`];
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
