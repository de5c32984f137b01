import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FINDINGS, PROBLEMS, type ProblemType } from '../../functions/contract.ts';
import type { BrokerMetric, CalledFunction } from './metrics.ts';

/** One row from edge to edge: a question with a hint, graphs side by side, or what the log alone can tell. */
export type Row =
  | { readonly question: string; readonly hint: string }
  | { readonly graphs: readonly Graph[] }
  | { readonly queries: readonly { readonly title: string; readonly lines: readonly string[] }[] };

interface Graph {
  readonly title: string;
  /** What the numbers on the left are. */
  readonly unit: string;
  readonly left: readonly IMetric[];
  /** Percent, on an axis of its own. */
  readonly percent?: IMetric;
  /** The length of a period; 5 by default. */
  readonly minutes?: number;
  readonly stacked?: boolean;
}

interface Shown {
  readonly services: readonly string[];
  readonly broker: BrokerMetric;
  readonly called: CalledFunction;
  readonly tableName: string;
  readonly logGroupName: string;
  /** From one run of health to the next. */
  readonly healthMinutes: number;
}

/** What an operator who was woken looks at, from top to bottom: what callers see, each service, the broker, the bill. */
export function dashboardRows(shown: Shown): readonly Row[] {
  return [
    ...callerRows(shown),
    ...shown.services.flatMap((service) => serviceRows(service, shown)),
    ...brokerRows(shown),
    ...costRows(shown),
  ];
}

/** Why the token of a shared record cannot be opened. */
export const UNREADABLE = ['closed', 'no-key'] as const;

/** Why an event of Secrets Manager leads to no check. */
export const IGNORED_EVENTS = ['foreign', 'malformed'] as const;

function callerRows({ services, broker, called }: Shown): readonly Row[] {
  const ofUrl = (metricName: string, label?: string) =>
    called.metric(metricName, { statistic: 'Sum', ...(label && { label }) });
  const ofServices = (outcome: string, names: readonly string[]) =>
    names.map((service) => broker('Requests', { service, outcome }, { label: service }));
  const endings = (title: string, side: Side) => {
    const outcomes = Object.entries(PROBLEMS).flatMap(([type, { concerns }]) => (concerns === side ? [type] : []));
    const left = outcomes.map((outcome) => broker('Requests', { outcome }, { label: outcome }));
    return graph(title, 'requests', left, { stacked: true });
  };

  return [
    {
      question: 'Do callers get tokens?',
      hint: 'Red alarms first. Then: which of these lines has changed? The sections below follow them from the caller to the broker.',
    },
    {
      graphs: [
        graph('Tokens issued, by service', 'tokens in 5 minutes', ofServices('issued', services), { stacked: true }),
        endings('Not issued: an operator must act (424)', 'operator'),
        endings('Not issued: the service (503, 504)', 'service'),
        endings('Not issued: the broker itself (500, 503)', 'broker'),
      ],
    },
    {
      queries: [
        query(
          'Who has got no token, and why',
          'fields caller, pair, outcome',
          "filter operation = 'token' and outcome != 'issued'",
          'stats count(*) as requests, latest(@timestamp) as last by pair, outcome, caller',
          'sort requests desc',
        ),
        query(
          'Credentials that were rejected',
          'fields pair, credentialVersion, outcome',
          "filter CredentialRejected = 1 or outcome = 'credential-rejected' or PreviousVersionUsed = 1",
          'stats count(*) as requests, latest(@timestamp) as last by pair, credentialVersion, outcome',
          'sort last desc',
        ),
      ],
    },
    {
      question: 'Are callers refused?',
      hint: 'Denied: no access rule covers the request. More 4xx than outcomes: AWS refuses signatures in front of the broker.',
    },
    {
      graphs: [
        graph('Denied, by service', 'requests', ofServices('access-denied', [...services, 'none']), { stacked: true }),
        endings('Refused (400, 403, 404, 405, 413, 415)', 'caller'),
        graph(
          'Calls of the URL, and those that end in a 4xx',
          'calls',
          [ofUrl('UrlRequestCount', 'calls'), ofUrl('Url4xxCount', '4xx')],
          {
            percent: new MathExpression({
              label: '4xx, share of the calls',
              expression: '100 * refused / calls',
              usingMetrics: { refused: ofUrl('Url4xxCount'), calls: ofUrl('UrlRequestCount') },
            }),
          },
        ),
      ],
    },
  ];
}

/** The side that can end a problem. */
type Side = (typeof PROBLEMS)[ProblemType]['concerns'];

/** What the tokens of a service cost it and take, and whether its clients' credentials work. */
function serviceRows(service: string, { broker, healthMinutes: minutes }: Shown): readonly Row[] {
  const counted = (metricName: string, label: string) => broker(metricName, { service }, { label });
  const by = (metricName: string, outcome: string, label: string) =>
    broker(metricName, { service, outcome }, { label });
  const timeToToken = (statistic: string) =>
    broker('Duration', { service, outcome: 'issued' }, { statistic, label: statistic });

  return [
    {
      question: `Service ${service}`,
      hint: 'Token requests grow when tokens live shorter, when callers refuse them, or when the shared cache is down.',
    },
    {
      graphs: [
        graph(
          `${service}: issued, and the share from a cache`,
          'tokens in 5 minutes',
          [by('Requests', 'issued', 'issued')],
          {
            percent: new MathExpression({
              label: 'from a cache',
              expression: '100 * hits / issued',
              usingMetrics: {
                hits: broker('CacheHits', { service }),
                issued: broker('Requests', { service, outcome: 'issued' }),
              },
            }),
          },
        ),
        graph(`${service}: token requests`, 'requests in 5 minutes', [
          counted('TokenRequests', 'sent'),
          counted('CredentialRejected', 'rejected'),
          counted('SameTokenAgain', 'brought the token that was refused'),
          counted('CredentialEchoed', 'brought the credential back'),
        ]),
        graph(`${service}: time to a token`, 'ms', ['p50', 'p99'].map(timeToToken)),
        graph(
          `${service}: what the checks find`,
          'checks in the time of a run',
          [
            ...FINDINGS.map((finding) => by('Findings', finding, finding)),
            counted('CheckFailures', 'no finding: the broker failed'),
          ],
          { minutes, stacked: true },
        ),
      ],
    },
    {
      graphs: [
        graph(`${service}: served with the credential before the current one`, 'requests in 5 minutes', [
          counted('PreviousVersionUsed', 'requests'),
        ]),
        graph(
          `${service}: how long a check takes`,
          'ms',
          [broker('CheckDuration', { service }, { statistic: 'p99', label: 'p99' })],
          { minutes },
        ),
        graph(`${service}: without the shared cache or Secrets Manager`, 'requests in 5 minutes', [
          counted('SharedCacheUnavailable', 'shared cache unavailable'),
          counted('SecretStale', 'last known credential'),
          ...UNREADABLE.map((reason) => by('UnreadableRecords', reason, `unreadable record: ${reason}`)),
        ]),
      ],
    },
  ];
}

/** What lies behind every service: the function, and health. */
function brokerRows({ broker, called, healthMinutes: minutes }: Shown): readonly Row[] {
  const duration = (statistic: string) => called.metricDuration({ statistic, label: statistic });
  const counted = (name: string, label: string) => broker(name, {}, { label });
  const ofRuns = (name: string, label: string) => broker(name, {}, { label, statistic: 'Maximum' });
  const ignored = (outcome: string) => broker('IgnoredEvents', { outcome }, { label: `event ignored: ${outcome}` });

  return [
    {
      question: 'Is it the broker itself?',
      hint: 'Errors and throttles must be none. A slow function with fast services waits for DynamoDB or Secrets Manager.',
    },
    {
      graphs: [
        graph('Errors and throttles of the token function', 'calls in 5 minutes', [
          called.metricErrors({ label: 'errors' }),
          called.metricThrottles({ label: 'throttles' }),
        ]),
        graph('How long a call takes', 'ms', ['p50', 'p99', 'Maximum'].map(duration)),
        graph('Calls at a time', 'calls', [
          called.metric('ConcurrentExecutions', { statistic: 'Maximum', label: 'at most' }),
        ]),
        graph('Without the shared cache or Secrets Manager', 'requests in 5 minutes', [
          counted('SharedCacheUnavailable', 'shared cache unavailable'),
          counted('SecretStale', 'last known credential'),
        ]),
      ],
    },
    {
      question: 'Are the credentials proven?',
      hint: 'One run of health an interval; a run that is missing or incomplete proves nothing.',
    },
    {
      graphs: [
        graph(
          'Runs of health, latched pairs and incidents',
          'in a run',
          [
            ofRuns('Heartbeat', 'a run has ended'),
            ofRuns('PairsRejected', 'latched pairs'),
            ofRuns('ServiceIncidents', 'services in an incident'),
            ofRuns('ProbeNotDenied', 'the probe was not refused'),
            ofRuns('OperatorsUnreachable', 'messages reach no operator'),
          ],
          { minutes },
        ),
        graph(
          'Pairs of a run',
          'pairs',
          [
            ofRuns('PairsChecked', 'checked'),
            ofRuns('PairsNotReached', 'not reached'),
            ofRuns('PairsFailed', 'no finding of the broker'),
          ],
          { minutes },
        ),
        graph(
          'Messages to the operators',
          'messages',
          [
            counted('Notifications', 'sent'),
            counted('NotificationFailures', 'not sent'),
            ...IGNORED_EVENTS.map(ignored),
          ],
          { minutes },
        ),
        graph('How long a run takes', 'ms', [ofRuns('RunDuration', 'longest')], { minutes }),
      ],
    },
  ];
}

/** What AWS counts for the bill. */
function costRows({ called, tableName, logGroupName }: Shown): readonly Row[] {
  const sumOf = (namespace: string, metricName: string, dimensionsMap: Record<string, string>, label: string) =>
    new Metric({ namespace, metricName, dimensionsMap, statistic: 'Sum', label });
  const units = (metricName: string, label: string) =>
    sumOf('AWS/DynamoDB', metricName, { TableName: tableName }, label);
  const calls = called.metric('Invocations', { statistic: 'Sum', label: 'calls' });
  const seconds = new MathExpression({
    label: 'seconds',
    expression: 'duration / 1000',
    usingMetrics: { duration: called.metricDuration({ statistic: 'Sum' }) },
    period: Duration.hours(1),
  });
  const table = [units('ConsumedReadCapacityUnits', 'read units'), units('ConsumedWriteCapacityUnits', 'write units')];
  const log = sumOf('AWS/Logs', 'IncomingBytes', { LogGroupName: logGroupName }, 'bytes');

  return [
    {
      question: 'What is paid for?',
      hint: 'Calls and their time, reads and writes of the table, log; docs/scale.md has the prices.',
    },
    {
      graphs: [
        graph('Calls of the token function', 'calls an hour', [calls], { minutes: 60 }),
        graph('Time that is billed', 'seconds an hour', [seconds], { minutes: 60 }),
        graph('Table of pairs', 'units an hour', table, { minutes: 60 }),
        graph('Log of the token function', 'bytes an hour', [log], { minutes: 60 }),
      ],
    },
  ];
}

function graph(title: string, unit: string, left: readonly IMetric[], more: Partial<Graph> = {}): Graph {
  return { title, unit, left, ...more };
}

function query(title: string, ...lines: readonly string[]) {
  return { title, lines: [...lines, 'limit 20'] };
}
