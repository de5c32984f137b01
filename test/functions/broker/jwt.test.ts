import { describe, expect, it } from 'vitest';
import { readJwt } from '../../../functions/broker/token-response/expiry-value.ts';

const HEADER = { alg: 'RS256' };
const NONE = { expiresAt: undefined };

describe('the expiry of a JWT', () => {
  it.each([
    ['is in seconds', 1_767_229_200.5, 1_767_229_200_500],
    ['is in seconds below 10¹²', 999_999_999_999, 999_999_999_999_000],
    ['is in milliseconds from 10¹² on', 1e12, 1e12],
    ['may be missing', undefined, undefined],
    ['is no text', '2026-01-01T00:00:00Z', undefined],
    ['is nothing else', [1_767_225_600], undefined],
  ])('%s', (_what, exp, expiresAt) => {
    expect(readJwt(jwtOf(HEADER, { exp }))).toEqual({ expiresAt });
  });

  it('is not endless', () => {
    expect(readJwt(`${encoded(HEADER)}.${base64url('{"exp":1e999}')}.s`)).toEqual(NONE);
  });

  it('is found although the signature is empty', () => {
    expect(readJwt(`${encoded(HEADER)}.${encoded({})}.`)).toEqual(NONE);
  });

  it('is found whatever characters base64url needs', () => {
    const token = jwtOf({ ...HEADER, kid: '~~~???' }, { '~~~': '???', '~~': '>>>', exp: 1_767_229_200 });
    expect(token).toMatch(/-.*_/);
    expect(readJwt(token)?.expiresAt).toBe(1_767_229_200_000);
  });

  it('is found among characters beyond ASCII', () => {
    expect(readJwt(jwtOf(HEADER, { name: 'Zoë', exp: 1_767_229_200 }))?.expiresAt).toBe(1_767_229_200_000);
  });
});

describe('no JWT', () => {
  const header = encoded(HEADER);
  const claims = encoded({ exp: 1_767_229_200 });

  it.each([
    ['is a text without dots', header],
    ['has no signature', `${header}.${claims}`],
    ['has four parts', `${header}.${claims}.s.s`],
    ['has five parts, as one that is encrypted', `${header}.${claims}.s.s.s`],
    ['has no header', `.${claims}.s`],
    ['has no claims', `${header}..s`],
    ['names no algorithm', `${encoded({ typ: 'JWT' })}.${claims}.s`],
    ['names an algorithm that is no text', `${encoded({ alg: 256 })}.${claims}.s`],
    ['has a header that is no JSON', `${base64url('RS256')}.${claims}.s`],
    ['has claims that are no JSON', `${header}.${base64url('exp')}.s`],
    ['has claims that are no object', `${header}.${encoded([1_767_229_200])}.s`],
    ['has claims that are null', `${header}.${encoded(null)}.s`],
    ['has claims that are no base64', `${header}.{"exp":1767229200}.s`],
  ])('%s', (_what, text) => {
    expect(readJwt(text)).toBeUndefined();
  });
});

function jwtOf(header: object, claims: object): string {
  return `${encoded(header)}.${encoded(claims)}.c2lnbmF0dXJl`;
}

function encoded(value: unknown): string {
  return base64url(JSON.stringify(value));
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
