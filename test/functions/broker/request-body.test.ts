import { describe, expect, it } from 'vitest';
import { parseBody } from '../../../functions/broker/http/request-body.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

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
    expect(parseBody(contentType, bytes('{"client":"acme"}'))).toEqual({ client: 'acme' });
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
    expect(() => parseBody(contentType, bytes('{}'))).toThrow('unsupported-media-type');
  });

  it('has at most 16 KiB', () => {
    const text = `"${'x'.repeat(16 * 1024 - 2)}"`;

    expect(parseBody('application/json', bytes(text))).toHaveLength(16 * 1024 - 2);
    expect(() => parseBody('application/json', bytes(`${text} `))).toThrow('content-too-large');
  });
});
