import { describe, expect, it } from 'vitest';
import { parseCheckRequest, parseIssueRequest } from '../../../../functions/broker/http/request.ts';
import { Problem } from '../../../../functions/broker/problem.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };
const NAMED = 'must be 1 to 63 letters, digits, ".", "_" or "-", and start with a letter or digit';
const FINGERPRINT_RULE = 'must be the fingerprint of an issued token: 16 hexadecimal digits in lower case';
const STAGE_RULE = 'stage: must be AWSCURRENT, AWSPENDING or AWSPREVIOUS.';

const readText = (text: string, type = 'application/json') => parseIssueRequest(type, new TextEncoder().encode(text));
const read = (members: object) => readText(JSON.stringify(members));
const readForm = (text: string) => readText(text, 'application/x-www-form-urlencoded');
const invalid = (detail: string) => new Problem('invalid-request', detail);
const readCheck = (members: object) => parseCheckRequest('application/json', JSON.stringify(members));

describe('a request for a token', () => {
  it('names its pair, and may ask for a life time in seconds and for the successor of a refused token', () => {
    expect(read(PAIR)).toEqual({ pair: PAIR, minTtlMs: 0, refused: undefined });
    const asked = { minTtlMs: 86_400_000, refused: '0123456789abcdef' };
    expect(read({ ...PAIR, min_ttl: 86_400, refused: asked.refused })).toEqual({ pair: PAIR, ...asked });
    const form = `client=42&service=customer-insights&min_ttl=86400&refused=${asked.refused}`;
    expect(readForm(form)).toEqual({ pair: { ...PAIR, client: '42' }, ...asked });
    expect(read({ ...PAIR, min_ttl: 0 })).toMatchObject({ minTtlMs: 0 });
  });

  it.each<readonly [object, string]>([
    [{ client: 1, refused: 1, min_ttl: 0.5 }, 'client: must be a string; service: is required; min_ttl: must be a'],
    [{ ...PAIR, ttl: 1, force: true }, 'unknown member "ttl", "force".'],
    ...['a/b', 'a'.repeat(64), 'acme\n', '', '-a'].map((client) => [{ ...PAIR, client }, `client: ${NAMED}.`] as const),
    [{ ...PAIR, min_ttl: -1 }, 'min_ttl: must be 0 or more.'],
    [{ ...PAIR, min_ttl: 86_401 }, 'min_ttl: must be 86400 (one day) or less.'],
    [{ ...PAIR, min_ttl: '60' }, 'min_ttl: must be a whole number of seconds.'],
    [{ ...PAIR, refused: 1 }, 'refused: must be a string.'],
    ...['0123456789abcde', '0123456789abcdef0', 'x0123456789abcdef', '0123456789ABCDEF', ''].map(
      (refused) => [{ ...PAIR, refused }, `refused: ${FINGERPRINT_RULE}.`] as const,
    ),
  ])('is refused with each wrong member and its reason: %j', (members, detail) => {
    expect(() => read(members)).toThrow(`invalid-request: ${detail}`);
  });
});

describe('a body', () => {
  it.each([
    ...['application/json', 'Application/JSON', ' application/json ', 'application/json;charset=utf-8'],
    ...['application/json;  charset = "UTF-8" ', 'application/json; charset=us-ascii', 'application/json; profile=x'],
    ...['application/json; charset=utf-8;a', 'application/json; not-charset=latin1'],
    // https://hc.apache.org/httpclient-3.x/charencodings.html, https://www.kouhan.cn/en/article/00002223
    ...['application/json; charset=ISO-8859-1', 'application/json; charset=utf8'],
  ])('is read as %j', (contentType) => {
    expect(readText(JSON.stringify(PAIR), contentType)).toMatchObject({ pair: PAIR });
  });

  it.each([
    ...[undefined, '', 'text/json', 'application/json; charset=latin1', 'application/json;charset=utf-8-but-not-quite'],
    ...['application/json;  charset  =  "utf-16"', 'application/json; charset='],
    'application/json; a=x; charset=latin1',
  ])('is not read as %j', (contentType) => {
    expect(() => parseIssueRequest(contentType, JSON.stringify(PAIR))).toThrow('unsupported-media-type');
  });

  it('has at most 16 KiB, whether it comes as text or as bytes', () => {
    const text = JSON.stringify(PAIR).padEnd(16 * 1024);
    expect(parseIssueRequest('application/json', text)).toEqual(readText(text));
    expect(() => parseIssueRequest('application/json', `${text} `)).toThrow('content-too-large');
    expect(() => readText(`${text} `)).toThrow('content-too-large');
  });

  it.each<readonly [string, string]>([
    ['', 'The body is not valid JSON.'],
    ['{"client":', 'The body is not valid JSON.'],
    ['[]', 'The body must be an object.'],
    ['null', 'The body must be an object.'],
    ['['.repeat(8_000) + ']'.repeat(8_000), 'The body must be an object.'],
    ['{"client":"acme","client":"globex","service":"customer-insights"}', '"client": appears more than once.'],
    ['{"client":"acme","\\u0063lient":"globex","service":"s"}', '"client": appears more than once.'],
    ['{"a":{"b":[{"c":1,"c":2}]}}', '"c": appears more than once.'],
    ['{"client":"client","service":"service","x":[{"a":":"},{"a":"{\\"a\\":"}]}', 'unknown member "x".'],
    ['{"client":"a","service":"s","__proto__":{}}', 'unknown member "__proto__".'],
    ...['x'.repeat(33), 'Se9ZpR4Se9ZpR4', 'two words', 'odd-words'].map(
      (name) => [JSON.stringify({ ...PAIR, [name]: 1 }), 'unknown member whose name is not shown.'] as const,
    ),
  ])('is no request when it is JSON like this (%#)', (text, detail) => {
    expect(() => readText(text)).toThrow(invalid(detail));
  });

  it.each([
    ['client=a&client=b&service=s', '"client": appears more than once.'],
    ['client=a&service=s&__proto__=1', 'unknown member "__proto__".'],
    ['client=a&service=s&min_ttl=1e3', 'min_ttl: must be a whole number of seconds.'],
    ['Se9ZpR4Se9ZpR4&Se9ZpR4Se9ZpR4', 'whose name is not shown: appears more than once.'],
  ])('is no request when it is a form like %s', (text, detail) => {
    expect(() => readForm(text)).toThrow(invalid(detail));
  });

  it('is no request when it is not UTF-8', () => {
    const bytes = new Uint8Array([0x22, 0xff, 0x22]);
    expect(() => parseIssueRequest('application/json', bytes)).toThrow(invalid('The body is not valid UTF-8.'));
  });
});

describe('a request for a check', () => {
  it.each([undefined, 'AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'])('may be about %s', (stage) => {
    expect(readCheck({ ...PAIR, stage })).toEqual({ pair: PAIR, stage: stage ?? 'AWSCURRENT' });
  });

  it.each<readonly [object, string]>([
    [{}, 'client: is required; service: is required.'],
    ...['', 'current', null].map((stage) => [{ ...PAIR, stage }, STAGE_RULE] as const),
    [{ ...PAIR, min_ttl: 60 }, 'unknown member "min_ttl".'],
  ])('is not %j', (members, detail) => {
    expect(() => readCheck(members)).toThrow(invalid(detail));
  });
});
