import type { Context, Request } from '../../support/aws/iam.ts';
import type { DeployedStack } from '../../support/stack/deployed-stack.ts';

const TOKEN = 'TokenEndpointRole';
const HEALTH = 'CredentialHealthRole';
const PROBE = 'CredentialHealthProbe';
const SCHEDULER = 'CredentialHealthSchedulerRole';
const CHECK = 'ReleaseCheckRole';
const DEPLOYER = 'TokenEndpointCanaryRole';
const TRAIL = 'MonitoringTrailLogsRole';

/** A request, and the roles of the stack that may make it; no other one may. */
export interface Row extends Omit<Request, 'requester'> {
  readonly what: string;
  readonly may: readonly string[];
}

/**
 * The requests that the roles make, and those next to them that an intruder might try: the same actions on other resources,
 * from other places and by other ways. A role has no other actions at all, as the test of roles proves.
 */
export function requestsTo({ account, region, urlTarget: live, resources, arnOf }: DeployedStack): readonly Row[] {
  const rows: Row[] = [];
  const ask = (what: string, action: string, resource: string, may: readonly string[], context: Context = {}) =>
    rows.push({ what, action, resource, context, may });

  // Secrets: from the code of the token function, and from elsewhere.
  const token = arnOf('TokenEndpoint', 'AWS::Lambda::Function');
  const health = arnOf('CredentialHealth', 'AWS::Lambda::Function');
  const check = arnOf('ReleaseCheck', 'AWS::Lambda::Function');
  const within = (functionArn: string) => ({ 'lambda:SourceFunctionArn': functionArn });
  const secret = (name: string) => `arn:aws:secretsmanager:${region}:${account}:secret:${name}-Zz9Yy8`;
  const sealingKey = arnOf('PairTable', 'AWS::SecretsManager::Secret');
  const acme = secret('token-broker/test/acme');
  const read = 'secretsmanager:GetSecretValue';
  ask('read a client’s secret', read, acme, [TOKEN], within(token));
  ask('read a client’s secret from another place', read, acme, []);
  ask('read a client’s secret as another function', read, acme, [], within(health));
  ask('read the sealing key', read, sealingKey, [TOKEN], within(token));
  ask('read the sealing key from another place', read, sealingKey, []);
  ask('read the sealing key as a function with a longer name', read, sealingKey, [], within(`${token}-2`));
  ask('read the secret of another environment', read, secret('token-broker/other/acme'), [], within(token));
  ask('read a secret whose name begins alike', read, secret('token-broker/test-2/acme'), [], within(token));
  ask('read another sealing key', read, secret('token-broker-keys/other/sealing'), [], within(token));
  ask('read a secret in another account', read, acme.replace(account, '999999999999'), [], within(token));
  ask('describe a client’s secret', 'secretsmanager:DescribeSecret', acme, [HEALTH]);
  ask('describe the sealing key', 'secretsmanager:DescribeSecret', sealingKey, []);
  ask('list the secrets', 'secretsmanager:ListSecrets', '*', [HEALTH, CHECK]);
  ask('create a client’s secret', 'secretsmanager:CreateSecret', acme, []);
  ask('store a client’s secret', 'secretsmanager:PutSecretValue', acme, []);
  ask('store a sealing key', 'secretsmanager:PutSecretValue', sealingKey, []);

  // The table of pairs.
  const table = arnOf('PairTable', 'AWS::DynamoDB::Table');
  const item = (key: string) => ({ 'dynamodb:LeadingKeys': [key] });
  for (const action of ['dynamodb:GetItem', 'dynamodb:UpdateItem']) {
    ask(`${action} of a pair`, action, table, [TOKEN], item('acme/customer-insights'));
    ask(`${action} of a memory`, action, table, [TOKEN, HEALTH], item('notify:acme/customer-insights'));
    ask(`${action} of a table with a longer name`, action, `${table}-2`, [], item('notify:acme'));
  }
  ask('scan the table', 'dynamodb:Scan', table, []);

  // The key: through which service, for which purpose.
  const key = arnOf('ClientSecrets', 'AWS::KMS::Key');
  const [topic, queue] = [arnOf('OperatorTopic', 'AWS::SNS::Topic'), arnOf('FailedEvents', 'AWS::SQS::Queue')];
  const tags = { 'aws:ResourceTag/application': 'token-broker', 'aws:ResourceTag/environment': 'test' };
  const use = (what: string, action: string, may: readonly string[], service?: string, encrypted: Context = {}) =>
    ask(what, `kms:${action}`, key, may, {
      'kms:CallerAccount': account,
      ...tags,
      ...(service && { 'kms:ViaService': `${service}.${region}.amazonaws.com` }),
      ...Object.fromEntries(Object.entries(encrypted).map(([name, of]) => [`kms:EncryptionContext:${name}`, of])),
    });
  const ofTable = { 'aws:dynamodb:tableName': 'token-broker-test', 'aws:dynamodb:subscriberId': account };
  use('decrypt a client’s secret', 'Decrypt', [TOKEN], 'secretsmanager', { SecretARN: acme });
  use('decrypt the sealing key', 'Decrypt', [TOKEN], 'secretsmanager', { SecretARN: sealingKey });
  use('decrypt a client’s secret by hand', 'Decrypt', [], undefined, { SecretARN: acme });
  use('decrypt a client’s secret through DynamoDB', 'Decrypt', [], 'dynamodb', { SecretARN: acme });
  use('decrypt a secret of others', 'Decrypt', [], 'secretsmanager', { SecretARN: secret('x/test/acme') });
  use('decrypt what names nothing', 'Decrypt', [], 'secretsmanager');
  use('encrypt a secret', 'GenerateDataKey', [], 'secretsmanager', { SecretARN: acme });
  use('encrypt a sealing key', 'GenerateDataKey', [], 'secretsmanager', { SecretARN: sealingKey });
  for (const action of ['Encrypt', 'Decrypt', 'GenerateDataKey']) {
    use(`${action} for the table`, action, [TOKEN, HEALTH], 'dynamodb', ofTable);
    use(`${action} for the table by hand`, action, [], undefined, ofTable);
    use(`${action} for another table`, action, [], 'dynamodb', { ...ofTable, 'aws:dynamodb:tableName': 'x' });
  }
  use('describe the key for the table', 'DescribeKey', [TOKEN, HEALTH], 'dynamodb');
  for (const action of ['Decrypt', 'GenerateDataKey']) {
    use(`${action} for the topic`, action, [HEALTH], 'sns', { 'aws:sns:topicArn': topic });
    use(`${action} for another topic`, action, [], 'sns', { 'aws:sns:topicArn': `${topic}-2` });
    use(`${action} for the queue`, action, [HEALTH], 'sqs', { 'aws:sqs:arn': queue });
    use(`${action} for another queue`, action, [], 'sqs', { 'aws:sqs:arn': `${queue}-2` });
  }
  use('encrypt by hand', 'Encrypt', []);
  use('encrypt anew by hand', 'ReEncryptFrom', [], undefined, { SecretARN: acme });
  use('lend the key to a person', 'CreateGrant', [], 'dynamodb');
  const ofDynamoDB = { 'kms:CallerAccount': account, 'kms:ViaService': `dynamodb.${region}.amazonaws.com` };
  ask('lend the key', 'kms:CreateGrant', key, [], { ...tags, ...ofDynamoDB, 'kms:GrantIsForAWSResource': 'true' });
  use('lend the key to Secrets Manager', 'CreateGrant', [], 'secretsmanager', { SecretARN: acme });
  use('change the key’s policy', 'PutKeyPolicy', []);

  // Logs: each role has its own.
  const writers = { TokenEndpoint: TOKEN, CredentialHealth: HEALTH, ReleaseCheck: CHECK, MonitoringTrail: TRAIL };
  for (const [construct, role] of Object.entries(writers)) {
    const log = resources.find(({ id, type }) => id.startsWith(construct) && type === 'AWS::Logs::LogGroup');
    const stream = log?.arn?.replace(/\*$/, 'log-stream:2026/01/01/[1]0123');
    if (stream === undefined) continue;
    for (const action of ['CreateLogStream', 'PutLogEvents']) {
      ask(`${action} in the log of ${construct}`, `logs:${action}`, stream, [role]);
    }
  }

  // Functions: through their URLs, and past them.
  const next = arnOf('ReleaseCheck', 'AWS::Lambda::Alias');
  const [callUrl, invoke] = ['lambda:InvokeFunctionUrl', 'lambda:InvokeFunction'];
  const signed = { 'lambda:FunctionUrlAuthType': 'AWS_IAM' };
  const throughUrl = { 'lambda:InvokedViaFunctionUrl': 'true' };
  const pastUrl = { 'lambda:InvokedViaFunctionUrl': 'false' };
  ask('call the URL', callUrl, live, [HEALTH, PROBE], signed);
  ask('be invoked through the URL', invoke, live, [HEALTH, PROBE], throughUrl);
  ask('call it without a signature', callUrl, live, [], { 'lambda:FunctionUrlAuthType': 'NONE' });
  ask('call the URL of a function with a longer name', callUrl, `${token}-2:live`, [], signed);
  ask('call the URL of the next version', callUrl, next, [CHECK], signed);
  ask('be invoked through the URL of the next version', invoke, next, [CHECK], throughUrl);
  for (const arn of [token, live, next, `${token}:1`]) ask(`invoke ${arn} past the URL`, invoke, arn, [], pastUrl);
  ask('invoke it without saying how', invoke, live, []);
  ask('start the health function', invoke, health, [SCHEDULER], pastUrl);
  ask('start the release check', invoke, check, [DEPLOYER], pastUrl);
  for (const arn of [`${health}:1`, `${health}-2`, `${check}:1`]) ask(`start ${arn}`, invoke, arn, [], pastUrl);
  ask('change the code', 'lambda:UpdateFunctionCode', token, []);
  ask('read the alias', 'lambda:GetAlias', token, [DEPLOYER]);
  ask('read the provisioned concurrency', 'lambda:GetProvisionedConcurrencyConfig', live, [DEPLOYER]);
  ask('move the alias', 'lambda:UpdateAlias', token, [DEPLOYER]);
  for (const arn of [next, health, `${token}:other`, `${token}-2`]) ask(`move ${arn}`, 'lambda:UpdateAlias', arn, []);

  // Messages, roles, deployments.
  ask('tell the operators', 'sns:Publish', topic, [HEALTH]);
  ask('tell them in the clear', 'sns:Publish', topic, [], { 'aws:SecureTransport': 'false' });
  ask('see whether they have subscribed', 'sns:GetTopicAttributes', topic, [HEALTH]);
  ask('publish to another topic', 'sns:Publish', `${topic}-2`, []);
  ask('put an event away', 'sqs:SendMessage', queue, [HEALTH]);
  ask('put it away in the clear', 'sqs:SendMessage', queue, [], { 'aws:SecureTransport': 'false' });
  ask('write to another queue', 'sqs:SendMessage', `${queue}-2`, []);
  ask('become the probe', 'sts:AssumeRole', arnOf(PROBE, 'AWS::IAM::Role'), [HEALTH]);
  ask('become the token function', 'sts:AssumeRole', arnOf(TOKEN, 'AWS::IAM::Role'), []);
  ask('become an administrator', 'sts:AssumeRole', `arn:aws:iam::${account}:role/administrator`, []);
  ask('become a role of another account', 'sts:AssumeRole', 'arn:aws:iam::999999999999:role/administrator', []);
  ask('read the alarms', 'cloudwatch:DescribeAlarms', `arn:aws:cloudwatch:${region}:${account}:alarm:any`, [DEPLOYER]);
  const group = arnOf('TokenEndpoint', 'AWS::CodeDeploy::DeploymentGroup');
  const report = 'codedeploy:PutLifecycleEventHookExecutionStatus';
  ask('report the release check', report, group, [CHECK]);
  ask('report another check', report, `${group}-2`, []);
  return rows;
}

/** Added by the settings `tracing` and `vpc`. The network is for Lambda itself, not for the code that runs there. */
export function furtherRequestsTo({ account, region, resources, arnOf }: DeployedStack): readonly Row[] {
  const constructs = { TokenEndpoint: TOKEN, CredentialHealth: HEALTH, ReleaseCheck: CHECK };
  const inVpc = Object.entries(constructs).filter(([construct]) =>
    resources.some(({ id, properties }) => id.startsWith(construct) && properties.VpcConfig !== undefined),
  );
  const movers = inVpc.map(([, role]) => role);
  const ec2 = (resource: string) => `arn:aws:ec2:${region}:${account}:${resource}`;
  const rows = [
    ['xray:PutTraceSegments', '*', TOKEN, HEALTH, CHECK],
    ['xray:PutTelemetryRecords', '*', TOKEN, HEALTH, CHECK],
    ['ec2:CreateNetworkInterface', ec2('network-interface/eni-0123456789abcdef0'), ...movers],
    ['ec2:CreateNetworkInterface', ec2('subnet/subnet-0123456789abcdef0'), ...movers],
    ['ec2:CreateNetworkInterface', ec2('security-group/sg-0123456789abcdef0'), ...movers],
    ['ec2:CreateNetworkInterface', ec2('subnet/subnet-0123456789abcdef1')],
    ['ec2:DeleteNetworkInterface', ec2('network-interface/eni-0123456789abcdef0'), ...movers],
    // How Lambda tries it before it makes a function: without the id of an interface.
    ['ec2:DeleteNetworkInterface', ec2('*/*'), ...movers],
    ['ec2:AssignPrivateIpAddresses', ec2('network-interface/eni-0123456789abcdef0'), ...movers],
    ['ec2:UnassignPrivateIpAddresses', ec2('network-interface/eni-0123456789abcdef0'), ...movers],
    ['ec2:DescribeNetworkInterfaces', '*', ...movers],
    ['ec2:DescribeSubnets', '*', ...movers],
  ].map(([action = '', resource = '', ...may]) => ({ what: `${action} ${resource}`, action, resource, may }));
  const ofNetwork = rows.filter(({ action }) => action.startsWith('ec2:'));
  const fromCode = inVpc.flatMap(([construct, role]) => {
    const context = { 'lambda:SourceFunctionArn': arnOf(construct, 'AWS::Lambda::Function') };
    return ofNetwork.map((row) => {
      const may = row.may.filter((other) => other !== role);
      return { ...row, what: `${row.what} from the code of ${construct}`, may, context };
    });
  });
  return [...rows, ...fromCode];
}
