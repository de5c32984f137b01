import { type Alarm, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Alias } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Environment } from '../settings/environment.ts';
import { type AlarmDefinition, createAlarm, tooMuch } from './alarm.ts';
import { longestRequestMs } from './function-alarms.ts';
import { brokerMetrics } from './metrics.ts';

interface NewVersionAlarmsProps {
  readonly environment: Environment;
  /** It names the newest version. */
  readonly alias: Alias;
}

/**
 * What takes a new version back: bugs of its own, in the part of the traffic that it has. They count nothing of the version
 * before, whose bugs must not keep their own repair out, and no credential that a service rejects. Nobody is told: what
 * happens to any version is also told by the alarms of the function.
 */
export class NewVersionAlarms extends Construct {
  readonly alarms: readonly Alarm[];

  constructor(scope: Construct, id: string, { environment, alias }: NewVersionAlarmsProps) {
    super(scope, id);
    const { newVersionErrors, newVersionInternalErrors, newVersionP99Duration } = environment.alarms;
    const { version } = alias.version;
    const { functionName } = alias.lambda;
    const ofVersion = (metricName: string, statistic: string) =>
      new Metric({
        namespace: 'AWS/Lambda',
        metricName,
        // Calls of the alias that this version has answered.
        dimensionsMap: {
          FunctionName: functionName,
          Resource: `${functionName}:${alias.aliasName}`,
          ExecutedVersion: version,
        },
        statistic,
      });

    const definitions: Readonly<Record<string, AlarmDefinition | false>> = {
      newVersionErrors: newVersionErrors && {
        ...tooMuch(newVersionErrors, ofVersion('Errors', 'Sum')),
        means: 'The newest version of the token function crashed, ran out of memory or ran into its time-out.',
        act: `${GOES_BACK} The log of the function says which request it was.`,
      },
      newVersionInternalErrors: newVersionInternalErrors && {
        ...tooMuch(
          newVersionInternalErrors,
          brokerMetrics(environment.name)('Requests', { outcome: 'internal', version }),
        ),
        means: 'The newest version of the token function answered with the problem internal.',
        act: `${GOES_BACK} The audit lines with this outcome and version have a cause.`,
      },
      newVersionP99Duration: newVersionP99Duration && {
        ...tooMuch(
          { ...newVersionP99Duration, threshold: longestRequestMs(environment) + newVersionP99Duration.beyondMs },
          ofVersion('Duration', 'p99'),
        ),
        means: 'The newest version of the token function takes longer than any service is allowed to.',
        act: `${GOES_BACK} Compare its cold starts and its code with those of the version before.`,
      },
    };
    this.alarms = Object.entries(definitions).flatMap(([name, definition]) =>
      definition === false ? [] : [createAlarm(this, name, environment.name, definition)],
    );
  }
}

const GOES_BACK = 'During a deployment it is taken back by itself; mend it and deploy again.';
