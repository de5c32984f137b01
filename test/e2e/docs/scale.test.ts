import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { MAX_CALLER_ACCOUNTS } from '../../../lib/settings/access-rules.ts';
import { resourcesOf, synthesise } from '../../stack/synthesise.ts';
import { priceTables } from './list-prices.ts';

const PAGE = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8');

describe('the page about scale', () => {
  it.each(Object.entries(priceTables()))('shows the prices that are computed: %s', (_, table) => {
    expect(PAGE).toContain(`\n\n${table}\n`);
  });

  it('knows how many accounts the policy of the function has room for', () => {
    expect(PAGE).toContain(`| 20 kB: ${MAX_CALLER_ACCOUNTS} accounts; synth refuses more`);
  });

  it('knows how many alarms and resources an environment has', () => {
    const { prod } = environments;
    const stack = synthesise('prod', prod);
    expect(PAGE).toContain(`${resourcesOf(stack, 'AWS::CloudWatch::Alarm').length} × $0.10`);
    const resources = Object.keys(stack.template.Resources).length;
    expect(PAGE).toContain(`${Math.round(resources / 10) * 10} resources`);
  });
});
