import { describe, expect, it } from 'vitest';
import { parseCheckRequest, parseIssueRequest } from '../../../functions/broker/http/request.ts';
import { Problem } from '../../../functions/broker/problem.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

const read = (members: object) => parseIssueRequest('application/json', bodyOf(members));
const readCheck = (members: object) => parseCheckRequest('application/json', bodyOf(members));

describe('a request for a token', () => {
  it('counts min_ttl in seconds, and asks for nothing without it', () => {
    expect(read({ ...PAIR, min_ttl: 60 })).toEqual({ pair: PAIR, minTtlMs: 60_000, refused: undefined });
    expect(read(PAIR)).toMatchObject({ minTtlMs: 0 });
  });

  it('may ask for nothing, and for a day at most', () => {
    expect(read({ ...PAIR, min_ttl: 0 })).toMatchObject({ minTtlMs: 0 });
    expect(read({ ...PAIR, min_ttl: 86_400 })).toMatchObject({ minTtlMs: 86_400_000 });
    expect(problemOf(() => read({ ...PAIR, min_ttl: -1 }))).toBe('min_ttl: must be 0 or more.');
    expect(problemOf(() => read({ ...PAIR, min_ttl: 86_401 }))).toBe('min_ttl: must be 86400 (one day) or less.');
  });

  it('names the token that was refused by its fingerprint', () => {
    expect(read({ ...PAIR, refused: '0123456789abcdef' })).toMatchObject({ refused: '0123456789abcdef' });
  });

  it.each(['0123456789abcde', '0123456789abcdef0', 'x0123456789abcdef', '0123456789ABCDEF', 'g123456789abcdef', ''])(
    'cannot name it by %j',
    (refused) => {
      expect(problemOf(() => read({ ...PAIR, refused }))).toBe(
        'refused: must be the fingerprint of an issued token: 16 hexadecimal digits in lower case.',
      );
    },
  );

  it('is told every member that is wrong', () => {
    expect(problemOf(() => read({ client: 'acme', refused: 1, min_ttl: 0.5 }))).toBe(
      'service: is required; min_ttl: must be a whole number of seconds; refused: must be a string.',
    );
  });

  it('is told every member that is unknown', () => {
    expect(problemOf(() => read({ ...PAIR, ttl: 1, force: true }))).toBe('unknown member "ttl", "force".');
  });
});

describe('a body', () => {
  it.each([
    'application/json',
    'Application/JSON',
    ' application/json ',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json;  charset = "utf-8" ',
    'application/json; charset=us-ascii',
    'application/json; profile=x',
    'application/json; not-charset=latin1',
  ])('is read as %j', (contentType) => {
    expect(parseIssueRequest(contentType, bodyOf(PAIR))).toMatchObject({ pair: PAIR });
  });

  it.each([
    undefined,
    '',
    'text/json',
    'application/json; charset=latin1',
    'application/json;charset=utf-8-but-not-quite',
    'application/json;  charset  =  "utf-16"',
    'application/json; charset=',
    'application/json; profile=x; charset=latin1',
  ])('is not read as %j', (contentType) => {
    expect(() => parseIssueRequest(contentType, bodyOf(PAIR))).toThrow('unsupported-media-type');
  });

  it('has at most 16 KiB', () => {
    const text = JSON.stringify(PAIR).padEnd(16 * 1024);

    expect(parseIssueRequest('application/json', text)).toMatchObject({ pair: PAIR });
    expect(() => parseIssueRequest('application/json', `${text} `)).toThrow('content-too-large');
  });

  it.each([
    ['{"client":"acme","client":"globex","service":"customer-insights"}', '"client": is given more than once.'],
    ['{"client":"acme","\\u0063lient":"globex","service":"s"}', '"client": is given more than once.'],
    ['{"a":{"b":[{"c":1,"c":2}]}}', '"c": is given more than once.'],
  ])('has no member twice: %s', (text, detail) => {
    expect(problemOf(() => parseIssueRequest('application/json', text))).toBe(detail);
  });

  it('may have the same member in two objects, and the same text as name and as value', () => {
    const text = '{"client":"client","service":"service","x":[{"a":":"},{"a":"{\\"a\\":"}]}';
    expect(problemOf(() => parseIssueRequest('application/json', text))).toBe('unknown member "x".');
  });

  it('means the same as text and as bytes', () => {
    expect(parseIssueRequest('application/json', JSON.stringify(PAIR))).toEqual(read(PAIR));
  });
});

describe('a request for a check', () => {
  it('is about the version in use, unless it names another', () => {
    expect(readCheck(PAIR)).toEqual({ pair: PAIR, stage: 'AWSCURRENT' });
  });

  it.each(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'])('may be about %s', (stage) => {
    expect(readCheck({ ...PAIR, stage })).toEqual({ pair: PAIR, stage });
  });

  it.each(['', 'current', 'v1'])('cannot be about %j', (stage) => {
    expect(problemOf(() => readCheck({ ...PAIR, stage }))).toBe(
      'stage: must be AWSCURRENT, AWSPENDING or AWSPREVIOUS.',
    );
  });

  it.each([
    [{}, 'client: is required; service: is required.'],
    [{ ...PAIR, stage: null }, 'stage: must be AWSCURRENT, AWSPENDING or AWSPREVIOUS.'],
    [{ ...PAIR, min_ttl: 60 }, 'unknown member "min_ttl".'],
    [['acme'], 'the body must be an object.'],
  ])('is not %j', (members, detail) => {
    expect(problemOf(() => readCheck(members))).toBe(detail);
  });
});

function bodyOf(members: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(members));
}

function problemOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof Problem && error.type === 'invalid-request') return error.detail;
    throw error;
  }
  throw new Error('nothing was wrong');
}
