import { describe, expect, it } from 'vitest';
import { parseCheckRequest } from '../../../functions/broker/http/check-request.ts';
import { createIssueRequestReader, parseIssueRequest } from '../../../functions/broker/http/issue-request.ts';
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

  it('is told every member that nobody knows', () => {
    expect(problemOf(() => read({ ...PAIR, ttl: 1, force: true }))).toBe('unknown member "ttl", "force".');
  });
});

describe('a request in words that were read before', () => {
  const JSON_TYPE = 'application/json';
  const text = JSON.stringify(PAIR);

  it('is not read again', () => {
    const readRequest = createIssueRequestReader();
    const first = readRequest(JSON_TYPE, text);

    expect(first).toEqual({ pair: PAIR, minTtlMs: 0, refused: undefined });
    expect(readRequest(JSON_TYPE, text)).toBe(first);
  });

  it.each([
    ['another body', JSON_TYPE, JSON.stringify({ ...PAIR, client: 'globex' }), 'globex'],
    ['bytes', JSON_TYPE, bodyOf(PAIR), 'acme'],
    ['another way to write JSON', `${JSON_TYPE}; charset=utf-8`, text, 'acme'],
  ])('is one with the same words only: not with %s', (_, contentType, body, client) => {
    const readRequest = createIssueRequestReader();
    const first = readRequest(JSON_TYPE, text);
    const second = readRequest(contentType, body);

    expect(second).not.toBe(first);
    expect(second.pair.client).toBe(client);
  });

  it.each([
    ['another type', 'text/plain', text],
    ['no type', undefined, text],
    ['a type that holds the beginning of the body', `${JSON_TYPE}{`, text.slice(1)],
    ['a body that begins with the type', '', JSON_TYPE + text],
  ])('is refused with %s', (_, contentType, body) => {
    const readRequest = createIssueRequestReader();
    readRequest(JSON_TYPE, text);

    expect(() => readRequest(contentType, body)).toThrow('unsupported-media-type');
  });

  it('is wrong each time when it was wrong the first time', () => {
    const readRequest = createIssueRequestReader();
    for (let n = 0; n < 2; n += 1) expect(() => readRequest(JSON_TYPE, '{}')).toThrow('invalid-request');
  });

  it('is read again when it is long, so that nobody fills the memory', () => {
    const readRequest = createIssueRequestReader();
    const long = text.padEnd(301 - JSON_TYPE.length);
    const short = long.slice(0, -1);

    expect(readRequest(JSON_TYPE, long)).not.toBe(readRequest(JSON_TYPE, long));
    expect(readRequest(JSON_TYPE, short)).toBe(readRequest(JSON_TYPE, short));
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
