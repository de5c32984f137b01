import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
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

it('the queries of the operations guide show who got tokens, which roles were denied, and who forced a request', async () => {
  const lines = await linesOfADay();
  const rows = QUERIES.map((query, index) =>
    runQuery(query, index === 0 ? [...lines, { ...lines[0], pair: 'acme-2/customer-insights' }] : lines),
  );
  const [caller, denied] = [
    'aws:111111111111:billing/run-1',
    { roleId: 'AROAEXAMPLE', rulesDigest: '00ff00ff00ff00ff' },
  ];
  const who = { caller, roleId: 'AROAEXAMPLE', sourceIp: '192.0.2.1' };
  expect(rows).toMatchObject([
    [
      { ...who, pair: 'acme/customer-insights', tokens: 2 },
      { ...who, pair: 'acme/merchant-payment-cleansing', tokens: 1 },
    ],
    [
      { ...denied, role: 'aws:111111111111:reporting', pair: 'acme/customer-insights', denials: 2 },
      { ...denied, role: 'aws:111111111111:billing', pair: 'globex/customer-insights', denials: 1 },
      { role: undefined, pair: undefined, denials: 1 },
    ],
    [
      { caller, requests: 1, pair: 'acme/customer-insights', forced: true, longest: undefined },
      { caller, requests: 1, pair: 'acme/merchant-payment-cleansing', forced: undefined, longest: 60 },
    ],
  ]);
  expect(rows.map((found) => found.length)).toEqual([2, 3, 2]);

  // The guide explains every member of a line.
  const documented = new Set([...SECTION.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const written = new Set(lines.flatMap(Object.keys));
  expect([...written].filter((name) => !documented.has(name))).toEqual(['_aws', '@timestamp']);
  const members = ['roleId', 'accessKeyId', 'sourceIp', 'forced', 'minTtl', 'rulesDigest'];
  expect([...written]).toEqual(expect.arrayContaining(members));
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
