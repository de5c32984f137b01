import {
  CloudFormation,
  paginateDescribeStackResourceDrifts,
  paginateListStackResources,
  type StackResourceDrift,
} from '@aws-sdk/client-cloudformation';
import { type AlarmType, CloudWatch } from '@aws-sdk/client-cloudwatch';
import { Lambda } from '@aws-sdk/client-lambda';
import { SNS } from '@aws-sdk/client-sns';
import type { Shell } from '../../client/commands/shell.ts';
import { ALIAS, functionName, NEXT_ALIAS, stackName, topicName } from '../../lib/settings/names.ts';
import { arn } from '../policy/statements.ts';
import { openClient } from '../shared/ask-aws.ts';
import { pause } from '../shared/operate.ts';
import { good, type Line, type Lines, unproven, type World, wrong } from './world.ts';

/** Lines that compare the stack in AWS with its template, and read what the template does not contain. */
export function describedLines(world: World): Lines {
  return {
    drift: () => world.as('lookup', (who) => examineDrift(world, who)),
    versions: () => world.as('emergency', (who) => examineVersions(world, who)),
    subscriptions: () => world.as('operator', (who) => examineSubscriptions(world, who)),
    alarms: () => world.as('lookup', (who) => examineAlarms(world, who)),
  };
}

/** Lets CloudFormation compare each property that the deployed template sets with the resource in AWS. */
async function examineDrift({ environment, place, send }: World, who: Shell): Promise<Line> {
  const client = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', who, place);
  const StackName = stackName(environment.name);
  const { StackDriftDetectionId } = await client.detectStackDrift({ StackName }, send);
  const read = () => client.describeStackDriftDetectionStatus({ StackDriftDetectionId }, send);
  let detection = await read();
  for (let waited = 0; detection.DetectionStatus === 'DETECTION_IN_PROGRESS' && waited < DRIFT_MS; waited += POLL_MS) {
    await pause(who, POLL_MS);
    detection = await read();
  }
  const differences: string[] = [];
  const input = { StackName, StackResourceDriftStatusFilters: [...DIFFERENT] };
  for await (const { StackResourceDrifts = [] } of paginateDescribeStackResourceDrifts({ client }, input, send)) {
    differences.push(...StackResourceDrifts.flatMap(differencesOf));
  }
  if (differences.length > 0) return wrong(differences.join('; '), DIFFERS);
  return detection.DetectionStatus === 'DETECTION_COMPLETE'
    ? good('Each resource is as its template says')
    : unproven(detection.DetectionStatusReason ?? 'CloudFormation has not finished its comparison');
}

/** CloudFormation needs a minute or two for the resources of the stack. */
const DRIFT_MS = 170_000;
const POLL_MS = 2_000;
const DIFFERENT = ['MODIFIED', 'DELETED'] as const;

/** Returns `<resource> <type>: <property> is <value>, and must be <value>`, or that the resource is missing. */
function differencesOf({ LogicalResourceId, ResourceType, PropertyDifferences = [], ...drift }: StackResourceDrift) {
  const name = `${LogicalResourceId} ${ResourceType}`;
  if (drift.StackResourceDriftStatus === 'DELETED') return [`${name}: missing`];
  return PropertyDifferences.map(({ PropertyPath, ActualValue, ExpectedValue }) => {
    return `${name}: ${PropertyPath} is ${short(ActualValue)}, and must be ${short(ExpectedValue)}`;
  });
}

/** Returns the beginning of a value. A policy would fill the screen. */
function short(value = 'missing'): string {
  return value.length > 80 ? `${value.slice(0, 80)}…` : value;
}

const DIFFERS = 'Deploy these settings. If no deployment changed it, the records of CloudTrail show who did.';

/** Checks that every alias has the same single version, which then gets all calls. */
async function examineVersions({ environment, place, send }: World, who: Shell): Promise<Line> {
  const lambda = openClient((config) => new Lambda(config), 'LAMBDA', who, place);
  const FunctionName = functionName(environment.name);
  const answers = (environment.canary === 'off' ? [ALIAS] : [ALIAS, NEXT_ALIAS]).map((Name) =>
    lambda.getAlias({ FunctionName, Name }, send),
  );
  const versions = (await Promise.all(answers)).flatMap(({ FunctionVersion = '', RoutingConfig }) => [
    FunctionVersion,
    ...Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {}),
  ]);
  const detail = `Versions of the aliases: ${[...new Set(versions)].join(' and ')}`;
  return /^(\d+)(?:,\1)*$/.test(`${versions}`)
    ? good(detail)
    : wrong(`${detail}, and must be a single number`, DIFFERS);
}

/** Checks that each address of `notify`, or any, has a confirmed subscription, so that messages reach the operators. */
async function examineSubscriptions({ environment, place, send }: World, who: Shell): Promise<Line> {
  const TopicArn = arn(environment, 'sns', topicName(environment.name));
  const sns = openClient((config) => new SNS(config), 'SNS', who, place);
  const { Attributes } = await sns.getTopicAttributes({ TopicArn }, send);
  const confirmed = Attributes?.SubscriptionsConfirmed ?? '0';
  const addresses = environment.health.notify.length;
  const detail = `Confirmed subscriptions of ${TopicArn}: ${confirmed}, for ${addresses} addresses of notify`;
  return Number(confirmed) < Math.max(1, addresses)
    ? wrong(detail, 'docs/alarms.md, "Subscribe an address", says how to bring one back.')
    : good(detail);
}

async function examineAlarms({ environment, place, send }: World, who: Shell): Promise<Line> {
  const client = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', who, place);
  const AlarmNames: string[] = [];
  const stack = { StackName: stackName(environment.name) };
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, stack, send)) {
    const alarms = StackResourceSummaries.filter(({ ResourceType = '' }) => /Alarm$/.test(ResourceType));
    AlarmNames.push(...alarms.map(({ PhysicalResourceId = '' }) => PhysicalResourceId));
  }
  const cloudwatch = openClient((config) => new CloudWatch(config), 'CLOUDWATCH', who, place);
  const AlarmTypes: AlarmType[] = ['MetricAlarm', 'CompositeAlarm'];
  const asked = { AlarmNames, AlarmTypes, MaxRecords: 100 };
  const { MetricAlarms = [], CompositeAlarms = [] } = await cloudwatch.describeAlarms(asked, send);
  const ringing = [...MetricAlarms, ...CompositeAlarms].filter(({ StateValue }) => StateValue === 'ALARM');
  const silent = MetricAlarms.filter(({ StateReason = '' }) => NO_DATA.test(StateReason));
  const namesOf = (alarms: typeof ringing) => alarms.map(({ AlarmName }) => AlarmName).join(', ');
  if (ringing.length > 0) return wrong(`In ALARM: ${namesOf(ringing)}`, 'docs/messages.md, "Alarms", explains each.');
  const none = `No alarm of ${AlarmNames.length} in ALARM`;
  return silent.length > 0
    ? unproven(`${none}; no data yet for ${namesOf(silent)}`)
    : good(`${none}, and each has had data`);
}

const NO_DATA = /Unchecked: Initial alarm creation|no datapoints were received/;
