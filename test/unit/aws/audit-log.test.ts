import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAuditLog } from '../../../functions/aws/log/audit-log.ts';
import { type AuditRecord, newTrace } from '../../../functions/broker/audit.ts';
import { BILLING, START } from '../../support/example.ts';

const ISSUED: AuditRecord = {
  requestId: 'request-1',
  operation: 'token',
  outcome: 'issued',
  milliseconds: 12,
  caller: BILLING,
  pair: { client: 'acme', service: 'customer-insights' },
  cache: 'none',
  fingerprint: '0123456789abcdef',
  credentialVersion: 'version-1',
  expirySource: 'response',
  trace: { tokenRequests: 1, warnings: new Set(['secret-stale']) },
};

const DENIED: AuditRecord = { requestId: 'request-2', outcome: 'access-denied', milliseconds: 1, trace: newTrace() };

/** The text that the log writes for one record. */
function written(record: AuditRecord, version?: string): string {
  const texts: string[] = [];
  const audit = createAuditLog({
    environment: 'prod',
    version,
    services: new Set(['customer-insights']),
    now: () => START,
    write: (text) => void texts.push(text),
  });
  audit(record);
  return texts.join('');
}

/** What CloudWatch reads of a line. */
const EMF = z.looseObject({
  _aws: z.strictObject({
    Timestamp: z.int(),
    CloudWatchMetrics: z.array(
      z.strictObject({
        Namespace: z.string().regex(/^[\w./#:-]{1,255}$/),
        Dimensions: z.array(z.array(z.string()).max(30)).min(1),
        Metrics: z.array(z.strictObject({ Name: z.string(), Unit: z.enum(['Count', 'Milliseconds']) })).max(100),
      }),
    ),
  }),
});

describe('the audit line', () => {
  it('tells who got what, where it came from and how it went', () => {
    expect(JSON.parse(written(ISSUED))).toMatchObject({
      environment: 'prod',
      service: 'customer-insights',
      outcome: 'issued',
      requestId: 'request-1',
      operation: 'token',
      caller: 'aws:111111111111:billing/run-1',
      pair: 'acme/customer-insights',
      cache: 'none',
      fingerprint: '0123456789abcdef',
      credentialVersion: 'version-1',
      expirySource: 'response',
      warnings: ['secret-stale'],
      Requests: 1,
      Duration: 12,
      CacheHits: 0,
      TokenRequests: 1,
    });
  });

  it.each([
    ['an issued token', ISSUED],
    ['a denial of an unsigned request', DENIED],
    ['a session with a line break', { ...ISSUED, caller: { ...BILLING, session: 'a\nb\r\u2028c' } }],
    ['a bug whose trace has many lines', { ...DENIED, outcome: 'internal', cause: new Error('a\nb') } as const],
  ])('is one line of JSON for %s', (_, record) => {
    expect(written(record)).toMatch(/^\{[^\n\r]*\}\n$/);
  });

  it.each([
    ['an issued token', ISSUED],
    ['a denial of an unsigned request', DENIED],
  ])('is a document of the embedded metric format for %s', (_, record) => {
    const { _aws, ...members } = EMF.parse(JSON.parse(written(record)));

    expect(_aws.Timestamp).toBe(START);
    for (const { Dimensions, Metrics } of _aws.CloudWatchMetrics) {
      for (const dimension of Dimensions.flat()) {
        expect(['environment', 'service', 'outcome']).toContain(dimension);
        expect(members[dimension]).toMatch(/^[\w-]{1,64}$/);
      }
      for (const { Name } of Metrics) expect(members[Name], Name).toEqual(expect.any(Number));
    }
  });

  it.each([
    ['made up by the caller', { client: 'acme', service: 'made-up' }],
    ['an inherited name', { client: 'acme', service: 'constructor' }],
    ['not known, because the request was not read', undefined],
  ])('has "none" as dimension for a service that is %s', (_, pair) => {
    expect(JSON.parse(written({ ...DENIED, pair }))).toMatchObject({
      service: 'none',
      ...(pair && { pair: `${pair.client}/${pair.service}` }),
    });
  });

  it('counts a bug of a version apart, so that a new one can be taken back, and nothing else of it', () => {
    const setsOf = (record: AuditRecord) => {
      const { _aws, version } = EMF.parse(JSON.parse(written(record, '7')));
      return { version, sets: _aws.CloudWatchMetrics.flatMap(({ Dimensions }) => Dimensions.map(String)) };
    };
    const byVersion = 'environment,outcome,version';

    expect(setsOf({ ...DENIED, outcome: 'internal' })).toMatchObject({
      version: '7',
      sets: expect.arrayContaining([byVersion]),
    });
    expect(setsOf(ISSUED)).toMatchObject({ version: '7', sets: expect.not.arrayContaining([byVersion]) });
  });

  it('counts what the caches answered', () => {
    const caches = (['memory', 'shared', 'none', undefined] as const).map((cache) => {
      const { CacheHits } = JSON.parse(written({ ...ISSUED, cache }));
      return CacheHits;
    });
    expect(caches).toEqual([1, 1, 0, 0]);
  });
});

describe('the cause of a problem', () => {
  const causeOf = (cause: unknown, outcome: AuditRecord['outcome'] = 'internal') =>
    JSON.parse(written({ ...DENIED, outcome, cause })).cause;

  it('is shown by name and place, without its message', () => {
    const cause = new TypeError('marked-secret', { cause: new Error('marked-cause') });

    expect(causeOf(cause)).toEqual({
      name: 'TypeError',
      at: expect.arrayContaining([expect.stringMatching(/^at .*audit-log\.test\.ts:\d+:\d+/)]),
    });
    expect(written({ ...DENIED, cause })).not.toContain('marked');
  });

  it('is shown whole when the rules gave it as a word', () => {
    expect(causeOf('AccessDeniedException', 'secrets-unavailable')).toBe('AccessDeniedException');
  });

  it.each([[new Error('marked')], [{ token: 'marked' }], [7], [null]])(
    'is left out when it is something else that the rules gave: %j',
    (cause) => {
      expect(causeOf(cause, 'secrets-unavailable')).toBeUndefined();
    },
  );

  it.each([['marked-secret'], [{ token: 'marked' }], [['marked']], [7], [null], [undefined]])(
    'is shown by nothing but its type when what was thrown is no error: %j',
    (cause) => {
      expect(causeOf(cause)).toEqual({ name: typeof cause, at: [] });
    },
  );
});
