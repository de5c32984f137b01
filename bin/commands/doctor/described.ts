import { isDeepStrictEqual } from 'node:util';
import { sealingKeyName } from '../../../functions/contract.ts';
import {
  functionName,
  healthFunctionName,
  stackName,
  tableName,
  urlParameterName,
} from '../../../lib/settings/names.ts';
import { elementOf } from '../shared/ask-aws.ts';
import { arn } from '../shared/statements.ts';
import { examineSubscriptions } from './operators.ts';
import { good, type Lines, type Properties, type Seen, unproven, wrong } from './world.ts';

/** What AWS says of the parts of the stack, compared with what the settings of this checkout make of them. */
export const DESCRIBED: Lines = {
  async stack({ stack }) {
    const status = elementOf(stack, 'StackStatus');
    return compared({
      status: [status, status === 'CREATE_COMPLETE' ? status : 'UPDATE_COMPLETE'],
      'protection from deletion': [elementOf(stack, 'EnableTerminationProtection'), 'true'],
    });
  },

  async table({ look, environment, keyArn, synthesised }) {
    const TableName = tableName(environment.name);
    const [{ TimeToLiveSpecification: wanted }] = synthesised('AWS::DynamoDB::Table');
    const { Table } = await look('dynamodb', 'DescribeTable', { body: { TableName } });
    const { TimeToLiveDescription: ttl } = await look('dynamodb', 'DescribeTimeToLive', { body: { TableName } });
    return compared({
      'protection from deletion': [Table?.DeletionProtectionEnabled, true],
      key: [Table?.SSEDescription?.KMSMasterKeyArn, keyArn],
      TTL: [`${ttl?.TimeToLiveStatus} on ${ttl?.AttributeName}`, `ENABLED on ${wanted.AttributeName}`],
    });
  },

  async key({ look, keyArn: KeyId }) {
    const { KeyMetadata } = await look('kms', 'DescribeKey', { body: { KeyId } });
    const { KeyRotationEnabled } = await look('kms', 'GetKeyRotationStatus', { body: { KeyId } });
    return compared({ state: [KeyMetadata?.KeyState, 'Enabled'], rotation: [KeyRotationEnabled, true] });
  },

  async 'sealing-key'({ look, environment, keyArn }) {
    const SecretId = sealingKeyName(environment.name);
    const { KmsKeyId, DeletedDate } = await look('secretsmanager', 'DescribeSecret', { body: { SecretId } });
    return compared({ key: [KmsKeyId, keyArn], 'mark for deletion': [Boolean(DeletedDate), false] });
  },

  async logs({ look, environment: { name, logRetentionDays: days }, keyArn, synthesised }) {
    const body = { logGroupNamePrefix: `${stackName(name)}-` };
    const { logGroups = [] } = await look('logs', 'DescribeLogGroups', { body });
    const missing = Math.max(0, synthesised('AWS::Logs::LogGroup').length - logGroups.length);
    const groups = logGroups.map(({ logGroupName, retentionInDays, kmsKeyId }: Properties) => [
      logGroupName,
      [`${retentionInDays} days, key ${kmsKeyId}`, `${days} days, key ${keyArn}`],
    ]);
    return compared({ 'missing log groups': [missing, 0], ...Object.fromEntries(groups) });
  },

  async versions({ look, environment, synthesised }) {
    const path = `/2015-03-31/functions/${functionName(environment.name)}/aliases`;
    const names = synthesised('AWS::Lambda::Alias').map(({ Name }) => `${Name}`);
    const aliases = await Promise.all(names.map((name) => look('lambda', 'GetAlias', { path: `${path}/${name}` })));
    // All of them must have the version that callers get, which then has all calls.
    const wanted = `version ${/^\d+$/.exec(aliases[0].FunctionVersion)?.[0] ?? 'by its number'}`;
    const facts = aliases.map(({ FunctionVersion, RoutingConfig }, index) => {
      const [other] = Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {});
      return [names[index], [`version ${FunctionVersion}${other ? ` with a part for ${other}` : ''}`, wanted]];
    });
    return compared(Object.fromEntries(facts));
  },

  subscriptions: ({ query, environment }) => examineSubscriptions(query, environment, 'subscriptions'),

  async trail({ look, environment }) {
    if (environment.trail === 'off') return undefined;
    const Name = arn(environment, 'cloudtrail', `trail/${functionName(environment.name)}`);
    const { IsLogging } = await look('cloudtrail', 'GetTrailStatus', { body: { Name } });
    return compared({ recording: [IsLogging, true] });
  },

  async 'event-rule'({ look, environment, synthesised }) {
    const [template] = synthesised('AWS::Events::Rule');
    const body = { NamePrefix: `${stackName(environment.name)}-` };
    const { Rules = [] } = await look('events', 'ListRules', { body });
    const isOurs = ({ EventPattern = '{}' }) => isDeepStrictEqual(JSON.parse(EventPattern), template.EventPattern);
    return compared({ 'the rule with the pattern of the template': [Rules.find(isOurs)?.State, 'ENABLED'] });
  },

  async schedule({ look, environment }) {
    const path = `/schedules/${healthFunctionName(environment.name)}`;
    const { State, ScheduleExpression } = await look('scheduler', 'GetSchedule', { path });
    return compared({ state: [State, 'ENABLED'], interval: [ScheduleExpression, environment.health.every] });
  },

  async dashboard({ look, synthesised }) {
    const [{ DashboardName }] = synthesised('AWS::CloudWatch::Dashboard');
    const { DashboardBody } = await look('monitoring', 'GetDashboard', { body: { DashboardName } });
    return compared({ [DashboardName]: [`${DashboardBody}`.includes('markdown') ? 'filled' : 'empty', 'filled'] });
  },

  async 'url-parameter'({ look, environment, outputUrl }) {
    const Name = urlParameterName(environment.name);
    const { Parameter } = await look('ssm', 'GetParameter', { body: { Name } });
    return compared({ [Name]: [Parameter?.Value, outputUrl] });
  },

  async alarms({ look, synthesised }) {
    const AlarmNames: readonly string[] = synthesised('AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
    const { MetricAlarms = [] } = await look('monitoring', 'DescribeAlarms', { body: { AlarmNames, MaxRecords: 100 } });
    const namesOf = (alarms: readonly Properties[]) => alarms.map(({ AlarmName }) => AlarmName);
    const missing = AlarmNames.filter((name) => !namesOf(MetricAlarms).includes(name));
    const ringing = MetricAlarms.filter(({ StateValue }: Properties) => StateValue === 'ALARM');
    const silent = MetricAlarms.filter(({ StateReason }: Properties) => NO_DATA.test(StateReason));
    if (missing.length > 0) return wrong(`There is no ${missing.join(', ')}`, DIFFERS);
    if (ringing.length > 0)
      return wrong(`In ALARM: ${namesOf(ringing).join(', ')}`, 'docs/operations.md, "Alarms", explains each.');
    const none = `None of ${MetricAlarms.length} in ALARM`;
    if (silent.length > 0) return unproven(`${none}; no data ever for ${namesOf(silent).join(', ')}`);
    return good(`${none}, and each has had data`);
  },
};

const NO_DATA = /Unchecked: Initial alarm creation|no datapoints were received/;

/** Good when each fact is what it must be. */
function compared(facts: Readonly<Record<string, readonly [seen: unknown, wanted: unknown]>>): Seen {
  const all = Object.entries(facts).map(([name, [seen, wanted]]) => ({ name, seen, wanted }));
  const different = all.filter(({ seen, wanted }) => seen !== wanted);
  if (different.length === 0) return good(all.map(({ name, seen }) => `${name}: ${seen}`).join('; '));
  const told = different.map(({ name, seen = 'missing', wanted }) => `${name}: ${seen}, and must be ${wanted}`);
  return wrong(told.join('; '), DIFFERS);
}

const DIFFERS =
  'Deploy what these settings say. If no deployment changed it, look in the records of CloudTrail for who did.';
