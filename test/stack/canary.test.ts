import { describe, expect, it } from 'vitest';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, type Statement, synthesise } from './synthesise.ts';

const stack = synthesise('test', { ...exampleForm(), canary: { percent: 20, minutes: 15 } });
const off = synthesise('test', { ...exampleForm(), canary: 'off' });
const alias = inEndpoint('AWS::Lambda::Alias');
const group = inEndpoint('AWS::CodeDeploy::DeploymentGroup');

describe('the alias of the token function', () => {
  it('names the version that this deployment makes, and has the URL', () => {
    const version = inEndpoint('AWS::Lambda::Version');
    expect(alias.Properties).toMatchObject({
      Name: 'live',
      FunctionName: { Ref: inEndpoint('AWS::Lambda::Function').id },
      FunctionVersion: { 'Fn::GetAtt': [version.id, 'Version'] },
    });
    expect(inEndpoint('AWS::Lambda::Url').Properties.Qualifier).toBe('live');
  });

  it('leaves the versions before it, to go back to, but none whose creation failed', () => {
    const kept = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
    expect(inEndpoint('AWS::Lambda::Version')).toMatchObject(kept);
  });

  it('is moved by CodeDeploy', () => {
    expect(alias.UpdatePolicy).toEqual({
      CodeDeployLambdaAliasUpdate: {
        ApplicationName: { Ref: inEndpoint('AWS::CodeDeploy::Application').id },
        DeploymentGroupName: { Ref: group.id },
      },
    });
  });
});

describe('the canary', () => {
  it('gives a new version the part of the calls, and the time, that the settings say', () => {
    const config = inEndpoint('AWS::CodeDeploy::DeploymentConfig');
    expect(group.Properties.DeploymentConfigName).toEqual({ Ref: config.id });
    expect(config.Properties.TrafficRoutingConfig).toEqual({
      Type: 'TimeBasedCanary',
      TimeBasedCanary: { CanaryPercentage: 20, CanaryInterval: 15 },
    });
  });

  it('goes back when an alarm of the new version rings, and for no other alarm', () => {
    const { AlarmConfiguration, AutoRollbackConfiguration } = group.Properties;
    const watched = AlarmConfiguration.Alarms.map(({ Name }: { Name: { Ref: string } }) => {
      const { AlarmName, Dimensions } = stack.template.Resources[Name.Ref]?.Properties ?? {};
      return [AlarmName, JSON.stringify(Dimensions).includes(inEndpoint('AWS::Lambda::Version').id)];
    });
    expect(AlarmConfiguration.Enabled).toBe(true);
    expect(watched).toEqual([
      ['token-broker-new-version-errors-test', true],
      ['token-broker-new-version-internal-errors-test', true],
      ['token-broker-new-version-p99-duration-test', true],
    ]);
    expect(AutoRollbackConfiguration).toEqual({
      Enabled: true,
      Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_REQUEST', 'DEPLOYMENT_STOP_ON_ALARM'],
    });
  });

  it('can do without alarms', () => {
    const alarms = { off: ['new-version-errors', 'new-version-internal-errors', 'new-version-p99-duration'] };
    const { Properties } = resourceOf(
      synthesise('test', { ...exampleForm(), alarms }),
      'TokenEndpoint',
      'AWS::CodeDeploy::DeploymentGroup',
    );
    expect(Properties.AutoRollbackConfiguration.Events).not.toContain('DEPLOYMENT_STOP_ON_ALARM');
  });

  it('is 10 % for 5 minutes unless the settings say otherwise', () => {
    const { Properties } = resourceOf(
      synthesise('test', exampleForm()),
      'TokenEndpoint',
      'AWS::CodeDeploy::DeploymentConfig',
    );
    expect(Properties.TrafficRoutingConfig.TimeBasedCanary).toEqual({ CanaryPercentage: 10, CanaryInterval: 5 });
  });

  it('leaves nothing behind when it is off: the alias then moves at once', () => {
    const types = Object.values(off.template.Resources).map(({ Type }) => Type);
    expect(types.filter((type) => type.startsWith('AWS::CodeDeploy::'))).toEqual([]);
    expect(resourceOf(off, 'TokenEndpoint', 'AWS::Lambda::Alias')).not.toHaveProperty('UpdatePolicy');
    expect(resourcesOf(off, 'AWS::IAM::Role')).toHaveLength(resourcesOf(stack, 'AWS::IAM::Role').length - 1);
  });
});

describe('the role of CodeDeploy', () => {
  const role = resourceOf(stack, 'TokenEndpointCanaryRole', 'AWS::IAM::Role');
  const policy = resourceOf(stack, 'TokenEndpointCanaryPolicy', 'AWS::IAM::Policy');
  const statements: readonly Statement[] = policy.Properties.PolicyDocument.Statement;

  it('can be taken on for this deployment group only', () => {
    const name = group.Properties.DeploymentGroupName;
    expect(name).toBe('token-broker-test');
    expect(inEndpoint('AWS::CodeDeploy::Application').Properties.ApplicationName).toBe(name);
    expect(role.Properties.AssumeRolePolicyDocument.Statement).toEqual([
      {
        Effect: 'Allow',
        Action: 'sts:AssumeRole',
        Principal: { Service: 'codedeploy.amazonaws.com' },
        Condition: {
          StringEquals: { 'aws:SourceAccount': '111111111111' },
          ArnEquals: { 'aws:SourceArn': `arn:aws:codedeploy:eu-west-1:111111111111:deploymentgroup:${name}/${name}` },
        },
      },
    ]);
  });

  it('can move this one alias and see alarms, and nothing else', () => {
    const FUNCTION = 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-test';
    expect(role.Properties).not.toHaveProperty('ManagedPolicyArns');
    expect(statements).toEqual([
      {
        Effect: 'Allow',
        Action: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
        Resource: [FUNCTION, `${FUNCTION}:live`],
      },
      {
        Effect: 'Allow',
        Action: 'cloudwatch:DescribeAlarms',
        Resource: 'arn:aws:cloudwatch:eu-west-1:111111111111:alarm:*',
      },
    ]);
  });

  it('can do it before the first deployment begins', () => {
    expect(group.DependsOn).toContain(policy.id);
  });
});

function inEndpoint(type: string) {
  return resourceOf(stack, 'TokenEndpoint', type);
}
