import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { SNS } from '@aws-sdk/client-sns';
import { askService } from '../../../bin/commands/shared/ask-aws.ts';
import { awsConfig } from '../../../bin/commands/shared/aws-config.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Deployed } from '../aws/cloudformation.ts';

/**
 * Makes in moto what `doctor --stack` looks at, from the resources of a deployed stack, and a client that is marked for
 * deletion. moto cannot deploy the template itself.
 */
export async function makeInMoto(shell: Shell, resources: readonly Deployed[], stackName: string, region: string) {
  const place = { environment: 'dev', region };
  const put = askService(shell, region);
  const all = (type: string) => resources.filter((one) => one.type === type).map(({ properties }) => properties);
  const one = (type: string) => all(type)[0];

  const key = await put('kms', 'CreateKey', {});
  const { Arn: keyArn, KeyId } = Object(key.KeyMetadata);
  await put('kms', 'EnableKeyRotation', { KeyId });

  const { TimeToLiveSpecification, ...table } = one('AWS::DynamoDB::Table');
  const { TableName, AttributeDefinitions, KeySchema, BillingMode, DeletionProtectionEnabled } = table;
  const SSESpecification = { Enabled: true, SSEType: 'KMS', KMSMasterKeyId: keyArn };
  const described = { TableName, AttributeDefinitions, KeySchema, BillingMode, DeletionProtectionEnabled };
  await put('dynamodb', 'CreateTable', { ...described, SSESpecification });
  await put('dynamodb', 'UpdateTimeToLive', { TableName, TimeToLiveSpecification });

  const gone = `${stackName.replace('TokenBroker-', 'token-broker/')}/gone`;
  const { Name: sealingKey } = one('AWS::SecretsManager::Secret');
  for (const [ClientRequestToken, Name] of [sealingKey, gone].map((name, index) => [`${index}`.repeat(32), name])) {
    await put('secretsmanager', 'CreateSecret', { Name, KmsKeyId: keyArn, ClientRequestToken });
  }
  await put('secretsmanager', 'DeleteSecret', { SecretId: gone, RecoveryWindowInDays: 30 });

  for (const [index, { RetentionInDays: retentionInDays }] of all('AWS::Logs::LogGroup').entries()) {
    const logGroupName = `${stackName}-Log${index}`;
    await put('logs', 'CreateLogGroup', { logGroupName, kmsKeyId: keyArn });
    await put('logs', 'PutRetentionPolicy', { logGroupName, retentionInDays });
  }
  const EventPattern = JSON.stringify(one('AWS::Events::Rule').EventPattern);
  await put('events', 'PutRule', { Name: `${stackName}-Rule`, EventPattern, State: 'ENABLED' });
  const { Name: schedule, ScheduleExpression, State } = one('AWS::Scheduler::Schedule');
  const Target = { Arn: 'arn:aws:lambda:eu-west-1:111111111111:function:health', RoleArn: 'arn:aws:iam::1:role/r' };
  const body = { ScheduleExpression, State, Target, FlexibleTimeWindow: { Mode: 'OFF' } };
  await put('scheduler', 'CreateSchedule', body, `/schedules/${schedule}`);

  const { DashboardName, DashboardBody } = one('AWS::CloudWatch::Dashboard');
  await put('monitoring', 'PutDashboard', { DashboardName, DashboardBody });
  const metric = { MetricName: 'Requests', Namespace: 'TokenBroker', Period: 60, Statistic: 'Sum' };
  const compared = { ComparisonOperator: 'GreaterThanThreshold', Threshold: 1, EvaluationPeriods: 1 };
  const StateReason = '1 datapoint [0.0] was not greater than the threshold';
  for (const { AlarmName } of all('AWS::CloudWatch::Alarm')) {
    await put('monitoring', 'PutMetricAlarm', { AlarmName, ...metric, ...compared });
    await put('monitoring', 'SetAlarmState', { AlarmName, StateValue: 'OK', StateReason });
  }
  await new SNS(awsConfig(shell, place, 'SNS')).createTopic({ Name: one('AWS::SNS::Topic').TopicName });

  const Outputs = { Url: { Value: URL_IN_STACK }, KeyArn: { Value: keyArn } };
  const Resources = { Handle: { Type: 'AWS::CloudFormation::WaitConditionHandle' } };
  const TemplateBody = JSON.stringify({ Resources, Outputs });
  const protectedOne = { StackName: stackName, TemplateBody, EnableTerminationProtection: true };
  await new CloudFormation(awsConfig(shell, place, 'CLOUDFORMATION')).createStack(protectedOne);
}

/** The output `Url` of the stack in moto. */
const URL_IN_STACK = 'https://abc.lambda-url.eu-west-1.on.aws/';
