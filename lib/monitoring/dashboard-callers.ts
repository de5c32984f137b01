import { type IWidget, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { graphs, heading, lines } from './dashboard-graph.ts';
import type { CalledFunction } from './function-alarms.ts';
import { type BrokerMetric, OUTCOMES } from './metrics.ts';

interface Source {
  readonly services: readonly string[];
  readonly metric: BrokerMetric;
  readonly called: CalledFunction;
  readonly log: ILogGroup;
}

/** What callers see: tokens, or how their requests end instead. */
export function callerRows({ services, metric, called, log }: Source): readonly (readonly IWidget[])[] {
  const ending = (outcomes: readonly string[]) =>
    outcomes.map((outcome) => metric('Requests', { outcome }, { label: outcome }));
  return [
    [
      heading(
        'Do callers get tokens?',
        'Red alarms first. Then: which of these lines has changed? The sections below follow them from the caller to the broker.',
      ),
    ],
    graphs(
      {
        title: 'Tokens issued, by service',
        left: services.map((service) => metric('Requests', { service, outcome: 'issued' }, { label: service })),
        unit: 'tokens in 5 minutes',
        stacked: true,
      },
      {
        title: 'Not issued: an operator must act (424)',
        left: ending(OUTCOMES.operator),
        unit: 'requests',
        stacked: true,
      },
      { title: 'Not issued: the service (503, 504)', left: ending(OUTCOMES.service), unit: 'requests', stacked: true },
      {
        title: 'Not issued: the broker itself (500, 503)',
        left: ending(OUTCOMES.broker),
        unit: 'requests',
        stacked: true,
      },
    ),
    [
      lines('Who has got no token, and why', log, [
        'fields caller, pair, outcome',
        "filter operation = 'token' and outcome != 'issued'",
        'stats count(*) as requests, latest(@timestamp) as last by pair, outcome, caller',
        'sort requests desc',
        'limit 20',
      ]),
      lines('Credentials that were rejected', log, [
        'fields pair, credentialVersion, outcome',
        "filter CredentialRejected = 1 or outcome = 'credential-rejected' or PreviousVersionUsed = 1",
        'stats count(*) as requests, latest(@timestamp) as last by pair, credentialVersion, outcome',
        'sort last desc',
        'limit 20',
      ]),
    ],
    [
      heading(
        'Are callers refused?',
        'Denied: no access rule covers the request. More 4xx than outcomes: AWS refuses signatures in front of the broker.',
      ),
    ],
    graphs(
      {
        title: 'Denied, by service',
        left: [...services, 'none'].map((service) =>
          metric('Requests', { service, outcome: 'access-denied' }, { label: service }),
        ),
        unit: 'requests',
        stacked: true,
      },
      {
        title: 'Refused (400, 403, 404, 405, 413, 415)',
        left: ending(OUTCOMES.caller),
        unit: 'requests',
        stacked: true,
      },
      {
        title: 'Calls of the URL, and those that end in a 4xx',
        left: [
          called.metric('UrlRequestCount', { statistic: 'Sum', label: 'calls' }),
          called.metric('Url4xxCount', { statistic: 'Sum', label: '4xx' }),
        ],
        unit: 'calls',
        percent: [
          new MathExpression({
            label: '4xx, share of the calls',
            expression: '100 * refused / calls',
            usingMetrics: {
              refused: called.metric('Url4xxCount', { statistic: 'Sum' }),
              calls: called.metric('UrlRequestCount', { statistic: 'Sum' }),
            },
          }),
        ],
      },
    ),
  ];
}
