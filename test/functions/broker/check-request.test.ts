import { describe, expect, it } from 'vitest';
import { parseCheckRequest } from '../../../functions/broker/http/check-request.ts';
import { Problem } from '../../../functions/broker/problem.ts';

const MEMBERS = { client: 'acme', service: 'customer-insights' };

describe('a request to check', () => {
  it('is about the version in use when it names no stage', () => {
    expect(parse(MEMBERS)).toEqual({ pair: MEMBERS, stage: 'AWSCURRENT' });
  });

  it.each(['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'])('may be about %s', (stage) => {
    expect(parse({ ...MEMBERS, stage })).toEqual({ pair: MEMBERS, stage });
  });

  it.each([
    [{}, 'client: is required; service: is required.'],
    [{ ...MEMBERS, stage: 'current' }, 'stage: must be AWSCURRENT, AWSPENDING or AWSPREVIOUS.'],
    [{ ...MEMBERS, stage: null }, 'stage: must be AWSCURRENT, AWSPENDING or AWSPREVIOUS.'],
    [{ ...MEMBERS, min_ttl: 60 }, 'unknown member "min_ttl".'],
    [['acme'], 'the body must be an object.'],
  ])('is not %j', (members, detail) => {
    expect(() => parse(members)).toThrow(new Problem('invalid-request', detail));
  });
});

function parse(members: unknown) {
  return parseCheckRequest('application/json', new TextEncoder().encode(JSON.stringify(members)));
}
