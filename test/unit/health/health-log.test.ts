import { expect, it } from 'vitest';
import { createHealthLog } from '../../../functions/health/health-log.ts';
import type { MissedPair } from '../../../functions/health/rules/check-pairs.ts';
import type { HealthRun } from '../../../functions/health/rules/run.ts';
import { HOUR_MS, PAIR, START } from '../../support/example.ts';

const FOUND = { kind: 'checked', finding: 'rejected', provenBy: 'latch', version: 'v1', checkedAt: START } as const;
const FAILED = { kind: 'failed', failure: 'timeout', retryable: true } as const;
const RUN: HealthRun = {
  ...{ clients: 1, unknown: [], checked: [], missed: [], incidents: [], hasSubscribers: true },
  ...{ probe: { condition: 'denied', said: 'access-denied' }, milliseconds: 1_234 },
  reported: { sent: 0, unsent: 0, failures: [] },
};

it('the line of a check has the finding and which new version led to it, or the failure, that of an event its kind', () => {
  const { log, lines } = createLog();
  log.check({ pair: PAIR, answer: FOUND, milliseconds: 12, promoted: 'v2' });
  log.check({ pair: PAIR, answer: FAILED, milliseconds: 12 });
  log.ignored('foreign');
  const [found, ...others] = lines();
  expect(found).toEqual({
    _aws: expect.objectContaining({ Timestamp: START }),
    ...{ environment: 'dev', service: 'customer-insights', outcome: 'rejected', operation: 'health' },
    ...{ Findings: 1, CheckFailures: 0, CheckDuration: 12, pair: 'acme/customer-insights', promoted: 'v2' },
    ...FOUND,
  });
  expect(others).toMatchObject([
    { outcome: 'failed', Findings: 0, CheckFailures: 1, failure: 'timeout' },
    { environment: 'dev', service: 'none', outcome: 'foreign', IgnoredEvents: 1 },
  ]);
});

it('the line of a run has its findings and the pairs that it did not reach, with the reason', () => {
  const { log, lines } = createLog();
  const missed: MissedPair[] = [
    { pair: PAIR, reason: 'out-of-time' },
    { pair: { ...PAIR, client: 'globex' }, reason: 'sampled' },
    { pair: { ...PAIR, client: 'initech' }, reason: 'failed', failure: 'timeout' },
  ];
  const checked = (['rejected', 'accepted', 'rejected'] as const).map((finding) => ({
    ...({ pair: PAIR, provenBy: 'latch', checkedAt: START, at: START, finding } as const),
    credentialExpiresAt: finding === 'accepted' ? new Date(START + 7 * 24 * HOUR_MS).toISOString() : 'never',
  }));
  const reported = { sent: 2, unsent: 1, failures: ['notifier-down', 'notifier-down'] };
  log.run({ ...RUN, missed, checked, incidents: ['customer-insights'], reported });
  log.run({ ...RUN, hasSubscribers: false, probe: { condition: 'unproven', said: 'timeout' } });
  expect(lines()).toMatchObject([
    {
      ...{ outcome: 'incomplete', Heartbeat: 1, RunDuration: 1_234, ServiceIncidents: 1 },
      ...{ clients: 1, probe: 'access-denied' },
      ...{ PairsChecked: 3, PairsRejected: 2, PairsExpiring: 1, PairsNotReached: 3, PairsFailed: 1 },
      ...{ Notifications: 2, NotificationFailures: 2, ProbeNotDenied: 0, OperatorsUnreachable: 0 },
      notReached: {
        outOfTime: ['acme/customer-insights'],
        sampled: ['globex/customer-insights'],
        failed: ['initech/customer-insights'],
      },
      failures: ['notifier-down'],
    },
    { service: PAIR.service, DaysToExpiry: 7 },
    { outcome: 'complete', ProbeNotDenied: 1, OperatorsUnreachable: 1, NotificationFailures: 0 },
  ]);
});

it('the line of a run fits into the log, however much was not reached', () => {
  const { log, text } = createLog();
  const pair = { client: 'c'.repeat(63), service: 's'.repeat(63) };
  const missed = (['out-of-time', 'sampled', 'failed'] as const).flatMap((reason) =>
    Array(5_000).fill({ pair, reason }),
  );
  log.run({ ...RUN, missed, unknown: Array(5_000).fill(pair) });
  expect(text().length).toBeLessThan(256 * 1_024);
  expect(text()).toContain('"PairsNotReached":15000');
});

function createLog() {
  const texts: string[] = [];
  const log = createHealthLog({ environment: 'dev', now: () => START, write: (line) => texts.push(line) });
  return { log, text: () => texts.join(''), lines: () => texts.map((text) => JSON.parse(text)) };
}
