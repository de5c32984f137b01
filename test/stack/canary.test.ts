import { describe, expect, it } from 'vitest';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, synthesise } from './synthesise.ts';

const stack = synthesise('test', { ...exampleForm(), canary: { percent: 20, minutes: 15 } });
const group = inEndpoint('AWS::CodeDeploy::DeploymentGroup');

describe('the canary', () => {
  it('is what moves the alias with the URL to the version that a deployment makes', () => {
    const { Properties, UpdatePolicy } = inEndpoint('AWS::Lambda::Alias');
    expect(Properties).toMatchObject({
      Name: 'live',
      FunctionVersion: { 'Fn::GetAtt': [inEndpoint('AWS::Lambda::Version').id, 'Version'] },
    });
    expect(inEndpoint('AWS::Lambda::Url').Properties.Qualifier).toBe('live');
    expect(UpdatePolicy).toEqual({
      CodeDeployLambdaAliasUpdate: {
        ApplicationName: { Ref: inEndpoint('AWS::CodeDeploy::Application').id },
        DeploymentGroupName: { Ref: group.id },
      },
    });
  });

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
    const off = ['new-version-errors', 'new-version-internal-errors', 'new-version-p99-duration'];
    const without = synthesise('test', { ...exampleForm(), alarms: { off } });
    const { Properties } = resourceOf(without, 'TokenEndpoint', 'AWS::CodeDeploy::DeploymentGroup');
    expect(Properties.AutoRollbackConfiguration.Events).not.toContain('DEPLOYMENT_STOP_ON_ALARM');
  });

  it('may move the alias before the first deployment begins', () => {
    expect(group.DependsOn).toContain(resourceOf(stack, 'TokenEndpointCanaryPolicy', 'AWS::IAM::Policy').id);
  });

  it('leaves nothing behind when it is off: the alias then moves at once', () => {
    const off = synthesise('test', { ...exampleForm(), canary: 'off' });
    const types = Object.values(off.template.Resources).map(({ Type }) => Type);
    expect(types.filter((type) => type.startsWith('AWS::CodeDeploy::'))).toEqual([]);
    expect(resourceOf(off, 'TokenEndpoint', 'AWS::Lambda::Alias')).not.toHaveProperty('UpdatePolicy');
    expect(resourcesOf(off, 'AWS::IAM::Role')).toHaveLength(resourcesOf(stack, 'AWS::IAM::Role').length - 1);
  });
});

function inEndpoint(type: string) {
  return resourceOf(stack, 'TokenEndpoint', type);
}
