import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Environment } from '../settings/environment.ts';
import { type AlarmDefinition, tooMuch } from './alarm.ts';
import type { BrokerMetric } from './metrics.ts';

type FunctionAlarm =
  | 'errors'
  | 'internalErrors'
  | 'throttles'
  | 'p99Duration'
  | 'clientErrorSurge'
  | 'deniedCallerSurge';

/** What is called. The metrics of an alias are those of all calls through it, whatever version answers. */
export type CalledFunction = Pick<IFunction, 'metric' | 'metricErrors' | 'metricThrottles' | 'metricDuration'>;

interface Metrics {
  readonly called: CalledFunction;
  readonly metric: BrokerMetric;
}

/** Whether callers get an answer, in time, and whether too many get one that they did not want. */
export function functionAlarms(
  environment: Pick<Environment, 'alarms' | 'services'>,
  { called, metric }: Metrics,
): Readonly<Record<FunctionAlarm, AlarmDefinition | false>> {
  const { errors, internalErrors, throttles, p99Duration, clientErrorSurge, deniedCallerSurge } = environment.alarms;
  return {
    errors: errors && {
      ...tooMuch(errors, called.metricErrors()),
      means: 'The token function crashed, ran out of memory or ran into its time-out: callers got no answer.',
      act: 'Its log says which request it was. If it began with a deployment, deploy what was there before.',
    },
    internalErrors: internalErrors && {
      ...tooMuch(internalErrors, metric('Requests', { outcome: 'internal' })),
      means: 'The broker has a bug, or may not do something that it must: callers got the problem `internal`.',
      act: 'The `cause` of the audit lines with this outcome says where. If it began with a deployment, deploy what was there before.',
    },
    throttles: throttles && {
      ...tooMuch(throttles, called.metricThrottles()),
      means: 'Lambda turns calls away: the concurrency of the function or of the account is used up.',
      act: 'Does one caller repeat without end? Then stop it; else raise `reservedConcurrency`, or the quota of the account.',
    },
    p99Duration: p99Duration && {
      ...tooMuch(
        { ...p99Duration, threshold: longestRequestMs(environment) + p99Duration.beyondMs },
        called.metricDuration({ statistic: 'p99' }),
      ),
      means: 'Calls take longer than any service is allowed to: it is the broker that is slow.',
      act: 'Look for cold starts and throttles, and at how DynamoDB and Secrets Manager answer.',
    },
    clientErrorSurge: clientErrorSurge && {
      ...tooMuch({ ...clientErrorSurge, threshold: clientErrorSurge.percent }, called.metric('Url4xxCount')),
      metric: new MathExpression({
        label: 'Percent of the calls that end in a 4xx',
        expression: `IF(FILL(requests, 0) >= ${clientErrorSurge.minimumRequests}, 100 * refused / requests, 0)`,
        usingMetrics: {
          refused: called.metric('Url4xxCount', { statistic: 'Sum' }),
          requests: called.metric('UrlRequestCount', { statistic: 'Sum' }),
        },
        period: Duration.minutes(clientErrorSurge.minutes),
      }),
      means: 'Many calls end in a 4xx, by the broker or by AWS in front of it.',
      act: 'The dashboard says which outcome grows. If none does, AWS refuses signatures: follow "A call that fails" as the caller.',
    },
    deniedCallerSurge: deniedCallerSurge && {
      ...tooMuch(deniedCallerSurge, metric('Requests', { outcome: 'access-denied' })),
      means: 'Roles ask for what no access rule gives them.',
      act: 'The audit lines with the outcome access-denied name them: somebody lacks a rule, or tries what it can reach.',
    },
  };
}

/** The longest that any service may take for a token request: whatever takes longer is not a service's fault. */
export function longestRequestMs({ services }: Pick<Environment, 'services'>): number {
  return Math.max(...Object.values(services).map(({ requestTimeoutMs }) => requestTimeoutMs));
}
