import { isDeepStrictEqual } from 'node:util';
import { membersOf } from '../../../functions/broker/json.ts';
import { sealingKeyName } from '../../../functions/contract.ts';
import {
  ALIAS,
  functionName,
  healthFunctionName,
  stackName,
  tableName,
  topicName,
  urlParameterName,
} from '../../../lib/settings/names.ts';
import { arn } from '../own-policies.ts';
import { elementOf } from '../shared/ask-aws.ts';
import { compared, good, type Line, type Properties, unproven, type World, wrong } from './world.ts';

const DEPLOY = 'Deploy; a change that no deployment made is in the records of CloudTrail.';

/** What AWS says of the parts of the stack, compared with what the settings of this checkout make of them. */
export const DESCRIBED: readonly Line[] = [
  {
    line: 'stack',
    async look({ stack }) {
      const status = elementOf(stack, 'StackStatus') ?? 'unknown';
      const isProtected = elementOf(stack, 'EnableTerminationProtection') === 'true';
      return compared(
        `${status}, protected from deletion`,
        [
          !/^(?:CREATE|UPDATE)_COMPLETE$/.test(status) && `it is ${status}`,
          !isProtected && 'it is not protected from deletion',
        ],
        'Deploy; docs/operations.md, "When a deployment fails", says what to do when that fails.',
      );
    },
  },
  {
    line: 'table',
    async look({ asker, environment, keyArn, synthesised }) {
      const TableName = tableName(environment.name);
      const ask = (operation: string) =>
        asker.json('lookup', 'dynamodb', operation, { target: `DynamoDB_20120810.${operation}`, body: { TableName } });
      const [template] = synthesised('AWS::DynamoDB::Table');
      const table: Properties = (await ask('DescribeTable')).Table;
      const ttl: Properties = (await ask('DescribeTimeToLive')).TimeToLiveDescription;
      const wanted = template.TimeToLiveSpecification.AttributeName;
      return compared(
        `${TableName}: protected, encrypted with the key of the stack, TTL on ${wanted}`,
        [
          table?.DeletionProtectionEnabled !== true && 'it is not protected from deletion',
          table?.SSEDescription?.KMSMasterKeyArn !== keyArn && 'it is not encrypted with the key of the stack',
          (ttl?.TimeToLiveStatus !== 'ENABLED' || ttl?.AttributeName !== wanted) && `it has no TTL on ${wanted}`,
        ],
        DEPLOY,
      );
    },
  },
  {
    line: 'key',
    async look({ asker, keyArn }) {
      const ask = (operation: string) =>
        asker.json('lookup', 'kms', operation, { target: `TrentService.${operation}`, body: { KeyId: keyArn } });
      const key: Properties = (await ask('DescribeKey')).KeyMetadata;
      const { KeyRotationEnabled } = await ask('GetKeyRotationStatus');
      return compared(
        `${keyArn} is enabled, and AWS rotates it`,
        [key?.KeyState !== 'Enabled' && `it is ${key?.KeyState}`, KeyRotationEnabled !== true && 'it is not rotated'],
        `${DEPLOY} A key of your own (keyArn) is rotated by you.`,
      );
    },
  },
  {
    line: 'sealing-key',
    async look({ asker, environment, keyArn }) {
      const SecretId = sealingKeyName(environment.name);
      const question = { target: 'secretsmanager.DescribeSecret', body: { SecretId } };
      const { KmsKeyId, DeletedDate } = await asker.json('lookup', 'secretsmanager', 'DescribeSecret', question);
      return compared(
        `${SecretId} is encrypted with the key of the stack`,
        [
          KmsKeyId !== keyArn && 'it is not encrypted with the key of the stack',
          DeletedDate !== undefined && 'it is marked for deletion',
        ],
        DEPLOY,
      );
    },
  },
  {
    line: 'logs',
    async look({ asker, environment, synthesised }) {
      const body = { logGroupNamePrefix: `${stackName(environment.name)}-` };
      const question = { target: 'Logs_20140328.DescribeLogGroups', body };
      const { logGroups } = await asker.json('lookup', 'logs', 'DescribeLogGroups', question);
      const found: readonly Properties[] = Array.isArray(logGroups) ? logGroups : [];
      const count = synthesised('AWS::Logs::LogGroup').length;
      const days = environment.logRetentionDays;
      return compared(
        `${found.length} log groups keep their lines for ${days} days`,
        [
          found.length < count && `there are ${found.length} of ${count}`,
          ...found.map(
            (one) => one.retentionInDays !== days && `${one.logGroupName} keeps ${one.retentionInDays ?? 'all'} days`,
          ),
          ...found.map((one) => one.kmsKeyId === undefined && `${one.logGroupName} is not encrypted`),
        ],
        DEPLOY,
      );
    },
  },
  {
    line: 'versions',
    async look({ asker, environment, synthesised }) {
      const path = `/2015-03-31/functions/${functionName(environment.name)}`;
      const wanted = synthesised('AWS::Lambda::Alias').map(({ Name }) => `${Name}`);
      const aliases = await Promise.all(
        wanted.map(
          async (name): Promise<Properties> =>
            asker.json('emergency', 'lambda', 'GetAlias', { path: `${path}/aliases/${name}` }),
        ),
      );
      const { Versions } = await asker.json('emergency', 'lambda', 'ListVersionsByFunction', {
        path: `${path}/versions`,
      });
      const count = Array.isArray(Versions) ? Versions.length - 1 : 0;
      const [live] = aliases;
      return compared(
        `${ALIAS} is version ${live?.FunctionVersion}, of ${count} that are kept`,
        [
          ...aliases.map(
            ({ Name, FunctionVersion }) => !/^\d+$/.test(FunctionVersion) && `${Name} is ${FunctionVersion}`,
          ),
          ...aliases.map(
            ({ Name, RoutingConfig }) =>
              Object.keys(membersOf(RoutingConfig?.AdditionalVersionWeights)).length > 0 &&
              `${Name} gives a part of its calls to another version`,
          ),
          aliases.some(({ FunctionVersion }) => FunctionVersion !== live?.FunctionVersion) &&
            'the version that was deployed last is not the one that has the calls',
        ],
        'Is a deployment under way? Else see `release list`, and deploy.',
      );
    },
  },
  {
    line: 'subscriptions',
    async look({ asker, environment }) {
      const TopicArn = arn(environment, 'sns', topicName(environment.name));
      const xml = await asker.xml('operator', 'sns', 'GetTopicAttributes', { TopicArn });
      const count = /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(xml)?.[1] ?? '0';
      return Number(count) > 0
        ? good(`${count} confirmed`)
        : wrong(
            'None is confirmed: neither alarms nor messages reach an operator',
            'Have an address of notify confirm the e-mail of AWS, or subscribe a chat or a pager to the topic.',
          );
    },
  },
  {
    line: 'trail',
    isFor: ({ environment }) => environment.trail !== 'off',
    async look({ asker, environment }) {
      const question = {
        target: 'CloudTrail_20131101.GetTrailStatus',
        body: { Name: arn(environment, 'cloudtrail', `trail/${functionName(environment.name)}`) },
      };
      const { IsLogging } = await asker.json('lookup', 'cloudtrail', 'GetTrailStatus', question);
      return compared(
        'CloudTrail records',
        [IsLogging !== true && 'it does not record'],
        'Follow "A record of the trail" in docs/operations.md.',
      );
    },
  },
  {
    line: 'event-rule',
    async look({ asker, environment, synthesised }) {
      const question = { target: 'AWSEvents.ListRules', body: { NamePrefix: `${stackName(environment.name)}-` } };
      const { Rules } = await asker.json('lookup', 'events', 'ListRules', question);
      const found: readonly Properties[] = Array.isArray(Rules) ? Rules : [];
      const [template] = synthesised('AWS::Events::Rule');
      const rule = found.find(({ EventPattern }) =>
        isDeepStrictEqual(JSON.parse(EventPattern ?? '{}'), template.EventPattern),
      );
      return compared(
        'New versions of secrets start the health function',
        [
          rule === undefined && 'no rule has the pattern of the template',
          rule !== undefined && rule.State !== template.State && `it is ${rule.State}`,
        ],
        DEPLOY,
      );
    },
  },
  {
    line: 'schedule',
    async look({ asker, environment, synthesised }) {
      const name = healthFunctionName(environment.name);
      const schedule: Properties = await asker.json('lookup', 'scheduler', 'GetSchedule', {
        path: `/schedules/${name}`,
      });
      const [template] = synthesised('AWS::Scheduler::Schedule');
      return compared(
        `Health runs at ${template.ScheduleExpression}`,
        [
          schedule.State !== template.State && `it is ${schedule.State}`,
          schedule.ScheduleExpression !== template.ScheduleExpression &&
            `it is ${schedule.ScheduleExpression}, and the settings say ${template.ScheduleExpression}`,
        ],
        DEPLOY,
      );
    },
  },
  {
    line: 'dashboard',
    async look({ asker, synthesised }) {
      const [{ DashboardName }] = synthesised('AWS::CloudWatch::Dashboard') as readonly [Properties];
      const xml = await asker.xml('lookup', 'monitoring', 'GetDashboard', { DashboardName });
      const widgets = xml.split('&quot;type&quot;').length - 1 || xml.split('"type"').length - 1;
      return compared(`${DashboardName} has ${widgets} widgets`, [widgets === 0 && 'it is empty'], DEPLOY);
    },
  },
  {
    line: 'url-parameter',
    async look({ asker, environment, url }) {
      const Name = urlParameterName(environment.name);
      const { Parameter } = await asker.json('lookup', 'ssm', 'GetParameter', {
        target: 'AmazonSSM.GetParameter',
        body: { Name },
      });
      return compared(`${Name} is the URL`, [membersOf(Parameter).Value !== url && `${Name} is another URL`], DEPLOY);
    },
  },
  { line: 'alarms', look: examineAlarms },
];

async function examineAlarms({ asker, synthesised }: World) {
  const wanted: readonly string[] = synthesised('AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
  const members = Object.fromEntries(wanted.map((name, index) => [`AlarmNames.member.${index + 1}`, name]));
  const xml = await asker.xml('lookup', 'monitoring', 'DescribeAlarms', { ...members, MaxRecords: '100' });
  const alarms = xml
    .split('<AlarmName>')
    .slice(1)
    .map((text) => ({
      name: text.slice(0, text.indexOf('<')),
      state: elementOf(text, 'StateValue'),
      reason: elementOf(text, 'StateReason') ?? '',
    }));
  const named = (of: typeof alarms) => of.map(({ name }) => name).join(', ');
  const missing = wanted.filter((name) => !alarms.some((alarm) => alarm.name === name));
  if (missing.length > 0) return wrong(`There is no ${missing.join(', ')}`, DEPLOY);
  const ringing = alarms.filter(({ state }) => state === 'ALARM');
  if (ringing.length > 0)
    return wrong(`In ALARM: ${named(ringing)}`, 'docs/operations.md, "Alarms", says what each means.');
  const silent = alarms.filter(({ state, reason }) => state === 'INSUFFICIENT_DATA' || NO_DATA.test(reason));
  const count = `${alarms.length} alarms, none in ALARM`;
  return silent.length === 0
    ? good(`${count}, each has had data`)
    : unproven(`${count}; no data yet for ${named(silent)}`);
}

/** How CloudWatch says that an alarm has seen no value. */
const NO_DATA = /Unchecked: Initial alarm creation|no datapoints were received/;
