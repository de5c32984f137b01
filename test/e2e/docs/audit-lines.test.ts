import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rulesDigest } from '../../../functions/environment.ts';
import { createBrokerDay } from '../../support/cloudwatch/broker-day.ts';
import { runQuery } from '../../support/cloudwatch/insights.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { functionUrlEvent, requestContext, signedBy } from '../../support/function-url-events.ts';

const PAGE = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const SECTION = PAGE.split('\n## ').find((part) => part.startsWith('Audit lines\n')) ?? '';
const QUERIES = [...SECTION.matchAll(/^```text\n(.*?)^```$/gms)].map(([, query = '']) => query);
const ACME = { client: 'acme', service: 'customer-insights' };

/** What a day of two roles leaves in the log, with the time that CloudWatch adds. */
async function linesOfADay() {
  const day = createBrokerDay();
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
  await day.invoke(functionUrlEvent(ACME, { requestContext: requestContext(undefined) }));
  return day.lines.map((line) => JSON.parse(line)).map((line) => ({ ...line, '@timestamp': line._aws.Timestamp }));
}

const BILLING = 'aws:111111111111:billing/run-1';
const REPORTING = 'aws:111111111111:reporting';

describe('a query of the operations guide', () => {
  it('shows who got tokens of a client', async () => {
    const lines = await linesOfADay();
    const rows = runQuery(QUERIES[0] ?? '', [...lines, { ...lines[0], pair: 'acme-2/customer-insights' }]);
    const who = { caller: BILLING, roleId: 'AROAEXAMPLE', sourceIp: '192.0.2.1' };
    expect(rows).toEqual([
      expect.objectContaining({ ...who, pair: 'acme/customer-insights', tokens: 2 }),
      expect.objectContaining({ ...who, pair: 'acme/merchant-payment-cleansing', tokens: 1 }),
    ]);
    expect(Number(rows[0]?.last) - Number(rows[0]?.first)).toBe(1_000);
  });

  it('shows which roles were denied, for what and by which rules', async () => {
    const denied = { roleId: 'AROAEXAMPLE', rulesDigest: '00ff00ff00ff00ff', last: expect.any(Number) };
    expect(runQuery(QUERIES[1] ?? '', await linesOfADay())).toEqual([
      { ...denied, role: REPORTING, pair: 'acme/customer-insights', denials: 2 },
      { ...denied, role: 'aws:111111111111:billing', pair: 'globex/customer-insights', denials: 1 },
      { ...denied, role: undefined, roleId: undefined, pair: undefined, denials: 1 },
    ]);
  });

  it('shows who forced a request, or asked for a token that lives long', async () => {
    const row = { caller: BILLING, outcome: 'issued', requests: 1, last: expect.any(Number) };
    expect(runQuery(QUERIES[2] ?? '', await linesOfADay())).toEqual([
      { ...row, pair: 'acme/customer-insights', forced: true, longest: undefined },
      { ...row, pair: 'acme/merchant-payment-cleansing', forced: undefined, longest: 60 },
    ]);
  });
});

describe('the table of members in the operations guide', () => {
  it('has all that a line holds, and its queries name nothing else', async () => {
    const documented = new Set([...SECTION.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    const written = new Set((await linesOfADay()).flatMap(Object.keys));
    for (const name of ['_aws', '@timestamp']) written.delete(name);
    expect([...written].filter((name) => !documented.has(name))).toEqual([]);
    for (const name of ['roleId', 'accessKeyId', 'sourceIp', 'forced', 'minTtl', 'rulesDigest']) {
      expect(written).toContain(name);
    }
  });
});

it('two environments with the same rules have the same digest of them, and others another', () => {
  const settings = { services: { 'customer-insights': exampleService() }, accessRules: [exampleRule()] };
  const others = [
    { accessRules: [] },
    { accessRules: [exampleRule({ clients: 'all' })] },
    { ...settings, principalOrgId: 'o-x' },
  ];
  expect(new Set([settings, structuredClone(settings), ...others].map(rulesDigest)).size).toBe(4);
  expect(rulesDigest(settings)).toMatch(/^[0-9a-f]{16}$/);
});
