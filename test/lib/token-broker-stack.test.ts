import { describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { changed, exampleForm } from './example-form.ts';
import { type Resource, resourcesOf, type Synthesised, synthesise } from './synthesise.ts';

const RULES = [
  { role: 'arn:aws:iam::111111111111:role/billing', clients: 'all', services: 'all' },
  { role: 'arn:aws:iam::222222222222:role/billing', clients: 'all', services: 'all' },
  { role: 'arn:aws:iam::222222222222:role/reporting', clients: 'all', services: 'all' },
];
const stack = synthesise('test', { ...exampleForm(), accessRules: RULES });
const tokenFunction = only(stack, 'AWS::Lambda::Function');
const KEY_ARN = { 'Fn::GetAtt': [idOf('AWS::KMS::Key'), 'Arn'] };

describe('the token function', () => {
  it('runs on Node 24 and arm64', () => {
    expect(tokenFunction).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: 512,
      Timeout: 15,
    });
  });

  it('is called by its environment', () => {
    expect(tokenFunction.FunctionName).toBe('token-broker-test');
  });

  it('has no variables but the three it reads', () => {
    expect(tokenFunction.Environment.Variables).toEqual({
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_TABLE: { Ref: idOf('AWS::DynamoDB::Table') },
      TOKEN_BROKER_SETTINGS: '/var/task/settings.json',
    });
  });

  it('writes to a log that outlives the stack and ends after a year', () => {
    const log = resourcesOf(stack, 'AWS::Logs::LogGroup');
    expect(log).toMatchObject([{ DeletionPolicy: 'Retain', Properties: { RetentionInDays: 365 } }]);
    expect(tokenFunction.LoggingConfig.LogGroup).toEqual({ Ref: idOf('AWS::Logs::LogGroup') });
  });
});

describe('who may call the token function', () => {
  const permissions = resourcesOf(stack, 'AWS::Lambda::Permission').map(({ Properties }) => Properties);

  it('must sign: the URL has IAM authentication', () => {
    expect(resourcesOf(stack, 'AWS::Lambda::Url')).toMatchObject([{ Properties: { AuthType: 'AWS_IAM' } }]);
  });

  it.each(['111111111111', '222222222222'])('is account %s, once and through the URL only', (account) => {
    const FunctionName = { 'Fn::GetAtt': [idOf('AWS::Lambda::Function'), 'Arn'] };
    expect(permissions.filter(({ Principal }) => Principal === account)).toEqual([
      { Action: 'lambda:InvokeFunctionUrl', FunctionUrlAuthType: 'AWS_IAM', FunctionName, Principal: account },
      { Action: 'lambda:InvokeFunction', InvokedViaFunctionUrl: true, FunctionName, Principal: account },
    ]);
  });

  it('is nobody else', () => {
    expect(permissions.map(({ Principal }) => Principal).toSorted()).toEqual([
      '111111111111',
      '111111111111',
      '222222222222',
      '222222222222',
    ]);
  });

  it('is nobody at all without access rules', () => {
    const closed = synthesise('test', { ...exampleForm(), accessRules: [] });
    expect(resourcesOf(closed, 'AWS::Lambda::Permission')).toEqual([]);
  });
});

describe('what the token function may do', () => {
  it('is to write its log, read its secrets and share its pairs, and to use their key for nothing else', () => {
    expect(only(stack, 'AWS::IAM::Policy')).toMatchObject({ Roles: [{ Ref: idOf('AWS::IAM::Role') }] });
    expect(only(stack, 'AWS::IAM::Policy').PolicyDocument.Statement).toEqual([
      {
        Effect: 'Allow',
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: { 'Fn::GetAtt': [idOf('AWS::Logs::LogGroup'), 'Arn'] },
      },
      {
        Effect: 'Allow',
        Action: 'secretsmanager:GetSecretValue',
        Resource: [
          'arn:aws:secretsmanager:eu-west-1:111111111111:secret:token-broker/test/*',
          { Ref: idOf('AWS::SecretsManager::Secret') },
        ],
      },
      {
        Effect: 'Allow',
        Action: 'kms:Decrypt',
        Resource: { 'Fn::GetAtt': [idOf('AWS::KMS::Key'), 'Arn'] },
        Condition: { StringEquals: { 'kms:ViaService': 'secretsmanager.eu-west-1.amazonaws.com' } },
      },
      {
        Effect: 'Allow',
        Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
        Resource: { 'Fn::GetAtt': [idOf('AWS::DynamoDB::Table'), 'Arn'] },
      },
      {
        Effect: 'Allow',
        Action: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'],
        Resource: { 'Fn::GetAtt': [idOf('AWS::KMS::Key'), 'Arn'] },
        Condition: { StringEquals: { 'kms:ViaService': 'dynamodb.eu-west-1.amazonaws.com' } },
      },
    ]);
  });

  it('comes from that policy alone: its role has no managed and no inline ones', () => {
    expect(tokenFunction.Role).toEqual({ 'Fn::GetAtt': [idOf('AWS::IAM::Role'), 'Arn'] });
    expect(Object.keys(only(stack, 'AWS::IAM::Role')).toSorted()).toEqual(['AssumeRolePolicyDocument', 'Tags']);
  });

  it('is for the Lambda service alone to take on', () => {
    expect(only(stack, 'AWS::IAM::Role').AssumeRolePolicyDocument.Statement).toEqual([
      { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } },
    ]);
  });
});

describe('the key of the client secrets', () => {
  it('rotates, and stays when the stack goes', () => {
    expect(resourcesOf(stack, 'AWS::KMS::Key')).toMatchObject([
      { DeletionPolicy: 'Retain', Properties: { EnableKeyRotation: true } },
    ]);
  });

  it('is in the hands of its own account only', () => {
    const principals = only(stack, 'AWS::KMS::Key').KeyPolicy.Statement.map(
      ({ Principal }: { readonly Principal: unknown }) => Principal,
    );
    expect(new Set(principals.map(JSON.stringify))).toEqual(
      new Set([JSON.stringify({ AWS: 'arn:aws:iam::111111111111:root' })]),
    );
  });
});

describe('the table of pairs', () => {
  it('is a cache: paid by use, without backups, and gone with its stack', () => {
    expect(resourcesOf(stack, 'AWS::DynamoDB::Table')).toMatchObject([
      {
        DeletionPolicy: 'Delete',
        Properties: {
          BillingMode: 'PAY_PER_REQUEST',
          KeySchema: [{ AttributeName: 'pair', KeyType: 'HASH' }],
          TimeToLiveSpecification: { AttributeName: 'forgetAt', Enabled: true },
          SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: KEY_ARN },
        },
      },
    ]);
    expect(only(stack, 'AWS::DynamoDB::Table').PointInTimeRecoverySpecification).toBeUndefined();
  });

  it('has a sealing key that Secrets Manager makes up, outside of the clients’ secrets', () => {
    expect(only(stack, 'AWS::SecretsManager::Secret')).toMatchObject({
      Name: 'token-broker-keys/test/sealing',
      GenerateSecretString: { PasswordLength: 64 },
      KmsKeyId: KEY_ARN,
    });
  });
});

describe('the stack', () => {
  it('holds no secret: none is taken into it, and what is made up is never shown', () => {
    expect(stack.text).not.toMatch(/\{\{resolve:|client_secret|"SecretString"/);
  });

  it('grants nothing to everybody', () => {
    expect(stack.text).not.toMatch(/"Principal": "\*"|"AWS": "\*"|"Principal": \{\s*"Service": "\*"/);
  });

  it('tells the URL and the key', () => {
    expect(stack.template.Outputs).toMatchObject({
      Url: { Value: { 'Fn::GetAtt': [idOf('AWS::Lambda::Url'), 'FunctionUrl'] } },
      KeyArn: { Value: { 'Fn::GetAtt': [idOf('AWS::KMS::Key'), 'Arn'] } },
    });
  });

  it('is protected from being destroyed by accident', () => {
    expect(stack.terminationProtection).toBe(true);
  });

  it('says on every resource that can be tagged whose it is', () => {
    for (const type of ['AWS::KMS::Key', 'AWS::IAM::Role', 'AWS::Lambda::Function', 'AWS::Logs::LogGroup']) {
      expect(only(stack, type).Tags).toEqual([
        { Key: 'application', Value: 'token-broker' },
        { Key: 'environment', Value: 'test' },
      ]);
    }
  });

  it('goes where the settings say, in other partitions too', () => {
    const role = 'arn:aws-cn:iam::222222222222:role/billing';
    const form = changed(changed(exampleForm(), 'accessRules/0/role', role), 'region', 'cn-north-1');
    const [policy] = resourcesOf(synthesise('test', form), 'AWS::IAM::Policy');
    expect(JSON.stringify(policy)).toContain(
      'arn:aws-cn:secretsmanager:cn-north-1:111111111111:secret:token-broker/test/*',
    );
  });

  it.each(Object.entries(environments))('for %s is what was agreed on', async (name, form) => {
    const text = synthesise(name, form).text.replace(/\b[0-9a-f]{64}\b/g, '<hash>');
    await expect(text).toMatchFileSnapshot(`__snapshots__/TokenBroker-${name}.template.json`);
  });
});

function only(synthesised: Synthesised, type: string): Resource['Properties'] {
  const found = resourcesOf(synthesised, type);
  expect(found).toHaveLength(1);
  return found[0]?.Properties;
}

function idOf(type: string): string | undefined {
  return Object.entries(stack.template.Resources).find(([, resource]) => resource.Type === type)?.[0];
}
