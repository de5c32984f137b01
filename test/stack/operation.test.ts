import { App } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, type Statement, type Synthesised, synthesise } from './synthesise.ts';

const plain = synthesise('test', exampleForm());
const KEY_ARN = 'arn:aws:kms:eu-west-1:111111111111:key/12345678-1234-1234-1234-123456789012';

describe('reserved concurrency', () => {
  it.each([0, 1, 250])('is %d when the settings say so: 0 turns the broker off', (reservedConcurrency) => {
    const stack = synthesise('test', { ...exampleForm(), reservedConcurrency });
    expect(tokenFunction(stack).ReservedConcurrentExecutions).toBe(reservedConcurrency);
  });

  it('is none by default, and that of the health function is its own', () => {
    const stack = synthesise('test', { ...exampleForm(), reservedConcurrency: 0 });
    expect(tokenFunction(plain)).not.toHaveProperty('ReservedConcurrentExecutions');
    const limits = resourcesOf(stack, 'AWS::Lambda::Function').map(
      ({ Properties }) => Properties.ReservedConcurrentExecutions,
    );
    expect(limits).toEqual([0, 10]);
  });

  it('is told at synth with the quota that it needs, and what to do without it', () => {
    const toldOf = (reservedConcurrency: unknown) => annotationsOf({ reservedConcurrency }, 'info');
    expect(toldOf(50)).toEqual([expect.stringMatching(/at least 150 .*Have it raised.*reservedConcurrency: 'none'/)]);
    expect([...toldOf('none'), ...toldOf(0)]).toEqual([]);
    expect(environments.prod?.reservedConcurrency).toBeGreaterThan(0);
  });

  it('changes without a new version: an emergency does not wait for a canary', () => {
    const [on, off] = ['none', 0].map((reservedConcurrency) =>
      synthesise('test', { ...exampleForm(), reservedConcurrency }, { bundled: true }),
    );
    expect(off && aliasOf(off)).toEqual(on && aliasOf(on));
    expect(off?.text).not.toBe(on?.text);
  });
});

describe('an environment with a canary', () => {
  it('is told at synth that its alarms need a subscriber, until the settings name one', () => {
    const toldOf = (canary: unknown, notify: readonly string[]) =>
      annotationsOf({ canary, health: { notify } }, 'warning');
    const canary = { percent: 10, minutes: 5 };
    expect(toldOf(canary, [])).toEqual([
      expect.stringMatching(/reach no operator.*\[ack: token-broker:no-subscriber\]/),
    ]);
    expect([...toldOf(canary, ['ops@example.com']), ...toldOf('off', [])]).toEqual([]);
  });
});

describe('provisioned concurrency', () => {
  it('is on the alias, so that it moves with the version', () => {
    const stack = synthesise('test', { ...exampleForm(), provisionedConcurrency: 3 });
    expect(aliasOf(stack).ProvisionedConcurrencyConfig).toEqual({ ProvisionedConcurrentExecutions: 3 });
    expect(aliasOf(plain)).not.toHaveProperty('ProvisionedConcurrencyConfig');
  });
});

describe('the logs', () => {
  it('of every function are encrypted with the key, kept as long as the settings say, and left when the stack goes', () => {
    const stack = synthesise('test', { ...exampleForm(), logRetentionDays: 90 });
    const groups = resourcesOf(stack, 'AWS::Logs::LogGroup');
    expect(groups).toHaveLength(resourcesOf(stack, 'AWS::Lambda::Function').length);
    for (const group of groups) {
      expect(group).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
      expect(group.Properties).toMatchObject({ RetentionInDays: 90, KmsKeyId: keyOf(stack) });
    }
  });

  it('have names that CloudFormation makes up, which the key lets in, and which are free again after a destroy', () => {
    for (const { Properties } of resourcesOf(plain, 'AWS::Logs::LogGroup')) {
      expect(Properties).not.toHaveProperty('LogGroupName');
    }
    expect(plain.text).toContain(':log-group:TokenBroker-test-*"');
  });
});

describe('tracing', () => {
  const traced = synthesise('test', { ...exampleForm(), tracing: true });

  it('is done by Lambda for every function, with the two permissions that it takes', () => {
    for (const { Properties } of resourcesOf(traced, 'AWS::Lambda::Function')) {
      expect(Properties.TracingConfig).toEqual({ Mode: 'Active' });
    }
    const ofTraces = statementsOf(traced).filter(({ Action }) => JSON.stringify(Action).includes('xray:'));
    expect(ofTraces).toHaveLength(2);
    for (const { Action } of ofTraces) {
      expect([Action].flat().filter((action) => action.startsWith('xray:'))).toEqual([
        'xray:PutTelemetryRecords',
        'xray:PutTraceSegments',
      ]);
    }
  });

  it('is off by default, and nothing may write a trace then', () => {
    expect(plain.text).not.toMatch(/TracingConfig|xray/);
  });
});

describe('a VPC', () => {
  const vpc = {
    subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
    securityGroupIds: ['sg-0123456789abcdef0'],
  };
  const stack = synthesise('test', { ...exampleForm(), vpc });
  const arn = (resource: string) => `arn:aws:ec2:eu-west-1:111111111111:${resource}`;
  const statements = statementsOf(stack).filter(({ Action }) => JSON.stringify(Action).includes('ec2:'));

  it('is for the token function alone: the others call no service', () => {
    expect(tokenFunction(stack).VpcConfig).toEqual({
      SubnetIds: vpc.subnetIds,
      SecurityGroupIds: vpc.securityGroupIds,
    });
    const others = resourcesOf(stack, 'AWS::Lambda::Function').filter(({ Properties }) => Properties.VpcConfig);
    expect(others).toHaveLength(1);
  });

  it('lets Lambda make interfaces in these subnets with these groups, and nowhere else', () => {
    const creates = statements.filter(
      ({ Effect, Action }) => Effect === 'Allow' && [Action].flat().includes('ec2:CreateNetworkInterface'),
    );
    expect(creates).toEqual([
      {
        Effect: 'Allow',
        Action: 'ec2:CreateNetworkInterface',
        Resource: [
          arn('network-interface/*'),
          arn('security-group/sg-0123456789abcdef0'),
          arn('subnet/subnet-0123456789abcdef0'),
          arn('subnet/subnet-0123456789abcdef1'),
        ],
      },
    ]);
  });

  it('gives the code of the function none of it', () => {
    const allowed = statements.filter(({ Effect }) => Effect === 'Allow').flatMap(({ Action }) => Action);
    const [denied, ...others] = statements.filter(({ Effect }) => Effect === 'Deny');
    expect(others).toEqual([]);
    expect(denied).toMatchObject({
      Resource: '*',
      Condition: {
        ArnEquals: {
          'lambda:SourceFunctionArn': 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-test',
        },
      },
    });
    expect([denied?.Action].flat()).toEqual(
      expect.arrayContaining(allowed.filter((action) => action.startsWith('ec2:'))),
    );
  });

  it('is none by default, and the role has nothing to do with EC2', () => {
    expect(plain.text).not.toMatch(/VpcConfig|ec2:/);
  });
});

describe('a key that is given back', () => {
  const stack = synthesise('test', { ...exampleForm(), keyArn: KEY_ARN });

  it('takes the place of a new one everywhere', () => {
    expect(resourcesOf(stack, 'AWS::KMS::Key')).toEqual([]);
    expect(stack.template.Outputs.KeyArn?.Value).toBe(KEY_ARN);
    for (const { Properties } of resourcesOf(stack, 'AWS::Logs::LogGroup')) expect(Properties.KmsKeyId).toBe(KEY_ARN);
    const ofKeys = statementsOf(stack).filter(({ Action }) => JSON.stringify(Action).includes('kms:'));
    expect(new Set(ofKeys.map(({ Resource }) => Resource))).toEqual(new Set([KEY_ARN]));
  });

  it('fits with the policy that it has: no statement of it names a resource that a new stack makes again', () => {
    const { KeyPolicy } = resourceOf(plain, 'ClientSecrets', 'AWS::KMS::Key').Properties;
    expect(JSON.stringify(KeyPolicy)).not.toMatch(/"Ref"|"Fn::/);
  });
});

describe('destroying the stack', () => {
  it('leaves the key and the logs, in every environment, and touches no client secret', () => {
    const kept = Object.values(plain.template.Resources).filter(({ DeletionPolicy }) =>
      DeletionPolicy?.startsWith('Retain'),
    );
    // A version goes with its function.
    const types = ['AWS::KMS::Key', 'AWS::Logs::LogGroup', 'AWS::Lambda::Version'];
    expect(new Set(kept.map(({ Type }) => Type))).toEqual(new Set(types));
    const secrets = resourcesOf(plain, 'AWS::SecretsManager::Secret').map(({ Properties }) => Properties.Name);
    expect(secrets).toEqual(['token-broker-keys/test/sealing']);
  });

  it('leaves a key that its account can use through Secrets Manager, so that the secrets stay readable', () => {
    const { KeyPolicy } = resourceOf(plain, 'ClientSecrets', 'AWS::KMS::Key').Properties;
    const reading = KeyPolicy.Statement.filter(
      ({ Action, Principal }: Statement) =>
        JSON.stringify(Principal).includes(':root') && [Action].flat().includes('kms:Decrypt'),
    );
    expect(reading).toHaveLength(1);
    expect(reading[0].Condition.StringEquals['kms:ViaService']).toContain('secretsmanager.eu-west-1.amazonaws.com');
  });
});

describe('the sealing key', () => {
  it('is read by the token function’s role only, even if IAM allows others', () => {
    const { SecretId, ResourcePolicy, BlockPublicPolicy } = resourceOf(
      plain,
      'PairTable',
      'AWS::SecretsManager::ResourcePolicy',
    ).Properties;
    expect(SecretId).toEqual({ Ref: resourceOf(plain, 'PairTable', 'AWS::SecretsManager::Secret').id });
    expect(BlockPublicPolicy).toBe(true);
    expect(ResourcePolicy.Statement).toEqual([
      {
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: 'secretsmanager:GetSecretValue',
        Resource: '*',
        Condition: {
          ArnNotEquals: {
            'aws:PrincipalArn': { 'Fn::GetAtt': [resourceOf(plain, 'TokenEndpointRole', 'AWS::IAM::Role').id, 'Arn'] },
          },
        },
      },
    ]);
  });
});

/** What `cdk synth` tells of an environment with these settings, beside its template. */
function annotationsOf(settings: object, kind: 'info' | 'warning') {
  const app = new App({ analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
  const environment = parseEnvironment('test', { ...exampleForm(), ...settings });
  const annotations = Annotations.fromStack(new TokenBrokerStack(app, 'Stack', { environment }));
  const found =
    kind === 'info' ? annotations.findInfo('*', Match.anyValue()) : annotations.findWarning('*', Match.anyValue());
  return found.map(({ entry }) => entry.data);
}

function tokenFunction(stack: Synthesised) {
  return resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Function').Properties;
}

function aliasOf(stack: Synthesised) {
  return resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties;
}

function keyOf(stack: Synthesised) {
  return { 'Fn::GetAtt': [resourceOf(stack, 'ClientSecrets', 'AWS::KMS::Key').id, 'Arn'] };
}

function statementsOf(stack: Synthesised): readonly Statement[] {
  return resourcesOf(stack, 'AWS::IAM::Policy').flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
}
