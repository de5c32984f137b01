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
        BeforeAllowTrafficHook: { Ref: inCheck('AWS::Lambda::Function').id },
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
    expect(resourcesOf(off, 'AWS::IAM::Role')).toHaveLength(resourcesOf(stack, 'AWS::IAM::Role').length - 2);
    expect(Object.keys(off.template.Resources).filter((id) => id.startsWith('ReleaseCheck'))).toEqual([]);
  });
});

describe('before a new version has any calls', () => {
  it('it is asked at a URL of its own, by a function that the alias of the callers waits for', () => {
    const alias = inCheck('AWS::Lambda::Alias');
    expect(alias.Properties).toEqual({ ...inEndpoint('AWS::Lambda::Alias').Properties, Name: 'next' });
    const { id, Properties } = inCheck('AWS::Lambda::Url');
    expect(Properties).toMatchObject({ AuthType: 'AWS_IAM', Qualifier: 'next' });
    const { Environment } = inCheck('AWS::Lambda::Function').Properties;
    expect(Environment.Variables).toEqual({
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_SERVICES: Object.keys(exampleForm().services).join(' '),
      TOKEN_BROKER_URL: { 'Fn::GetAtt': [id, 'FunctionUrl'] },
    });
    const all = Object.keys(stack.template.Resources).filter((one) => one.startsWith('ReleaseCheck'));
    expect(all.length).toBeGreaterThanOrEqual(6);
    expect(inEndpoint('AWS::Lambda::Alias').DependsOn).toEqual(expect.arrayContaining(all));
  });

  it('no account gets a permission on its URL: the policy of that role alone lets it in', () => {
    const permitted = resourcesOf(stack, 'AWS::Lambda::Permission').map(({ Properties }) =>
      JSON.stringify(Properties.FunctionName),
    );
    expect(permitted).not.toEqual([]);
    expect(permitted.filter((name) => name.includes('ReleaseCheck'))).toEqual([]);
  });

  it('the token function lets that role check, beside the role of health', () => {
    const { Variables } = inEndpoint('AWS::Lambda::Function').Properties.Environment;
    const roles = ['CredentialHealthRole', 'ReleaseCheckRole'].map((role) => resourceOf(stack, role, 'AWS::IAM::Role'));
    const [health, check] = roles.map(({ id }) => ({ 'Fn::GetAtt': [id, 'Arn'] }));
    expect(Variables.TOKEN_BROKER_CHECKER_ROLES).toEqual({ 'Fn::Join': ['', [health, ' ', check]] });
  });

  it('there is nothing to ask of a broker that is turned off', () => {
    const stopped = synthesise('test', { ...exampleForm(), reservedConcurrency: 0 });
    expect(resourceOf(stopped, 'TokenEndpoint', 'AWS::Lambda::Alias').UpdatePolicy).toHaveProperty(
      'CodeDeployLambdaAliasUpdate',
      expect.not.objectContaining({ BeforeAllowTrafficHook: expect.anything() }),
    );
  });
});

function inCheck(type: string) {
  return resourceOf(stack, 'ReleaseCheck', type);
}

function inEndpoint(type: string) {
  return resourceOf(stack, 'TokenEndpoint', type);
}
