import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';
import { rulesDigest } from '../../../functions/environment.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { createBrokerDay } from '../../support/cloudwatch/broker-day.ts';
import { exampleRule, exampleService } from '../../support/example.ts';
import { CONTEXT, functionUrlEvent, requestContext, signedBy } from '../../support/function-url-events.ts';

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

const NO_SECRETS = createSecretsManagerClient({ region: 'eu-west-1' });

it('the queries of the operations guide read what lines have, and what they have made themselves', async () => {
  expect(QUERIES).toHaveLength(3);
  const written = (await linesOfADay()).flatMap(Object.keys);
  for (const query of QUERIES) {
    const made = [...query.matchAll(/ as ((?:\w+(?:, (?!\w+\())?)+)/g)].flatMap(([, names = '']) => names.split(', '));
    const read = query.replaceAll(/'[^']*'|"[^"]*"|\/[^/]*\//g, '').match(/[@\w]+/g) ?? [];
    const known = [...written, ...made];
    expect(read.filter((word) => !known.includes(word) && !INSIGHTS.test(word))).toEqual([]);
  }
});

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html */
const INSIGHTS = /^(?:filter|parse|stats|sort|and|or|like|as|by|desc|ispresent|count|min|max)$/;

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

it('a line names the rules that decided, and tells nothing of the session token', async () => {
  const lines: string[] = [];
  const settings = { services: { 'customer-insights': exampleService() }, accessRules: [exampleRule()] };
  const { handler } = createTokenFunction({
    environment: 'test',
    tableName: 'pairs',
    settings: { ...settings, provenForSeconds: 3_600 },
    dynamodb: { getItem: async () => undefined, updateItem: async () => undefined },
    secretsManager: NO_SECRETS,
    write: (line) => void lines.push(line),
  });
  await handler(functionUrlEvent({ ...ACME, client: 'globex' }), CONTEXT);

  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    outcome: 'access-denied',
    roleId: 'AROAEXAMPLE',
    accessKeyId: 'ASIAEXAMPLE',
    sourceIp: '192.0.2.1',
    rulesDigest: rulesDigest(settings),
  });
  expect(lines.join()).not.toContain('marked-session-token');
  const others = [
    { accessRules: [] },
    { accessRules: [exampleRule({ clients: 'all' })] },
    { ...settings, principalOrgId: 'o-x' },
  ];
  expect(new Set([settings, ...others].map(rulesDigest)).size).toBe(4);
  expect(rulesDigest(settings)).toMatch(/^[0-9a-f]{16}$/);
});
