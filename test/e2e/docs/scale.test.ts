import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { callerAccountFaults } from '../../../lib/settings/access-rules.ts';
import { resourcesOf, synthesise } from '../../stack/synthesise.ts';
import { priceTables } from './list-prices.ts';

const PAGE = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8');

describe('the page about scale', () => {
  it.each(Object.entries(priceTables()))('shows the prices that are computed: %s', (_, table) => {
    expect(PAGE).toContain(`\n\n${table}\n`);
  });

  it('knows how many accounts the policy of the function has room for', () => {
    const accessRules = Array.from({ length: 99 }, (_, index) => ({
      role: `arn:aws:iam::${100_000_000_000 + index}:role/a`,
    }));
    const [{ reason = '' } = {}] = callerAccountFaults({
      name: 'prod',
      account: '1'.repeat(12),
      region: 'eu-west-1',
      accessRules,
    });
    const room = /has room for (\d+)/.exec(reason)?.[1];
    expect(PAGE).toContain(`| accounts of callers `);
    expect(PAGE).toContain(`${room} accounts in \`prod\``);
  });

  it('knows how many alarms and resources an environment has', () => {
    const { prod } = environments;
    const stack = synthesise('prod', prod);
    expect(PAGE).toContain(`${resourcesOf(stack, 'AWS::CloudWatch::Alarm').length} × $0.10`);
    const resources = Object.keys(stack.template.Resources).length;
    expect(PAGE).toContain(`${Math.round(resources / 10) * 10} resources`);
  });
});
