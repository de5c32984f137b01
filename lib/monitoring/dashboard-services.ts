import { type IWidget, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { FINDINGS } from '../../functions/contract.ts';
import { graphs, heading } from './dashboard-graph.ts';
import { type BrokerMetric, UNREADABLE } from './metrics.ts';

/** One service: what its tokens cost it and take, and whether its clients' credentials work. */
export function serviceRows(
  service: string,
  metric: BrokerMetric,
  healthMinutes: number,
): readonly (readonly IWidget[])[] {
  const latency = (statistic: string) =>
    metric('Duration', { service, outcome: 'issued' }, { statistic, label: statistic });
  return [
    [
      heading(
        `Service ${service}`,
        'Token requests grow when tokens live shorter, when callers refuse them, or when the shared cache is down.',
      ),
    ],
    graphs(
      {
        title: `${service}: issued, and the share from a cache`,
        left: [metric('Requests', { service, outcome: 'issued' }, { label: 'issued' })],
        unit: 'tokens in 5 minutes',
        percent: [
          new MathExpression({
            label: 'from a cache',
            expression: '100 * hits / issued',
            usingMetrics: {
              hits: metric('CacheHits', { service }),
              issued: metric('Requests', { service, outcome: 'issued' }),
            },
          }),
        ],
      },
      {
        title: `${service}: token requests`,
        left: [
          metric('TokenRequests', { service }, { label: 'sent' }),
          metric('CredentialRejected', { service }, { label: 'rejected' }),
          metric('SameTokenAgain', { service }, { label: 'brought the token that was refused' }),
        ],
        unit: 'requests in 5 minutes',
      },
      {
        title: `${service}: time to a token`,
        left: [latency('p50'), latency('p99')],
        unit: 'ms',
      },
      {
        title: `${service}: what the checks find`,
        left: [
          ...FINDINGS.map((finding) => metric('Findings', { service, outcome: finding }, { label: finding })),
          metric('CheckFailures', { service }, { label: 'no finding: the broker failed' }),
        ],
        unit: 'checks in the time of a run',
        minutes: healthMinutes,
        stacked: true,
      },
    ),
    graphs(
      {
        title: `${service}: served with the credential before the current one`,
        left: [metric('PreviousVersionUsed', { service }, { label: 'requests' })],
        unit: 'requests in 5 minutes',
      },
      {
        title: `${service}: how long a check takes`,
        left: [metric('CheckDuration', { service }, { statistic: 'p99', label: 'p99' })],
        unit: 'ms',
        minutes: healthMinutes,
      },
      {
        title: `${service}: without the shared cache or Secrets Manager`,
        left: [
          metric('SharedCacheUnavailable', { service }, { label: 'shared cache unavailable' }),
          metric('SecretStale', { service }, { label: 'last known credential' }),
          ...UNREADABLE.map((reason) =>
            metric('UnreadableRecords', { service, outcome: reason }, { label: `unreadable record: ${reason}` }),
          ),
        ],
        unit: 'requests in 5 minutes',
      },
    ),
  ];
}
