import { expect, it } from 'vitest';
import { healthText, type PairHealth, summaryOf } from '../../../bin/commands/health.ts';

const CHECKED: readonly PairHealth[] = [
  { client: 'acme', service: 'customer-insights', finding: 'accepted' },
  { client: 'acme', service: 'merchant-cleansing', finding: 'unreachable' },
  { client: 'globex', service: 'customer-insights', finding: 'rejected' },
  { client: 'initech', service: 'merchant-cleansing', finding: 'accepted' },
];

it('a health check says the same, whichever pair answered first', () => {
  expect(summaryOf(CHECKED)).toBe('4 pairs: 2 accepted, 1 rejected, 1 unreachable');
  expect(summaryOf(CHECKED.toReversed())).toBe(summaryOf(CHECKED));
  expect(healthText(CHECKED.toReversed(), false)).toBe(healthText(CHECKED, false));
});

it('a health check of nothing says so', () => {
  expect(summaryOf([])).toBe('0 pairs');
});
