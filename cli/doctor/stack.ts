import {
  CloudFormation,
  paginateDescribeStackResourceDrifts,
  paginateListStackResources,
  type StackResourceDrift,
} from '@aws-sdk/client-cloudformation';
import { type AlarmType, CloudWatch } from '@aws-sdk/client-cloudwatch';
import { Lambda } from '@aws-sdk/client-lambda';
import { SNS } from '@aws-sdk/client-sns';
import { ask } from '../../client/commands/doctor/reach.ts';
import type { DoctorStep } from '../../client/commands/doctor/step.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { ALIAS, functionName, NEXT_ALIAS, stackName, topicName } from '../../lib/settings/names.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { arn } from '../policy/statements.ts';
import { awsFailure, isRefused, openClient } from '../shared/ask-aws.ts';
import { findingsTable, runHealth, summaryOf } from '../shared/health-run.ts';
import { awsConfig, pause } from '../shared/operate.ts';
import { good, type Line, openWorld, type Role, type StackOptions, unproven, type World, wrong } from './world.ts';

/** Runs `doctor --stack`: yields one step for each proof. `before` contains the steps of the call. */
export async function* examineStack(
  shell: Shell,
  settings: Environment,
  options: StackOptions,
  before: readonly DoctorStep[],
): AsyncGenerator<DoctorStep> {
  const { name, account, region } = settings;
  const world = await openWorld(shell, settings, options);
  // A file of the output names its place and its date.
  const stack = `the stack of ${name} in account ${account}, region ${region}, at ${new Date().toISOString()}`;
  note(shell, `Looking at ${stack}, which takes at most three minutes.`);
  const lines = Object.entries(LINES).filter(([step]) => step !== 'direct-invoke' || options.guarded);
  // The advice of a single cause ends the command. A failed call comes first, because these lines contain their advice.
  const isCallGood = before.every(({ cause }) => cause === undefined);
  const steps = await Promise.all(
    lines.map(async ([step, [role, look]]): Promise<DoctorStep> => {
      const seen = await world.as(role, (who) => look(world, who)).catch(unanswered);
      return { step, ...seen, ...(seen.outcome === 'failed' && isCallGood && { cause: step }) };
    }),
  );
  yield* steps;
  const unknown = [...before, ...steps].filter(({ outcome }) => outcome === 'unknown');
  if (unknown.length > 0) note(shell, `Not proven: ${unknown.map(({ step }) => step).join(', ')}.`);
}

/** Returns unproven for a line that AWS refuses to show, and failed for a missing resource. */
function unanswered(error: unknown): Line {
  if (!isRefused(error)) throw error;
  const isSilent = error.type.startsWith('aws-') && error.type !== 'aws-not-found';
  return isSilent ? unproven(error.detail) : wrong(error.detail, error.advice);
}

/** The proof of each line, which changes nothing, and the role that may ask AWS for it. */
const LINES = {
  drift: ['lookup', examineDrift],
  versions: ['emergency', examineVersions],
  subscriptions: ['operator', examineSubscriptions],
  alarms: ['lookup', examineAlarms],
  'unsigned-call': ['operator', callUnsigned],
  'health-run': ['deploy', runOnce],
  'direct-invoke': ['direct', tryDirectInvocation],
} as const satisfies Record<string, readonly [Role, (world: World, who: Shell) => Promise<Line>]>;

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

async function callUnsigned({ shell, options, outputUrl }: World): Promise<Line> {
  const url = new URL('/whoami', URL.parse(options.url ?? '') ?? outputUrl);
  const answer = await ask(url, 'POST', shell.signal);
  if ('code' in answer) return unproven(`No answer from ${url.origin} (${answer.code})`);
  if (answer.status === 403) return good('It is refused with 403');
  return wrong(
    `It is answered with ${answer.status}`,
    'Treat it as a breach: the Function URL must have the authorization AWS_IAM. Stop the broker, then deploy.',
  );
}

/** Runs health as the schedule does. The run includes a role without a rule, which must be refused. */
async function runOnce({ shell, environment }: World, who: Shell): Promise<Line> {
  const { pairs, faults } = await runHealth(who, environment, RUN_MS);
  if (pairs.length > 0) shell.stderr.write(findingsTable(pairs));
  return faults.length === 0
    ? good(`${summaryOf(pairs)}; a role without an access rule was refused`)
    : wrong(faults.join('; '), 'The version in use is faulty: fix it, or go back (release back).');
}

/** Long enough for a few clients, whose run takes seconds. Thousands of clients are left to the schedule. */
const RUN_MS = 80_000;

/** Checks that the guard denies a direct invocation. Lambda authorizes a dry run like a call, but runs nothing. */
async function tryDirectInvocation({ environment, options, place, send }: World, who: Shell): Promise<Line> {
  const profile = options.profileDirect;
  if (profile === undefined) return unproven('--profile-direct must name a profile whose own policies allow it');
  const lambda = new Lambda(awsConfig(who, place, 'LAMBDA'));
  const input = { FunctionName: functionName(environment.name), Qualifier: ALIAS, InvocationType: 'DryRun' } as const;
  try {
    await lambda.invoke({ ...input, Payload: '{}' }, send);
  } catch (error) {
    const failure = awsFailure(error, `lambda:InvokeFunction as ${profile}`, place.region);
    if (failure.type !== 'aws-access-denied') throw failure;
    return failure.detail.includes('service control policy')
      ? good(`A service control policy denies it to the profile ${profile}`)
      : unproven(`Its own policies deny it to the profile ${profile}: choose a profile whose policies allow it`);
  }
  const may = `The profile ${profile} may invoke the function past its URL, and claim to be any caller`;
  return wrong(may, 'Attach the guard: docs/deploy.md, "Guard the function".');
}
