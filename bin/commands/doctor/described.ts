import { isDeepStrictEqual } from 'node:util';
import { sealingKeyName } from '../../../functions/contract.ts';
import {
  functionName,
  healthFunctionName,
  stackName,
  tableName,
  topicName,
  urlParameterName,
} from '../../../lib/settings/names.ts';
import { elementOf } from '../shared/ask-aws.ts';
import { arn } from '../shared/statements.ts';
import type { Properties } from './ask.ts';
import { compared, good, type Line, unproven, type World, wrong } from './world.ts';

/** What AWS says of the parts of the stack, compared with what the settings of this checkout make of them. */
export const DESCRIBED: readonly Line[] = [
  {
    line: 'stack',
    async look({ stack }) {
      const status = elementOf(stack, 'StackStatus') ?? 'unknown';
      const isProtected = elementOf(stack, 'EnableTerminationProtection') === 'true';
      return compared(`${status}, protected from deletion`, [
        !/^(?:CREATE|UPDATE)_COMPLETE$/.test(status) && `it is ${status}`,
        !isProtected && 'it is not protected from deletion',
      ]);
    },
  },
  {
    line: 'table',
    async look({ asker, environment, keyArn, synthesised }) {
      const TableName = tableName(environment.name);
      const [{ AttributeName: wanted }] = synthesised('AWS::DynamoDB::Table').map((one) => one.TimeToLiveSpecification);
      const { Table } = await asker.look('dynamodb', 'DynamoDB_20120810.DescribeTable', { TableName });
      const ttl = await asker.look('dynamodb', 'DynamoDB_20120810.DescribeTimeToLive', { TableName });
      const { TimeToLiveStatus, AttributeName } = ttl.TimeToLiveDescription ?? {};
      return compared(`${TableName} is protected, encrypted with the key of the stack, and has its TTL`, [
        Table?.DeletionProtectionEnabled !== true && 'it is not protected from deletion',
        Table?.SSEDescription?.KMSMasterKeyArn !== keyArn && 'it is not encrypted with the key of the stack',
        (TimeToLiveStatus !== 'ENABLED' || AttributeName !== wanted) && `it has no TTL on ${wanted}`,
      ]);
    },
  },
  {
    line: 'key',
    async look({ asker, keyArn: KeyId }) {
      const { KeyMetadata } = await asker.look('kms', 'TrentService.DescribeKey', { KeyId });
      const { KeyRotationEnabled } = await asker.look('kms', 'TrentService.GetKeyRotationStatus', { KeyId });
      return compared(`${KeyId} is enabled, and AWS rotates it`, [
        KeyMetadata?.KeyState !== 'Enabled' && `it is ${KeyMetadata?.KeyState}`,
        KeyRotationEnabled !== true && 'it is not rotated',
      ]);
    },
  },
  {
    line: 'sealing-key',
    async look({ asker, environment, keyArn }) {
      const SecretId = sealingKeyName(environment.name);
      const secret = await asker.look('secretsmanager', 'secretsmanager.DescribeSecret', { SecretId });
      return compared(`${SecretId} is encrypted with the key of the stack`, [
        secret.KmsKeyId !== keyArn && 'it is not encrypted with the key of the stack',
        Boolean(secret.DeletedDate) && 'it is marked for deletion',
      ]);
    },
  },
  {
    line: 'logs',
    async look({ asker, environment: { name, logRetentionDays: days }, synthesised }) {
      const prefix = { logGroupNamePrefix: `${stackName(name)}-` };
      const { logGroups = [] } = await asker.look('logs', 'Logs_20140328.DescribeLogGroups', prefix);
      const count = synthesised('AWS::Logs::LogGroup').length;
      return compared(`${logGroups.length} log groups are encrypted, and keep their lines for ${days} days`, [
        logGroups.length < count && `there are ${logGroups.length} of ${count}`,
        ...logGroups.map(({ logGroupName, retentionInDays, kmsKeyId }: Properties) => {
          const isRight = retentionInDays === days && kmsKeyId;
          return (
            !isRight && `${logGroupName} keeps ${retentionInDays ?? 'all'} days, ${kmsKeyId ? '' : 'not '}encrypted`
          );
        }),
      ]);
    },
  },
  {
    line: 'versions',
    async look({ asker, environment, synthesised }) {
      const path = `/2015-03-31/functions/${functionName(environment.name)}`;
      const names = synthesised('AWS::Lambda::Alias').map(({ Name }) => `${Name}`);
      const read = (of: string, operation: string): Promise<Properties> =>
        asker.json('emergency', 'lambda', operation, { path: `${path}/${of}` });
      const aliases = await Promise.all(names.map((name) => read(`aliases/${name}`, 'GetAlias')));
      const { Versions = [] } = await read('versions', 'ListVersionsByFunction');
      const [{ FunctionVersion: live }] = aliases;
      const isShared = aliases.some(
        ({ RoutingConfig }) => Object.keys(Object(RoutingConfig?.AdditionalVersionWeights))[0],
      );
      return compared(`Version ${live} has all calls; ${Versions.length - 1} are kept`, [
        !/^\d+$/.test(live) && `live is ${live}`,
        isShared && 'another version has a part of the calls: is a deployment under way?',
        aliases.some((one) => one.FunctionVersion !== live) && 'the newest version is not the one that has the calls',
      ]);
    },
  },
  {
    line: 'subscriptions',
    async look({ asker, environment }) {
      const TopicArn = arn(environment, 'sns', topicName(environment.name));
      const xml = await asker.xml('operator', 'sns', 'GetTopicAttributes', { TopicArn });
      const count = /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(xml)?.[1] ?? '0';
      if (Number(count) > 0) return good(`${count} confirmed`);
      const advice =
        'Have an address of notify confirm the e-mail of AWS, or subscribe a chat or a pager to the topic.';
      return wrong('None is confirmed: neither alarms nor messages reach an operator', advice);
    },
  },
  {
    line: 'trail',
    isFor: ({ environment }) => environment.trail !== 'off',
    async look({ asker, environment }) {
      const Name = arn(environment, 'cloudtrail', `trail/${functionName(environment.name)}`);
      const { IsLogging } = await asker.look('cloudtrail', 'CloudTrail_20131101.GetTrailStatus', { Name });
      return compared('CloudTrail records', [IsLogging !== true && 'it does not record']);
    },
  },
  {
    line: 'event-rule',
    async look({ asker, environment, synthesised }) {
      const [template] = synthesised('AWS::Events::Rule');
      const prefix = { NamePrefix: `${stackName(environment.name)}-` };
      const { Rules = [] } = await asker.look('events', 'AWSEvents.ListRules', prefix);
      const isOurs = ({ EventPattern = '{}' }) => isDeepStrictEqual(JSON.parse(EventPattern), template.EventPattern);
      const rule = Rules.find(isOurs);
      return compared('New versions of secrets start the health function', [
        rule === undefined && 'no rule has the pattern of the template',
        rule !== undefined && rule.State !== 'ENABLED' && `it is ${rule.State}`,
      ]);
    },
  },
  {
    line: 'schedule',
    async look({ asker, environment }) {
      const path = `/schedules/${healthFunctionName(environment.name)}`;
      const { State, ScheduleExpression } = await asker.json('lookup', 'scheduler', 'GetSchedule', { path });
      const { every } = environment.health;
      return compared(`Health runs at ${every}`, [
        State !== 'ENABLED' && `it is ${State}`,
        ScheduleExpression !== every && `it runs at ${ScheduleExpression}, and the settings say ${every}`,
      ]);
    },
  },
  {
    line: 'dashboard',
    async look({ asker, synthesised }) {
      const [{ DashboardName }] = synthesised('AWS::CloudWatch::Dashboard');
      const xml = await asker.xml('lookup', 'monitoring', 'GetDashboard', { DashboardName });
      const widgets = xml.split(/(?:"|&quot;)markdown(?:"|&quot;)/).length - 1;
      return compared(`${DashboardName} has ${widgets} sections`, [widgets === 0 && 'it is empty']);
    },
  },
  {
    line: 'url-parameter',
    async look({ asker, environment, outputUrl }) {
      const Name = urlParameterName(environment.name);
      const { Parameter } = await asker.look('ssm', 'AmazonSSM.GetParameter', { Name });
      return compared(`${Name} is the URL of the stack`, [Parameter?.Value !== outputUrl && 'it is another URL']);
    },
  },
  { line: 'alarms', look: examineAlarms },
];

async function examineAlarms({ asker, synthesised }: World) {
  const wanted: readonly string[] = synthesised('AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
  const members = Object.fromEntries(wanted.map((name, index) => [`AlarmNames.member.${index + 1}`, name]));
  const xml = await asker.xml('lookup', 'monitoring', 'DescribeAlarms', { ...members, MaxRecords: '100' });
  const [, ...texts] = xml.split('<AlarmName>');
  const alarms = texts.map((text) => ({
    name: text.slice(0, text.indexOf('<')),
    state: elementOf(text, 'StateValue'),
    hasData: !/Unchecked: Initial alarm creation|no datapoints were received/.test(
      elementOf(text, 'StateReason') ?? '',
    ),
  }));
  const missing = wanted.filter((name) => !alarms.some((alarm) => alarm.name === name));
  const ringing = alarms.flatMap(({ name, state }) => (state === 'ALARM' ? name : []));
  const silent = alarms.flatMap(({ name, hasData }) => (hasData ? [] : name));
  if (missing.length > 0) return compared('', [`there is no ${missing.join(', ')}`]);
  if (ringing.length > 0)
    return wrong(`In ALARM: ${ringing.join(', ')}`, 'docs/operations.md, "Alarms", explains each.');
  if (silent.length > 0) return unproven(`None of ${alarms.length} in ALARM; no data ever for ${silent.join(', ')}`);
  return good(`None of ${alarms.length} in ALARM, and each has had data`);
}
