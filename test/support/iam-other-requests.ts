import type { Context } from './iam-conditions.ts';
import type { Asked, Targets } from './iam-requests.ts';

/** Around functions and their logs, and the network that they may be in. */
export function computeRequests(targets: Targets): Record<string, Asked> {
  const { account, region, alias, next, functions, ownLog, otherLog } = targets;
  const iamUrl = { 'lambda:FunctionUrlAuthType': 'AWS_IAM' };
  const throughUrl = { 'lambda:InvokedViaFunctionUrl': 'true' };
  const pastUrl = { 'lambda:InvokedViaFunctionUrl': 'false' };
  const ec2 = (resource: string) => `arn:aws:ec2:${region}:${account}:${resource}`;
  const asCode = { 'lambda:SourceFunctionArn': functions.token };
  const anInterface = ec2('network-interface/eni-0123456789abcdef0');
  return {
    'create a stream in its log': ask('logs:CreateLogStream', logStream(ownLog)),
    'write to its log': ask('logs:PutLogEvents', logStream(ownLog)),
    'read its log': ask('logs:GetLogEvents', logStream(ownLog)),
    'search its log': ask('logs:FilterLogEvents', ownLog),
    'delete its log': ask('logs:DeleteLogGroup', ownLog),
    'shorten its log': ask('logs:PutRetentionPolicy', ownLog),
    'create a log': ask('logs:CreateLogGroup', ownLog),
    'write to another log': ask('logs:PutLogEvents', logStream(otherLog)),

    'call the URL': ask('lambda:InvokeFunctionUrl', alias, iamUrl),
    'call it without a signature': ask('lambda:InvokeFunctionUrl', alias, { 'lambda:FunctionUrlAuthType': 'NONE' }),
    'be invoked through the URL': ask('lambda:InvokeFunction', alias, throughUrl),
    'call the URL of the next version': ask('lambda:InvokeFunctionUrl', next, iamUrl),
    'be invoked through the URL of the next version': ask('lambda:InvokeFunction', next, throughUrl),
    'invoke the next version': ask('lambda:InvokeFunction', next, pastUrl),
    'start the release check': ask('lambda:InvokeFunction', functions.releaseCheck, pastUrl),
    'start a version of the release check': ask('lambda:InvokeFunction', `${functions.releaseCheck}:1`, pastUrl),
    'move the alias of the next version': ask('lambda:UpdateAlias', next),
    'invoke the token function': ask('lambda:InvokeFunction', functions.token, pastUrl),
    'invoke its alias': ask('lambda:InvokeFunction', alias, pastUrl),
    'invoke a version of it': ask('lambda:InvokeFunction', `${functions.token}:1`, pastUrl),
    'invoke it without saying how': ask('lambda:InvokeFunction', alias),
    'start the health function': ask('lambda:InvokeFunction', functions.health, pastUrl),
    'start a version of the health function': ask('lambda:InvokeFunction', `${functions.health}:1`, pastUrl),
    'change the code': ask('lambda:UpdateFunctionCode', functions.token),
    'change the settings of the code': ask('lambda:UpdateFunctionConfiguration', functions.token),
    'let others invoke': ask('lambda:AddPermission', alias),
    'read the code': ask('lambda:GetFunction', functions.token),
    'publish a version': ask('lambda:PublishVersion', functions.token),
    'read the alias': ask('lambda:GetAlias', functions.token),
    'move the alias': ask('lambda:UpdateAlias', functions.token),
    'move an alias of another function': ask('lambda:UpdateAlias', functions.health),
    'move another alias of it': ask('lambda:UpdateAlias', `${functions.token}:other`),
    'move the alias of a function with a longer name': ask('lambda:UpdateAlias', `${functions.token}-2`),
    'call the URL of a function with a longer name': ask(
      'lambda:InvokeFunctionUrl',
      `${functions.token}-2:live`,
      iamUrl,
    ),
    'start a function with a longer name': ask('lambda:InvokeFunction', `${functions.health}-2`, pastUrl),
    'read the provisioned concurrency': ask('lambda:GetProvisionedConcurrencyConfig', alias),

    'make a network interface': ask('ec2:CreateNetworkInterface', anInterface),
    'make it in the subnet': ask('ec2:CreateNetworkInterface', ec2('subnet/subnet-0123456789abcdef0')),
    'make it in the security group': ask('ec2:CreateNetworkInterface', ec2('security-group/sg-0123456789abcdef0')),
    'make it in another subnet': ask('ec2:CreateNetworkInterface', ec2('subnet/subnet-0123456789abcdef1')),
    'delete a network interface': ask('ec2:DeleteNetworkInterface', anInterface),
    'give it an address': ask('ec2:AssignPrivateIpAddresses', anInterface),
    'take its address': ask('ec2:UnassignPrivateIpAddresses', anInterface),
    'look at network interfaces': ask('ec2:DescribeNetworkInterfaces', '*'),
    'look at subnets': ask('ec2:DescribeSubnets', '*'),
    'make a network interface from within the code': ask('ec2:CreateNetworkInterface', anInterface, asCode),
    'delete a network interface from within the code': ask('ec2:DeleteNetworkInterface', anInterface, asCode),
    'look at subnets from within the code': ask('ec2:DescribeSubnets', '*', asCode),
    'start a machine': ask('ec2:RunInstances', ec2('instance/i-0123456789abcdef0')),
  };
}

/** Around everything else: messages, roles, traces, deployments. */
export function otherRequests(targets: Targets): Record<string, Asked> {
  const { account, region, deploymentGroup, topic, queue, probe, roles } = targets;
  const toLambda = { 'iam:PassedToService': 'lambda.amazonaws.com' };
  const alarm = `arn:aws:cloudwatch:${region}:${account}:alarm:any`;
  const others = roles.filter((role) => role !== probe);
  return {
    'tell the operators': ask('sns:Publish', topic),
    'see whether they have subscribed': ask('sns:GetTopicAttributes', topic),
    'tell them in the clear': ask('sns:Publish', topic, { 'aws:SecureTransport': 'false' }),
    'subscribe to the topic': ask('sns:Subscribe', topic),
    'publish to another topic': ask('sns:Publish', `${topic}-2`),
    'put an event away': ask('sqs:SendMessage', queue),
    'put it away in the clear': ask('sqs:SendMessage', queue, { 'aws:SecureTransport': 'false' }),
    'read the events put away': ask('sqs:ReceiveMessage', queue),
    'delete the events put away': ask('sqs:PurgeQueue', queue),
    'write to another queue': ask('sqs:SendMessage', `${queue}-2`),

    'become the probe': ask('sts:AssumeRole', probe),
    'become an administrator': ask('sts:AssumeRole', `arn:aws:iam::${account}:role/administrator`),
    'become a role of another account': ask('sts:AssumeRole', 'arn:aws:iam::999999999999:role/administrator'),
    ...Object.fromEntries(others.map((role) => [`become ${role}`, ask('sts:AssumeRole', role)])),
    ...Object.fromEntries(roles.map((role) => [`hand on ${role}`, ask('iam:PassRole', role, toLambda)])),
    ...Object.fromEntries(roles.map((role) => [`give rights to ${role}`, ask('iam:PutRolePolicy', role)])),
    'make a role': ask('iam:CreateRole', `arn:aws:iam::${account}:role/new`),

    'read the alarms': ask('cloudwatch:DescribeAlarms', alarm),
    'silence an alarm': ask('cloudwatch:DisableAlarmActions', alarm),
    'write a metric': ask('cloudwatch:PutMetricData', '*'),
    'write a trace': ask('xray:PutTraceSegments', '*'),
    'tell X-Ray how it goes': ask('xray:PutTelemetryRecords', '*'),
    'read the traces': ask('xray:GetTraceSummaries', '*'),
    'read a file': ask('s3:GetObject', 'arn:aws:s3:::any-bucket/any-key'),
    'send an event': ask('events:PutEvents', `arn:aws:events:${region}:${account}:event-bus/default`),
    'change the schedule': ask(
      'scheduler:UpdateSchedule',
      `arn:aws:scheduler:${region}:${account}:schedule/default/any`,
    ),
    deploy: ask('codedeploy:CreateDeployment', `arn:aws:codedeploy:${region}:${account}:deploymentgroup:any/any`),
    'report the release check': ask('codedeploy:PutLifecycleEventHookExecutionStatus', deploymentGroup),
    'report another check': ask('codedeploy:PutLifecycleEventHookExecutionStatus', `${deploymentGroup}-2`),
  };
}

function ask(action: string, resource: string, context: Context = {}): Asked {
  return { action, resource, context };
}

/** `arn:…:log-group:<name>:*` is all streams of a log group. */
function logStream(logGroup: string): string {
  return logGroup.replace(/\*$/, 'log-stream:2026/01/01/[1]0123');
}
