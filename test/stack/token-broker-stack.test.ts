import { describe, expect, it } from 'vitest';
import { rulesDigest } from '../../functions/environment.ts';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/environment.ts';
import { changed, exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, type Statement, type Synthesised, synthesise } from './synthesise.ts';

const RULES = [
  { role: 'arn:aws:iam::111111111111:role/billing', clients: 'all', services: 'all' },
  { role: 'arn:aws:iam::222222222222:role/billing', clients: 'all', services: 'all' },
  { role: 'arn:aws:iam::222222222222:role/reporting', clients: 'all', services: 'all' },
];
const stack = synthesise('test', { ...exampleForm(), accessRules: RULES });
const tokenFunction = inEndpoint('AWS::Lambda::Function').Properties;
const key = resourceOf(stack, 'ClientSecrets', 'AWS::KMS::Key');
const table = resourceOf(stack, 'PairTable', 'AWS::DynamoDB::Table');
const sealingKey = resourceOf(stack, 'PairTable', 'AWS::SecretsManager::Secret');
const role = resourceOf(stack, 'TokenEndpointRole', 'AWS::IAM::Role');
const KEY_ARN = { 'Fn::GetAtt': [key.id, 'Arn'] };
const TABLE_ARN = 'arn:aws:dynamodb:eu-west-1:111111111111:table/token-broker-test';

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

  it('has no variables but those it reads', () => {
    expect(tokenFunction.Environment.Variables).toEqual({
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_TABLE: 'token-broker-test',
      TOKEN_BROKER_SETTINGS: '/var/task/settings.json',
      TOKEN_BROKER_CHECKER_ROLES: expect.anything(),
    });
  });

  it('lets the role of the health function check, and no other role of this stack', () => {
    expect(tokenFunction.Environment.Variables.TOKEN_BROKER_CHECKER_ROLES).toEqual({
      'Fn::GetAtt': [resourceOf(stack, 'CredentialHealthRole', 'AWS::IAM::Role').id, 'Arn'],
    });
  });

  it('writes to a log that outlives the stack and ends after a year', () => {
    const log = inEndpoint('AWS::Logs::LogGroup');
    expect(log).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', Properties: { RetentionInDays: 365 } });
    expect(tokenFunction.LoggingConfig).toEqual({
      LogGroup: { Ref: log.id },
      LogFormat: 'JSON',
      SystemLogLevel: 'WARN',
    });
  });
});

describe('who may call the token function', () => {
  const FunctionName = { Ref: inEndpoint('AWS::Lambda::Alias').id };
  const permissionsIn = (synthesised: Synthesised) =>
    resourcesOf(synthesised, 'AWS::Lambda::Permission')
      .map(({ Properties }) => Properties)
      .filter((permission) => JSON.stringify(permission.FunctionName) === JSON.stringify(FunctionName));
  const permissions = permissionsIn(stack);

  it('must sign: the URL has IAM authentication', () => {
    expect(resourcesOf(stack, 'AWS::Lambda::Url')).toMatchObject([
      { Properties: { AuthType: 'AWS_IAM', Qualifier: 'live' } },
    ]);
  });

  it.each(['111111111111', '222222222222'])('is account %s, once and through the URL only', (account) => {
    expect(permissions.filter(({ Principal }) => Principal === account)).toEqual([
      { Action: 'lambda:InvokeFunctionUrl', FunctionUrlAuthType: 'AWS_IAM', FunctionName, Principal: account },
      { Action: 'lambda:InvokeFunction', InvokedViaFunctionUrl: true, FunctionName, Principal: account },
    ]);
  });

  it('is no other principal', () => {
    expect(permissions.map(({ Principal }) => Principal).toSorted()).toEqual([
      '111111111111',
      '111111111111',
      '222222222222',
      '222222222222',
    ]);
  });

  it('is no account at all without access rules', () => {
    expect(permissionsIn(synthesise('test', { ...exampleForm(), accessRules: [] }))).toEqual([]);
  });
});

describe('what the token function may do', () => {
  it('is to write its log, read its secrets and share its pairs, and to use their key for nothing else', () => {
    const { Roles, PolicyDocument } = resourceOf(stack, 'TokenEndpointRole', 'AWS::IAM::Policy').Properties;
    expect(Roles).toEqual([{ Ref: role.id }]);
    expect(PolicyDocument.Statement).toEqual([
      {
        Effect: 'Allow',
        Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        Resource: { 'Fn::GetAtt': [inEndpoint('AWS::Logs::LogGroup').id, 'Arn'] },
      },
      {
        Effect: 'Allow',
        Action: 'secretsmanager:GetSecretValue',
        Resource: ['arn:aws:secretsmanager:eu-west-1:111111111111:secret:token-broker/test/*', { Ref: sealingKey.id }],
        Condition: {
          ArnEquals: {
            'lambda:SourceFunctionArn': 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-test',
          },
        },
      },
      {
        Effect: 'Allow',
        Action: 'kms:Decrypt',
        Resource: KEY_ARN,
        Condition: {
          StringEquals: { 'kms:ViaService': 'secretsmanager.eu-west-1.amazonaws.com' },
          ArnLike: {
            'kms:EncryptionContext:SecretARN':
              'arn:aws:secretsmanager:eu-west-1:111111111111:secret:token-broker/test/*',
          },
        },
      },
      {
        Effect: 'Allow',
        Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
        Resource: TABLE_ARN,
      },
      {
        Effect: 'Allow',
        Action: ['kms:Decrypt', 'kms:Encrypt', 'kms:GenerateDataKey'],
        Resource: KEY_ARN,
        Condition: {
          StringEquals: {
            'kms:ViaService': 'dynamodb.eu-west-1.amazonaws.com',
            'kms:EncryptionContext:aws:dynamodb:tableName': 'token-broker-test',
            'kms:EncryptionContext:aws:dynamodb:subscriberId': '111111111111',
          },
        },
      },
      {
        Effect: 'Allow',
        Action: 'kms:DescribeKey',
        Resource: KEY_ARN,
        Condition: { StringEquals: { 'kms:ViaService': 'dynamodb.eu-west-1.amazonaws.com' } },
      },
      {
        Effect: 'Allow',
        Action: 'kms:Decrypt',
        Resource: KEY_ARN,
        Condition: {
          StringEquals: {
            'kms:ViaService': 'secretsmanager.eu-west-1.amazonaws.com',
            'kms:EncryptionContext:SecretARN': { Ref: sealingKey.id },
          },
        },
      },
    ]);
  });

  it('comes from that policy alone: its role has no managed and no inline ones', () => {
    expect(tokenFunction.Role).toEqual({ 'Fn::GetAtt': [role.id, 'Arn'] });
    expect(Object.keys(role.Properties).toSorted()).toEqual(['AssumeRolePolicyDocument', 'RoleName', 'Tags']);
  });

  it('is for the Lambda service alone to take on', () => {
    expect(role.Properties.AssumeRolePolicyDocument.Statement).toEqual([
      { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } },
    ]);
  });
});

const KEPT_ONCE_CREATED = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };

describe('the key of the client secrets', () => {
  it('rotates, and stays when the stack goes, but not when its creation fails', () => {
    expect(key).toMatchObject({ ...KEPT_ONCE_CREATED, Properties: { EnableKeyRotation: true } });
  });

  it('is administered by its account, and used by it through AWS services only', () => {
    const account = { AWS: 'arn:aws:iam::111111111111:root' };
    const ofAccount = key.Properties.KeyPolicy.Statement.filter(
      ({ Principal }: Statement) => JSON.stringify(Principal) === JSON.stringify(account),
    );
    const unconditional: Statement[] = ofAccount.filter(({ Condition }: Statement) => Condition === undefined);
    const uses = /^kms:(Decrypt|Encrypt|ReEncrypt|GenerateDataKey|CreateGrant|\*)/;
    expect(unconditional.flatMap(({ Action }) => Action).filter((action) => uses.test(action))).toEqual([]);
    const conditional: Statement[] = ofAccount.filter(({ Condition }: Statement) => Condition !== undefined);
    expect(conditional.map(({ Condition }) => Condition)).toEqual([
      {
        StringEquals: {
          'kms:CallerAccount': '111111111111',
          'kms:ViaService': ['dynamodb', 'secretsmanager', 'sns', 'sqs'].map(
            (name) => `${name}.eu-west-1.amazonaws.com`,
          ),
        },
      },
      {
        StringEquals: {
          'kms:CallerAccount': '111111111111',
          'kms:ViaService': 'dynamodb.eu-west-1.amazonaws.com',
        },
      },
    ]);
  });

  it('can still be administered, so that no mistake locks it for good', () => {
    const actions = key.Properties.KeyPolicy.Statement.flatMap(({ Action }: Statement) => Action);
    expect(actions).toEqual(expect.arrayContaining(['kms:PutKeyPolicy', 'kms:DescribeKey', 'kms:CancelKeyDeletion']));
  });

  it('is used by alarms for the topic of the operators, and by the logs of this stack', () => {
    const services = key.Properties.KeyPolicy.Statement.filter(({ Principal }: Statement) =>
      JSON.stringify(Principal).includes('Service'),
    );
    expect(services).toMatchObject([
      {
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
        Condition: {
          StringEquals: {
            'aws:SourceAccount': '111111111111',
            'kms:EncryptionContext:aws:sns:topicArn': 'arn:aws:sns:eu-west-1:111111111111:token-broker-test',
          },
        },
      },
      {
        Principal: { Service: 'logs.eu-west-1.amazonaws.com' },
        Condition: {
          ArnLike: {
            'kms:EncryptionContext:aws:logs:arn': 'arn:aws:logs:eu-west-1:111111111111:log-group:TokenBroker-test-*',
          },
        },
      },
    ]);
  });
});

describe('the table of pairs', () => {
  it('is a cache: paid by use, without backups, and gone with its stack', () => {
    expect(table).toMatchObject({
      DeletionPolicy: 'Delete',
      Properties: {
        TableName: 'token-broker-test',
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'pair', KeyType: 'HASH' }],
        TimeToLiveSpecification: { AttributeName: 'forgetAt', Enabled: true },
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: KEY_ARN },
      },
    });
    expect(table.Properties.PointInTimeRecoverySpecification).toBeUndefined();
  });

  it('cannot be deleted while it is protected, so it is made when all else is there and a creation cannot fail any more', () => {
    expect(table.Properties.DeletionProtectionEnabled).toBe(true);
    const { Resources } = stack.template;
    const madeBefore = new Set<string>();
    const visit = (id: string) => {
      const { DependsOn = [], ...resource } = Resources[id] ?? {};
      const named = [...JSON.stringify(resource).matchAll(/"(?:Ref|Fn::GetAtt)":\[?"(\w+)"/g)];
      for (const other of [...[DependsOn].flat(), ...named.map(([, name = '']) => name)]) {
        if (madeBefore.has(other)) continue;
        madeBefore.add(other);
        visit(other);
      }
    };
    visit(table.id);
    expect([...madeBefore].toSorted()).toEqual(
      Object.keys(Resources)
        .filter((id) => id !== table.id)
        .toSorted(),
    );
  });

  it('has a sealing key that Secrets Manager makes up, outside of the clients’ secrets', () => {
    expect(sealingKey.Properties).toMatchObject({
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

  it('tells the URL, the table, the key and the topic', () => {
    expect(stack.template.Outputs).toMatchObject({
      Url: { Value: { 'Fn::GetAtt': [inEndpoint('AWS::Lambda::Url').id, 'FunctionUrl'] } },
      TableName: { Value: 'token-broker-test' },
      KeyArn: { Value: KEY_ARN },
      TopicArn: { Value: { Ref: resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic').id } },
    });
  });

  it('is protected from being destroyed by accident', () => {
    expect(stack.terminationProtection).toBe(true);
  });

  it('says on every resource that can be tagged whose it is', () => {
    const types = [
      'AWS::KMS::Key',
      'AWS::IAM::Role',
      'AWS::Lambda::Function',
      'AWS::Logs::LogGroup',
      'AWS::SQS::Queue',
    ];
    const tags = types.flatMap((type) => resourcesOf(stack, type)).map(({ Properties }) => Properties.Tags);
    expect(new Set(tags.map((own) => JSON.stringify(own)))).toEqual(
      new Set([
        JSON.stringify([
          { Key: 'application', Value: 'token-broker' },
          { Key: 'environment', Value: 'test' },
        ]),
      ]),
    );
  });

  it('carries tags of one’s own beside them', () => {
    const tagged = synthesise('test', { ...exampleForm(), tags: { 'cost-centre': '4711' } });
    for (const { Properties } of resourcesOf(tagged, 'AWS::Lambda::Function')) {
      expect(Properties.Tags).toEqual(expect.arrayContaining([{ Key: 'cost-centre', Value: '4711' }]));
      expect(Properties.Tags).toHaveLength(3);
    }
  });

  it('takes the permissions boundary and the bootstrap qualifier of cdk.json', () => {
    const { text, ...bounded } = synthesise('test', exampleForm(), {
      context: {
        '@aws-cdk/core:permissionsBoundary': { name: 'bounds' },
        '@aws-cdk/core:bootstrapQualifier': 'broker1',
      },
    });
    const boundaries = resourcesOf(bounded, 'AWS::IAM::Role').map(({ Properties }) => Properties.PermissionsBoundary);
    expect(new Set(boundaries)).toEqual(new Set(['arn:aws:iam::111111111111:policy/bounds']));
    expect(text).toContain('cdk-broker1-assets-111111111111-eu-west-1');
    expect(text).not.toContain('hnb659fds');
  });

  it('goes where the settings say, in other partitions too', () => {
    const role = 'arn:aws-cn:iam::222222222222:role/billing';
    const form = changed(changed(exampleForm(), 'accessRules/0/role', role), 'region', 'cn-north-1');
    const { text } = synthesise('test', form);
    expect(text).toContain('arn:aws-cn:secretsmanager:cn-north-1:111111111111:secret:token-broker/test/*');
    expect(text).toContain('"logs.cn-north-1.amazonaws.com.cn"');
    expect(text).not.toContain('arn:aws:');
  });

  it('shows a change of the access rules beside the code asset, which every change of code changes too', () => {
    const summaryOf = (form: unknown) => JSON.parse(synthesise('test', form).text).Metadata.AccessRules;
    const [rule] = exampleForm().accessRules;
    const one = summaryOf(exampleForm());
    const two = summaryOf({ ...exampleForm(), accessRules: [rule, { ...rule, clients: ['globex'] }] });
    const wider = summaryOf({ ...exampleForm(), accessRules: [{ ...rule, clients: 'all' }] });
    const digest = rulesDigest(toBrokerSettings(parseEnvironment('test', exampleForm())));
    expect(one).toEqual({ digest, rules: { [rule?.role ?? '']: 1 } });
    expect(two.rules).toEqual({ [rule?.role ?? '']: 2 });
    expect(wider.rules).toEqual(one.rules);
    expect(new Set([one, two, wider].map(({ digest }) => digest)).size).toBe(3);
    expect(summaryOf({ ...exampleForm(), health: { every: 'rate(2 hours)' } })).toEqual(one);
  });

  it.each(Object.entries(environments))('for %s is what was agreed on', async (name, form) => {
    await expect(blanked(synthesise(name, form).text)).toMatchFileSnapshot(
      `__snapshots__/TokenBroker-${name}.template.json`,
    );
  });
});

/** Without the hashes of the code, of which the name of a function's version holds one too. */
function blanked(text: string): string {
  return text.replace(/\b[0-9a-f]{64}\b/g, '<hash>').replace(/(?<=CurrentVersion)[0-9A-F]{8}[0-9a-f]{32}/g, '<hash>');
}

function inEndpoint(type: string) {
  return resourceOf(stack, 'TokenEndpoint', type);
}
