import { describe, expect, it } from 'vitest';
import { causeWord } from '../../../../functions/aws/calls.ts';
import { createAuditLog, createUnreadableLog, defectPlace } from '../../../../functions/aws/log/audit-log.ts';
import { type AuditRecord, newTrace } from '../../../../functions/broker/audit.ts';
import { BILLING, START } from '../../../support/example.ts';

const PLACE = /^at .*audit-log\.test\.ts:\d+:\d+\)?$/;

const ISSUED: AuditRecord = {
  ...{ requestId: 'request-1', operation: 'token', outcome: 'issued', milliseconds: 12 },
  ...{ caller: BILLING, sourceIp: '192.0.2.1', cache: 'none' },
  ...{ fingerprint: '0123456789abcdef', credentialVersion: 'version-1', expirySource: 'response' },
  pair: { client: 'acme', service: 'customer-insights' },
  trace: { tokenRequests: 1, warnings: new Set(['secret-stale']) },
};

const DENIED: AuditRecord = { requestId: 'request-2', outcome: 'access-denied', milliseconds: 1, trace: newTrace() };

const BY_SERVICE = ['environment', 'service'];
const BY_OUTCOME = ['environment', 'outcome'];
const BY_SERVICE_AND_OUTCOME = ['environment', 'service', 'outcome'];

function definition(Dimensions: readonly string[][], names: readonly string[], Unit = 'Count') {
  return { Namespace: 'TokenBroker', Dimensions, Metrics: names.map((Name) => ({ Name, Unit })) };
}

/** The text that the log writes for one record. */
function written(record: AuditRecord, version?: string, sloWithinMs?: number): string {
  const texts: string[] = [];
  const audit = createAuditLog({
    environment: 'prod',
    version,
    sloWithinMs,
    services: new Set(['customer-insights']),
    refusedRoles: new Set(['aws:111111111111:probe']),
    now: () => START,
    write: (text) => void texts.push(text),
  });
  audit(record);
  return texts.join('');
}

describe('the audit line', () => {
  it('writes in one line of JSON who got what, where it came from and how it went', () => {
    expect(written(ISSUED)).toMatch(/^\{[^\n\r]*\}\n$/);
    expect(JSON.parse(written(ISSUED))).toMatchObject({
      ...{ environment: 'prod', service: 'customer-insights', outcome: 'issued', operation: 'token', cache: 'none' },
      ...{ requestId: 'request-1', caller: 'aws:111111111111:billing/run-1', sourceIp: '192.0.2.1' },
      pair: 'acme/customer-insights',
      ...{ fingerprint: '0123456789abcdef', credentialVersion: 'version-1', expirySource: 'response' },
      ...{ warnings: ['secret-stale'], Requests: 1, Duration: 12, CacheHits: 0, TokenRequests: 1, SecretStale: 1 },
    });
  });

  it.each<[Partial<AuditRecord>, object?]>([
    [{ signer: 'arn:aws:iam::111111111111:user/alice' }],
    [{ forced: true, minTtl: 600 }],
    ...(['memory', 'shared'] as const).map((cache): [object, object] => [{ cache }, { CacheHits: 1 }]),
    ...(['none', undefined] as const).map((cache): [object, object] => [{ cache }, { CacheHits: 0 }]),
  ])('of %j contains that, or %j, and leaves out what the caller did not ask for', (changes, members = changes) => {
    expect(JSON.parse(written({ ...ISSUED, ...changes }))).toMatchObject(members);
    expect(written({ ...ISSUED, forced: false, minTtl: 0 })).not.toMatch(/"(?:signer|forced|minTtl)"/);
  });

  it('marks the refusal that the probe asks for, and neither its success nor the refusal of another role', () => {
    const probe = { partition: 'aws', account: '111111111111', role: 'probe', session: 'run-1' };
    expect(JSON.parse(written({ ...DENIED, caller: probe }))).toMatchObject({ outcome: 'access-denied', probe: true });
    for (const record of [
      { ...ISSUED, caller: probe },
      { ...DENIED, caller: { ...probe, account: '222222222222' } },
    ]) {
      expect(JSON.parse(written(record))).not.toHaveProperty('probe');
    }
  });

  it.each([
    ['made up by the caller', { client: 'acme', service: 'made-up' }],
    ['an inherited name', { client: 'acme', service: 'constructor' }],
    ['not known, because the request was not read', undefined],
  ])('has "none" as dimension for a service that is %s', (_, pair) => {
    const named = pair && { pair: `${pair.client}/${pair.service}` };
    expect(JSON.parse(written({ ...DENIED, pair }))).toMatchObject({ service: 'none', ...named });
  });

  it('defines each metric by the dimensions that alarms and the dashboard ask for', () => {
    const { _aws, version } = JSON.parse(written({ ...ISSUED, outcome: 'internal' }, '7'));
    expect(version).toBe('7');
    expect(_aws.CloudWatchMetrics).toEqual([
      definition([BY_OUTCOME, BY_SERVICE_AND_OUTCOME], ['Requests']),
      definition([BY_SERVICE_AND_OUTCOME], ['Duration'], 'Milliseconds'),
      definition([BY_SERVICE], ['CacheHits', 'TokenRequests']),
      definition([[...BY_OUTCOME, 'version']], ['Requests']),
      definition([['environment'], BY_SERVICE], ['SecretStale']),
    ]);
    const bug = { ...DENIED, outcome: 'internal' } as const;
    const isolated = { ...DENIED, outcome: 'table-unavailable' } as const;
    for (const [record, asVersion, count] of [
      [DENIED, '7', 3],
      [bug, '7', 4],
      [isolated, '7', 4],
      [bug, undefined, 3],
    ] as const) {
      const line = JSON.parse(written(record, asVersion));
      expect(line._aws.CloudWatchMetrics).toEqual(_aws.CloudWatchMetrics.slice(0, count));
    }
  });

  it.each<[record: Partial<AuditRecord>, missed: number | undefined]>([
    [{ milliseconds: 1_000 }, 0],
    [{ milliseconds: 1_001 }, 1],
    [{ outcome: 'internal' }, 1],
    [{ outcome: 'secrets-unavailable' }, 1],
    [{ outcome: 'table-unavailable' }, 1],
    [{ outcome: 'refused-again' }, 1],
    [{ outcome: 'token-endpoint-unavailable' }, 1],
    [{ outcome: 'token-endpoint-timeout' }, 1],
    [{ outcome: 'access-denied' }, undefined],
    [{ outcome: 'invalid-request' }, undefined],
    [{ outcome: 'credential-rejected' }, undefined],
    [{ outcome: 'client-disabled' }, undefined],
    [{ operation: 'check', outcome: 'internal' }, undefined],
  ])('counts %j for a service level of a second as %s missed calls', (changes, missed) => {
    const line = JSON.parse(written({ ...ISSUED, ...changes }, undefined, 1_000));
    const counted = { SloCalls: missed === undefined ? undefined : 1, SloMissed: missed };
    expect(line).toEqual(expect.objectContaining(JSON.parse(JSON.stringify(counted))));
    const defined = line._aws.CloudWatchMetrics.find(
      (one: { Metrics: [{ Name: string }] }) => one.Metrics[0].Name === 'SloCalls',
    );
    expect(defined).toEqual(missed === undefined ? undefined : definition([['environment']], Object.keys(counted)));
    expect(written({ ...ISSUED, ...changes })).not.toContain('Slo');
  });
});

it('a record that cannot be opened is a line with a metric of its own', () => {
  const lines: string[] = [];
  const log = createUnreadableLog({ environment: 'prod', now: () => START, write: (line) => lines.push(line) });
  log({ client: 'acme', service: 'customer-insights' });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      _aws: { Timestamp: START, CloudWatchMetrics: [definition([BY_SERVICE_AND_OUTCOME], ['UnreadableRecords'])] },
      ...{ environment: 'prod', service: 'customer-insights', outcome: 'unreadable', UnreadableRecords: 1 },
      pair: 'acme/customer-insights',
    },
  ]);
});

it.each<[unknown, string | undefined]>([
  ['AccessDeniedException', 'AccessDeniedException'],
  ...[new Error('marked'), { token: 'marked' }, 7, null].map((cause): [unknown, undefined] => [cause, undefined]),
])('the cause of a problem is shown when it is a word of the rules: %j', (cause, shown) => {
  const line = JSON.parse(written({ ...DENIED, outcome: 'secrets-unavailable', cause }));
  expect(line.cause).toBe(shown);
});

it.each<[string, unknown, string?]>([
  ['an error with a name', { name: 'AccessDeniedException' }, 'AccessDeniedException'],
  ['an error with a code', { code: 'ECONNRESET' }, 'ECONNRESET'],
  ['an error with a code that is no text', { name: 'TypeError', code: 7 }, 'TypeError'],
  ['no error', 'marked'],
  ['an error whose name is a text', { name: 'marked: text' }],
  // The SDK takes the name of an error from the answer.
  ['a name like a secret', { name: 'WJalrXUtnFEMIK7MDENGbPxRfiCY' }],
  ['a name that is a passphrase', { name: 'correct-horse-battery' }],
  ['a code that is a client id', { code: 'acme' }],
])('the cause of a failure is a word, or unknown, for %s', (_, thrown, word = 'unknown') => {
  expect(causeWord(typeof thrown === 'string' ? thrown : Object.assign(new Error('marked'), thrown))).toBe(word);
});

describe('the place of a bug', () => {
  it('is its name and where it was thrown', () => {
    const place = { name: 'RangeError', at: expect.arrayContaining([expect.stringMatching(PLACE)]) };
    const cause = new RangeError('marked', { cause: new Error('marked') });
    expect(defectPlace(cause)).toEqual(place);
    const line = written({ ...DENIED, outcome: 'internal', cause });
    expect(JSON.parse(line).cause).toEqual(place);
    expect(line).not.toContain('marked');
  });

  it('is not lost on the way through functions without a name that wait', async () => {
    const places = [async () => stumble(), async () => (await Promise.all([stumble()]))[0]].map((wait) =>
      (async () => await wait())().catch(defectPlace),
    );
    for (const { at } of await Promise.all(places))
      expect(at[0]).toMatch(/^at stumble \(.*audit-log\.test\.ts:\d+:\d+\)$/);
  });

  it.each<[string, () => unknown]>([
    ['a message', () => new Error('marked')],
    ['a message that looks like a place', () => new Error('a\n    at marked (file:///marked:1:2)')],
    ['a message that its trace alone has', () => Object.assign(new Error(), { stack: TRACE })],
    ['a trace that is not a text', () => Object.assign(new Error('x'), { stack: ['marked'] })],
    ['a trace that throws', () => Object.defineProperty(new Error('x'), 'stack', { get: fail })],
    ['a text', () => 'marked'],
    ['an object that lies about itself', () => ({ toString: () => 'marked', name: 'marked', stack: 'marked' })],
    ['a proxy that throws', () => new Proxy({}, { getPrototypeOf: fail, get: fail })],
  ])('shows nothing of %s', (_, make) => {
    expect(JSON.stringify(defectPlace(make()))).not.toContain('marked');
  });
});

async function stumble(): Promise<ReturnType<typeof defectPlace>> {
  await Promise.resolve();
  throw new TypeError('marked');
}

const TRACE = 'Error: a\n    at marked\n    at place (node:x:1:2)';

function fail(): never {
  throw new Error('marked');
}
