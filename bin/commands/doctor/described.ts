import { isDeepStrictEqual } from 'node:util';
import { SNS } from '@aws-sdk/client-sns';
import { parseJson } from '../../../functions/broker/json.ts';
import { functionName, healthFunctionName, stackName, tableName, topicName } from '../../../lib/settings/names.ts';
import { arn } from '../policy/statements.ts';
import { openClient } from '../shared/ask-aws.ts';
import { good, type Line, type Lines, type Properties, type Question, unproven, type World, wrong } from './world.ts';

/** Lines that compare AWS's description of the stack with the template that this checkout's settings make. */
export function describedLines(world: World): Lines {
  const rows = Object.entries(rowsOf(world)).map(([line, [question, wanted]]) => [
    line,
    async () => compared(await world.look('lookup', ...question), wanted),
  ]);
  return {
    ...Object.fromEntries(rows),
    versions: () => examineVersions(world),
    subscriptions: () => examineSubscriptions(world),
    alarms: () => examineAlarms(world),
  };
}

/** A question, and the wanted members of the answer by dotted path. A path continues in each entry of a list. */
type Row = readonly [question: Question, wanted: Readonly<Record<string, unknown>>];

function rowsOf({ environment, keyArn, synthesised }: World): Readonly<Record<string, Row>> {
  const { name, trail, health, logRetentionDays } = environment;
  const TableName = tableName(name);
  const prefix = `${stackName(name)}-`;
  const [{ TimeToLiveSpecification }] = synthesised('AWS::DynamoDB::Table');
  const [{ EventPattern }] = synthesised('AWS::Events::Rule');
  const [{ DashboardName }] = synthesised('AWS::CloudWatch::Dashboard');
  const trailArn = arn(environment, 'cloudtrail', `trail/${functionName(name)}`);
  const isRecorded: Row = [['cloudtrail', 'GetTrailStatus', { Name: trailArn }], { IsLogging: true }];
  return {
    table: [
      ['dynamodb', 'DescribeTable', { TableName }],
      { 'Table.DeletionProtectionEnabled': true, 'Table.SSEDescription.KMSMasterKeyArn': keyArn },
    ],
    'table-ttl': [
      ['dynamodb', 'DescribeTimeToLive', { TableName }],
      {
        'TimeToLiveDescription.TimeToLiveStatus': 'ENABLED',
        'TimeToLiveDescription.AttributeName': TimeToLiveSpecification.AttributeName,
      },
    ],
    // AWS reports the rotation of a disabled key by its old setting.
    key: [['kms', 'DescribeKey', { KeyId: keyArn }], { 'KeyMetadata.KeyState': 'Enabled' }],
    'key-rotation': [['kms', 'GetKeyRotationStatus', { KeyId: keyArn }], { KeyRotationEnabled: true }],
    logs: [
      ['logs', 'DescribeLogGroups', { logGroupNamePrefix: prefix }],
      { 'logGroups.retentionInDays': logRetentionDays, 'logGroups.kmsKeyId': keyArn },
    ],
    ...(trail !== 'off' && { trail: isRecorded }),
    'event-rule': [
      ['events', 'ListRules', { NamePrefix: prefix }],
      { 'Rules.State': 'ENABLED', 'Rules.EventPattern': EventPattern },
    ],
    schedule: [
      ['scheduler', 'GetSchedule', undefined, `/schedules/${healthFunctionName(name)}`],
      { State: 'ENABLED', ScheduleExpression: health.every },
    ],
    dashboard: [['monitoring', 'GetDashboard', { DashboardName }], { DashboardName }],
  };
}

/** Returns good when each member is present and, in every entry of a list, has the wanted value. */
function compared(answer: Properties, wanted: Row[1]): Line {
  const all = Object.entries(wanted).map(([path, value]) => ({ path, value, seen: valuesAt(answer, path) }));
  const different = all.filter(({ value, seen }) => seen.length === 0 || !seen.every((one) => isSame(one, value)));
  if (different.length === 0) return good(all.map(({ path, value }) => `${path}: ${textOf(value)}`).join('; '));
  const told = different.map(({ path, value, seen }) => {
    return `${path}: ${seen.map(textOf).join(', ') || 'missing'}, and must be ${textOf(value)}`;
  });
  return wrong(told.join('; '), DIFFERS);
}

function valuesAt(answer: Properties, path: string): readonly unknown[] {
  return path.split('.').reduce((values, member) => values.flatMap((value) => value?.[member]), [answer]);
}

/** Compares values. AWS returns an event pattern as text. */
function isSame(seen: unknown, wanted: unknown): boolean {
  return isDeepStrictEqual(typeof wanted === 'object' ? parseJson(`${seen}`) : seen, wanted);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing');
}

const DIFFERS = 'Deploy these settings. If no deployment changed it, the records of CloudTrail show who did.';

/** Checks that every alias has the same single version, which then gets all calls. */
async function examineVersions({ look, environment, synthesised }: World): Promise<Line> {
  const path = `/2015-03-31/functions/${functionName(environment.name)}/aliases`;
  const answers = synthesised('AWS::Lambda::Alias').map(({ Name }) =>
    look('emergency', 'lambda', 'GetAlias', undefined, `${path}/${Name}`),
  );
  const aliases = (await Promise.all(answers)).map(({ FunctionVersion, RoutingConfig }) =>
    [FunctionVersion, ...Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {})].join(' and '),
  );
  const [version = ''] = aliases;
  return compared(
    { 'version of each alias': aliases },
    { 'version of each alias': /^\d+$/.test(version) ? version : 'one version by its number' },
  );
}

/** Checks that a subscription of the topic is confirmed, so that alarms and messages reach an operator. */
async function examineSubscriptions({ as, environment, place, send }: World): Promise<Line> {
  const TopicArn = arn(environment, 'sns', topicName(environment.name));
  const { Attributes } = await as('operator', (who) => {
    const sns = openClient((config) => new SNS(config), 'SNS', who, place);
    return sns.getTopicAttributes({ TopicArn }, send);
  });
  const confirmed = Attributes?.SubscriptionsConfirmed ?? '0';
  const detail = `Confirmed subscriptions of ${TopicArn}: ${confirmed}`;
  return confirmed === '0'
    ? wrong(detail, 'docs/alarms.md, "Alarms", says what to do about operators-unreachable.')
    : good(detail);
}

async function examineAlarms({ look, synthesised }: World): Promise<Line> {
  const AlarmNames: readonly string[] = synthesised('AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
  const { MetricAlarms = [] } = await look('lookup', 'monitoring', 'DescribeAlarms', { AlarmNames, MaxRecords: 100 });
  const namesOf = (alarms: readonly Properties[]) => alarms.map(({ AlarmName }) => AlarmName);
  const missing = AlarmNames.filter((name) => !namesOf(MetricAlarms).includes(name));
  const ringing = namesOf(MetricAlarms.filter(({ StateValue }: Properties) => StateValue === 'ALARM'));
  const silent = namesOf(MetricAlarms.filter(({ StateReason }: Properties) => NO_DATA.test(StateReason)));
  if (missing.length > 0) return wrong(`There is no ${missing.join(', ')}`, DIFFERS);
  if (ringing.length > 0) return wrong(`In ALARM: ${ringing.join(', ')}`, 'docs/alarms.md, "Alarms", explains each.');
  const none = `No alarm of ${MetricAlarms.length} in ALARM`;
  return silent.length > 0
    ? unproven(`${none}; no data yet for ${silent.join(', ')}`)
    : good(`${none}, and each has had data`);
}

const NO_DATA = /Unchecked: Initial alarm creation|no datapoints were received/;
