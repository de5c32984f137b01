import { describe, expect, it } from 'vitest';
import { createHealthLog } from '../../../functions/aws/log/health-log.ts';
import type { MissedPair } from '../../../functions/broker/health/check-pairs.ts';
import type { HealthRun } from '../../../functions/broker/health/run.ts';
import { START } from '../../support/example.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

describe('the line of a check', () => {
  it('tells the finding, with a metric for its service', () => {
    const { log, lines } = createLog();
    const finding = { finding: 'rejected', provenBy: 'latch', version: 'v1', checkedAt: START } as const;
    log.check({ pair: PAIR, answer: { kind: 'checked', ...finding }, milliseconds: 12 });
    expect(lines()).toEqual([
      {
        _aws: expect.objectContaining({ Timestamp: START }),
        environment: 'dev',
        service: 'customer-insights',
        outcome: 'rejected',
        Findings: 1,
        CheckFailures: 0,
        CheckDuration: 12,
        operation: 'health',
        pair: 'acme/customer-insights',
        kind: 'checked',
        ...finding,
      },
    ]);
  });

  it('counts a failure of the broker apart from findings', () => {
    const { log, lines } = createLog();
    log.check({ pair: PAIR, answer: { kind: 'failed', failure: 'timeout', retryable: true }, milliseconds: 12 });
    expect(lines()).toMatchObject([{ outcome: 'failed', Findings: 0, CheckFailures: 1, failure: 'timeout' }]);
  });
});

it('tells which new version led to a check, in the same line', () => {
  const { log, lines } = createLog();
  const finding = { finding: 'accepted', provenBy: 'request', version: 'v2', checkedAt: START } as const;
  log.check({ pair: PAIR, answer: { kind: 'checked', ...finding }, milliseconds: 12, promoted: 'v2' });
  expect(lines()).toMatchObject([{ outcome: 'accepted', operation: 'health', promoted: 'v2', Findings: 1 }]);
});

it('tells in one line why an event is ignored', () => {
  const { log, lines } = createLog();
  log.ignored('foreign');
  expect(lines()).toMatchObject([{ environment: 'dev', service: 'none', outcome: 'foreign', IgnoredEvents: 1 }]);
});

describe('the line of a run', () => {
  it('tells that there was a run, and what it did not reach, and why', () => {
    const { log, lines } = createLog();
    const missed: MissedPair[] = [
      { pair: PAIR, reason: 'out-of-time' },
      { pair: { ...PAIR, client: 'globex' }, reason: 'sampled' },
      { pair: { ...PAIR, client: 'initech' }, reason: 'failed', failure: 'timeout' },
    ];
    const reported = { sent: 2, unsent: 1, failures: ['notifier-down', 'notifier-down'] };
    log.run({ ...RUN, missed, incidents: ['customer-insights'], reported });
    expect(lines()).toMatchObject([
      {
        outcome: 'incomplete',
        Heartbeat: 1,
        RunDuration: 1_234,
        PairsNotReached: 3,
        PairsFailed: 1,
        PairsRejected: 0,
        ServiceIncidents: 1,
        Notifications: 2,
        NotificationFailures: 2,
        ProbeNotDenied: 0,
        OperatorsUnreachable: 0,
        notReached: {
          outOfTime: ['acme/customer-insights'],
          sampled: ['globex/customer-insights'],
          failed: ['initech/customer-insights'],
        },
        failures: ['notifier-down'],
      },
    ]);
  });

  it('counts the pairs whose credential is rejected', () => {
    const { log, lines } = createLog();
    const found = { pair: PAIR, provenBy: 'latch', checkedAt: START, at: START } as const;
    const checked = (['rejected', 'accepted', 'rejected', 'disabled'] as const).map((finding) => ({
      ...found,
      finding,
    }));
    log.run({ ...RUN, checked });
    expect(lines()).toMatchObject([{ PairsChecked: 4, PairsRejected: 2 }]);
  });

  it('fits into the log, however much was not reached', () => {
    const { log, text } = createLog();
    const pair = { client: 'c'.repeat(63), service: 's'.repeat(63) };
    const missed = (['out-of-time', 'sampled', 'failed'] as const).flatMap((reason) =>
      Array(5_000).fill({ pair, reason }),
    );
    const unknown = Array(5_000).fill(pair);
    log.run({ ...RUN, missed, unknown, ignored: Array(5_000).fill('i'.repeat(200)) });
    expect(text().length).toBeLessThan(256 * 1_024);
    expect(text()).toContain('"PairsNotReached":15000');
  });
});

it('has metrics, without a client or caller as a dimension', () => {
  const { log, lines } = createLog();
  log.check({ pair: PAIR, answer: { kind: 'failed', failure: 'timeout', retryable: true }, milliseconds: 12 });
  log.run(RUN);
  log.ignored('malformed');
  for (const line of lines()) {
    for (const { Namespace, Dimensions, Metrics } of line._aws.CloudWatchMetrics) {
      expect(Namespace).toBe('TokenBroker');
      for (const dimension of Dimensions.flat()) {
        expect(['environment', 'service', 'outcome']).toContain(dimension);
        expect(line[dimension]).toEqual(expect.any(String));
      }
      for (const { Name } of Metrics) expect(line[Name]).toEqual(expect.any(Number));
    }
  }
});

const RUN: HealthRun = {
  clients: 1,
  ignored: [],
  unknown: [],
  checked: [],
  missed: [],
  incidents: [],
  probe: { condition: 'denied', said: 'access-denied' },
  reported: { sent: 0, unsent: 0, failures: [] },
  hasSubscriber: true,
  milliseconds: 1_234,
};

function createLog() {
  let written = '';
  const write = (line: string) => {
    written += line;
  };
  return {
    log: createHealthLog({ environment: 'dev', now: () => START, write }),
    text: () => written,
    lines: () =>
      written
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
  };
}
