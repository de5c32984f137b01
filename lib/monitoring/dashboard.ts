import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import {
  FINDINGS,
  IGNORED_EVENTS,
  type MetricName,
  PROBLEMS,
  type ProblemType,
  UNREADABLE,
} from '../../functions/vocabulary.ts';
import type { BrokerMetric, CalledFunction } from './metrics.ts';

/** A full-width row: a question with a hint, or graphs side by side. */
export type Row = { readonly question: string; readonly hint: string } | readonly Graph[];

interface Graph {
  readonly title: string;
  /** The label of the left axis. */
  readonly unit: string;
  readonly left: readonly IMetric[];
  /** A percentage, on the right axis. */
  readonly percent?: IMetric;
  /** The length of a period, 5 by default. */
  readonly minutes?: number;
  readonly stacked?: boolean;
}

interface Shown {
  readonly services: readonly string[];
  readonly broker: BrokerMetric;
  readonly called: CalledFunction;
  /** The interval between runs of health. */
  readonly healthMinutes: number;
}

/** The rows in the order in which an operator looks for a cause: callers, each service, the broker. */
export function dashboardRows(shown: Shown): readonly Row[] {
  const left = shown.services.slice(MOST_SERVICES);
  const hint = 'CloudWatch refuses more widgets. Their lines are above, and client list shows their pairs.';
  return [
    ...callerRows(shown),
    ...shown.services.slice(0, MOST_SERVICES).flatMap((service) => serviceRows(service, shown)),
    ...(left.length > 0 ? [{ question: `Without graphs of their own: ${left.join(', ')}`, hint }] : []),
    ...brokerRows(shown),
  ];
}

/** A dashboard has at most 500 widgets and 2 500 metrics. @see gchq/sleeper#2160 */
const MOST_SERVICES = 60;

function callerRows({ services, broker, called }: Shown): readonly Row[] {
  const ofServices = (title: string, unit: string, outcome: string, names: readonly string[]) => {
    const left = names.map((service) => broker('Requests', { service, outcome }, { label: service }));
    return graph(title, unit, left, { stacked: true });
  };
  const endings = (title: string, side: (typeof PROBLEMS)[ProblemType]['concerns']) => {
    const outcomes = Object.entries(PROBLEMS).flatMap(([type, { concerns }]) => (concerns === side ? [type] : []));
    const left = outcomes.map((outcome) => broker('Requests', { outcome }, { label: outcome }));
    return graph(title, 'requests', left, { stacked: true });
  };
  const ofUrl = (metricName: string, props = {}) => called.metric(metricName, { statistic: 'Sum', ...props });
  const urlCalls = [ofUrl('UrlRequestCount', { label: 'calls' }), ofUrl('Url4xxCount', { label: '4xx' })];

  return [
    {
      question: 'Do callers get tokens?',
      hint: 'Red alarms first. Then: which of these lines has changed? The sections below follow them from the caller to the broker. Queries for the log: docs/alarms.md, "Audit lines".',
    },
    [
      ofServices('Tokens issued, by service', 'tokens in 5 minutes', 'issued', services),
      endings('Not issued: an operator must act (424)', 'operator'),
      endings('Not issued: the service (503, 504)', 'service'),
      endings('Not issued: the broker itself (500, 503)', 'broker'),
    ],
    {
      question: 'Are callers refused?',
      hint: 'Denied: no access rule covers the request. More 4xx than outcomes: AWS refuses signatures in front of the broker.',
    },
    [
      ofServices('Denied, by service', 'requests', 'access-denied', [...services, 'none']),
      endings('Refused (400, 403, 404, 405, 413, 415)', 'caller'),
      graph('Calls of the URL, and those that end in a 4xx', 'calls', urlCalls, {
        percent: share('4xx, share of the calls', 'refused / calls', {
          refused: ofUrl('Url4xxCount'),
          calls: ofUrl('UrlRequestCount'),
        }),
      }),
    ],
  ];
}

function share(label: string, fraction: string, usingMetrics: Record<string, IMetric>): IMetric {
  return new MathExpression({ label, expression: `100 * ${fraction}`, usingMetrics });
}

function graph(title: string, unit: string, left: readonly IMetric[], more: Partial<Graph> = {}): Graph {
  return { title, unit, left, ...more };
}

/** The rows of a service: its token requests, their duration, and the health of its credentials. */
function serviceRows(service: string, { broker, healthMinutes: minutes }: Shown): readonly Row[] {
  const perPeriod = 'requests in 5 minutes';
  const counted = (labels: Labels) => lines(labels, (name, props) => broker(name, { service }, props));
  const tokenRequests = counted({
    TokenRequests: 'sent',
    CredentialRejected: 'rejected',
    PreviousVersionUsed: 'calls served with the credential before the current one',
    SameTokenAgain: 'brought the token that was refused',
    CredentialEchoed: 'brought the credential back',
    LifetimeCut: 'brought a longer life time than the maximum',
    ExpiryWithoutZone: 'brought an expiry without a time zone',
    ClassicalTls: 'without a post-quantum key exchange',
  });
  const issued = { service, outcome: 'issued' };
  const times = ['p50', 'p99'].map((statistic) => broker('Duration', issued, { statistic, label: statistic }));
  const findings = FINDINGS.map((outcome) => broker('Findings', { service, outcome }, { label: outcome }));
  const failures = counted({ CheckFailures: 'no finding: the broker failed' });
  const checkTime = [broker('CheckDuration', { service }, { statistic: 'p99', label: 'p99' })];
  const unreadable = broker('UnreadableRecords', { service, outcome: UNREADABLE }, { label: 'unreadable record' });
  const fromCache = share('from a cache', 'hits / issued', {
    hits: broker('CacheHits', { service }),
    issued: broker('Requests', issued),
  });

  return [
    {
      question: `Service ${service}`,
      hint: 'Token requests grow when tokens live shorter, or when callers refuse them.',
    },
    [
      graph(
        `${service}: issued, and the share from a cache`,
        'tokens in 5 minutes',
        [broker('Requests', issued, { label: 'issued' })],
        { percent: fromCache },
      ),
      graph(`${service}: token requests`, perPeriod, tokenRequests),
      graph(`${service}: time to a token`, 'ms', times),
      graph(`${service}: what the checks find`, 'checks in the time of a run', [...findings, ...failures], {
        minutes,
        stacked: true,
      }),
    ],
    [
      graph(`${service}: how long a check takes`, 'ms', checkTime, { minutes }),
      graph(`${service}: without the table or Secrets Manager`, perPeriod, [
        ...counted({
          TableUnavailable: 'table unavailable',
          TableBusy: 'table busy',
          SecretStale: 'last known credential',
        }),
        unreadable,
      ]),
    ],
  ];
}

/** The label of each line, by its metric. */
type Labels = { readonly [name in MetricName]?: string };

function lines(labels: Labels, metric: (name: MetricName, props: { readonly label: string }) => IMetric) {
  return Object.entries(labels).map(([name, label]) => metric(name as MetricName, { label }));
}

/** The rows of the broker itself: the token function and the runs of health. */
function brokerRows({ broker, called, services, healthMinutes: minutes }: Shown): readonly Row[] {
  const counted = (labels: Labels) => lines(labels, (name, props) => broker(name, {}, props));
  const ofRuns = (title: string, unit: string, labels: Labels) => {
    const left = lines(labels, (name, props) => broker(name, {}, { ...props, statistic: 'Maximum' }));
    return graph(title, unit, left, { minutes });
  };
  const failed = [called.metricErrors({ label: 'errors' }), called.metricThrottles({ label: 'throttles' })];
  const times = ['p50', 'p99', 'Maximum'].map((statistic) => called.metricDuration({ statistic, label: statistic }));
  const atATime = called.metric('ConcurrentExecutions', { statistic: 'Maximum', label: 'at most' });
  const ignored = IGNORED_EVENTS.map((outcome) =>
    broker('IgnoredEvents', { outcome }, { label: `event ignored: ${outcome}` }),
  );
  const days = services.map((service) => broker('DaysToExpiry', { service }, { statistic: 'Minimum', label: service }));
  const messages = [...counted({ Notifications: 'sent', NotificationFailures: 'not sent' }), ...ignored];

  return [
    {
      question: 'Is it the broker itself?',
      hint: 'Errors and throttles must be none. A slow function with fast services waits for DynamoDB or Secrets Manager.',
    },
    [
      graph('Errors and throttles of the token function', 'calls in 5 minutes', failed),
      graph('How long a call takes', 'ms', times),
      graph('Calls at a time', 'calls', [atATime]),
    ],
    {
      question: 'Are the credentials proven?',
      hint: 'One run of health an interval; a run that is missing or incomplete proves nothing.',
    },
    [
      ofRuns('Runs of health, latched pairs and incidents', 'in a run', {
        Heartbeat: 'a run has ended',
        PairsRejected: 'latched pairs',
        PairsExpiring: 'pairs whose credential ends within 7 days',
        ServiceIncidents: 'services in an incident',
        ProbeNotDenied: 'the probe was not refused',
        OperatorsUnreachable: 'messages reach no operator',
      }),
      ofRuns('Pairs of a run', 'pairs', {
        PairsChecked: 'checked',
        PairsNotReached: 'not reached',
        PairsFailed: 'no finding of the broker',
      }),
      graph('Days until the first credential ends', 'days', days, { minutes }),
      graph('Messages to the operators', 'messages', messages, { minutes }),
      ofRuns('How long a run takes', 'ms', { RunDuration: 'longest' }),
    ],
  ];
}
