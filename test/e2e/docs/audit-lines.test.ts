import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createAuditLog } from '../../../functions/aws/log/audit-log.ts';
import { FINDINGS, PROBLEMS, WARNING_METRICS } from '../../../functions/vocabulary.ts';
import { functionUrlEvent, requestContext, signedBy } from '../../support/aws/function-url-events.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { AUDIT_LINE_SCHEMA, lineFaults } from '../../support/contract/contract.ts';
import { exampleRule } from '../../support/example.ts';
import { blocks } from '../../support/readme.ts';

const PAGE = readFileSync(new URL('../../../docs/alarms.md', import.meta.url), 'utf8');
const SECTION = PAGE.split('\n## ').find((part) => part.startsWith('Audit lines\n')) ?? '';
const QUERIES = blocks('text', SECTION);
const ACME = { client: 'acme', service: 'customer-insights' };

/** The log lines of a day with two roles, with the time that CloudWatch adds. */
async function linesOfADay() {
  const lines: string[] = [];
  const accessRules = [exampleRule({ services: 'all' })];
  const day = createBrokerWorld({ accessRules, audit: (record) => audit(record) });
  const audit = createAuditLog({
    environment: 'test',
    version: '1',
    services: new Set(Object.keys(day.world.services)),
    rulesDigest: '00ff00ff00ff00ff',
    refusedRoles: new Set(['aws:111111111111:probe']),
    now: () => day.clock.now,
    write: (line) => lines.push(line),
  });
  const send = async (members: object, role = 'billing') => {
    const context = requestContext(signedBy(`arn:aws:sts::111111111111:assumed-role/${role}/run-1`));
    const { body } = await day.invoke(functionUrlEvent(members, { requestContext: context }));
    day.clock.now += 1_000;
    return JSON.parse(body);
  };
  const { fingerprint } = await send(ACME);
  await send({ ...ACME, refused: fingerprint });
  await send({ ...ACME, service: 'merchant-payment-cleansing', min_ttl: 60 });
  await send({ ...ACME, client: 'globex' });
  await send(ACME, 'reporting');
  await send(ACME, 'reporting');
  await send(ACME, 'probe');
  for (const authorizer of [undefined, signedBy('arn:aws:iam::111111111111:user/alice')]) {
    await day.invoke(functionUrlEvent(ACME, { requestContext: requestContext(authorizer) }));
  }
  return lines.map((line) => JSON.parse(line)).map((line) => ({ ...line, '@timestamp': line._aws.Timestamp }));
}

it('the queries of the page about alarms read members that lines have, or that the query has made', async () => {
  expect(QUERIES).toHaveLength(5);
  const written = (await linesOfADay()).flatMap(Object.keys);
  for (const query of QUERIES) {
    const made = [...query.matchAll(/ as ((?:\w+(?:, (?!\w+\())?)+)/g)].flatMap(([, names = '']) => names.split(', '));
    const read = query.replaceAll(/'[^']*'|"[^"]*"|\/[^/]*\//g, '').match(/[@\w]+/g) ?? [];
    const known = [...written, ...made];
    expect(read.filter((word) => !known.includes(word) && !INSIGHTS.test(word))).toEqual([]);
  }
});

describe('docs/audit-line.schema.json', () => {
  const { properties } = AUDIT_LINE_SCHEMA;

  it('names the outcomes and the warnings of the contract, each with its metric', () => {
    expect(properties.outcome.enum).toEqual(['issued', 'identified', ...FINDINGS, ...Object.keys(PROBLEMS)]);
    expect(properties.warnings.items.enum).toEqual(Object.keys(WARNING_METRICS));
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.values(WARNING_METRICS)));
  });

  it.each([
    ['a member that no page explains', { token: 'x' }],
    ['an outcome that the contract does not have', { outcome: 'fine' }],
    ['no outcome', { outcome: undefined }],
    ['a fingerprint that is a token', { fingerprint: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl' }],
  ])('takes the lines of a day, and none with %s', async (_, change) => {
    const [line] = await linesOfADay();
    const { '@timestamp': _addedByCloudWatch, ...written } = line ?? {};
    expect(lineFaults(written)).toEqual([]);
    expect(lineFaults(JSON.parse(JSON.stringify({ ...written, ...change })))).not.toEqual([]);
  });
});

it('the page about alarms explains every member of a line', async () => {
  const documented = new Set([...SECTION.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const written = new Set((await linesOfADay()).flatMap(Object.keys));
  expect([...written].filter((name) => !documented.has(name))).toEqual(['_aws', '@timestamp']);
  const members = ['roleId', 'accessKeyId', 'sourceIp', 'forced', 'minTtl', 'rulesDigest', 'probe'];
  expect([...written]).toEqual(expect.arrayContaining(members));
});

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html */
const INSIGHTS = /^(?:filter|parse|stats|sort|and|or|like|as|by|desc|ispresent|not|count|min|max)$/;
