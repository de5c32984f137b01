import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Unreadable } from '../../functions/aws/pair-table/table.ts';
import type { IgnoredEvent } from '../../functions/aws/secret-event.ts';
import { FINDINGS, PROBLEMS } from '../../functions/contract.ts';
import { IGNORED_EVENTS, UNREADABLE } from '../../lib/monitoring/dashboard.ts';
import { metricsOf } from '../support/cloudwatch/alarm.ts';
import { dashboardOf } from '../support/cloudwatch/dashboard.ts';
import { metricKey } from '../support/cloudwatch/metric-points.ts';
import { alarmsOf } from '../support/cloudwatch/template-alarms.ts';
import { exampleForm } from './example-form.ts';
import { emittedMetrics } from './metric-sources.ts';
import { synthesise } from './synthesise.ts';

const stack = synthesise('test', exampleForm());
const shown = [
  ...alarmsOf(stack).flatMap((alarm) => metricsOf(alarm).map((key) => [alarm.AlarmName, key] as const)),
  ...dashboardOf(stack).widgets.flatMap(({ title, metrics }) => metrics.map((key) => [title, key] as const)),
].filter(([, key]) => key.startsWith('["TokenBroker"'));

/** What nobody looks at, and why it is there. */
const UNSEEN: Readonly<Record<string, string>> = {
  'PreviousVersionUsed by environment': 'all warnings are kept alike; the dashboard shows this one by service',
  'SameTokenAgain by environment': 'all warnings are kept alike; the dashboard shows this one by service',
};

describe('what the code writes and what is shown of it', () => {
  it('have the same names and dimensions, but for what is listed with a reason', async () => {
    const emitted = new Set((await emittedMetrics()).map(metricKey).map(kindOf));
    for (const [where, key] of shown) expect(emitted, `${where}: ${key}`).toContain(kindOf(key));

    const seen = new Set(shown.map(([, key]) => kindOf(key)));
    expect([...emitted].filter((kind) => !seen.has(kind)).toSorted()).toEqual(Object.keys(UNSEEN).toSorted());
  });

  it('mean the same services and outcomes', () => {
    const services = [...Object.keys(exampleForm().services), 'none'];
    const outcomes = new Set<string>([
      'issued',
      'failed',
      ...Object.keys(PROBLEMS),
      ...FINDINGS,
      ...UNREADABLE,
      ...IGNORED_EVENTS,
    ]);
    for (const [where, key] of shown) {
      const { environment, service, outcome, version } = dimensionsOf(key);
      expect(environment, where).toBe('test');
      expect(version, where).toBeOneOf([undefined, '7']);
      if (service !== undefined) expect(services, where).toContain(service);
      if (outcome !== undefined) expect(outcomes, where).toContain(outcome);
    }
  });
});

describe('the words of the dashboard', () => {
  it('are all the problems there are', () => {
    const ofRequests = dashboardOf(stack).widgets.flatMap(({ metrics }) =>
      metrics.filter((key) => key.includes('"Requests"')),
    );
    const outcomes = new Set(ofRequests.map((key) => dimensionsOf(key).outcome));
    expect([...outcomes].toSorted()).toEqual(['issued', ...Object.keys(PROBLEMS)].toSorted());
  });

  it('are all reasons to read past a record or to ignore an event', () => {
    // Proven by the compiler.
    expectTypeOf<(typeof UNREADABLE)[number]>().toEqualTypeOf<Unreadable>();
    expectTypeOf<(typeof IGNORED_EVENTS)[number]>().toEqualTypeOf<IgnoredEvent>();
  });
});

/** A metric by its name and the names of its dimensions. */
function kindOf(key: string): string {
  const [, name, dimensions]: [string, string, [string, string][]] = JSON.parse(key);
  return `${name} by ${dimensions.map(([dimension]) => dimension).join(', ')}`;
}

function dimensionsOf(key: string): Readonly<Record<string, string>> {
  const [, , dimensions]: [string, string, [string, string][]] = JSON.parse(key);
  return Object.fromEntries(dimensions);
}
