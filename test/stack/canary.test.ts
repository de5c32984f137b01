import { describe, expect, it } from 'vitest';
import { rulesDigest } from '../../functions/environment.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { resourceOf, resourcesOf, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const stack = synthesise('test', { ...exampleForm(), canary: { percent: 20, minutes: 15 } });
const inEndpoint = (type: string) => resourceOf(stack, 'TokenEndpoint', type);
const inCheck = (type: string) => resourceOf(stack, 'ReleaseCheck', type);
const group = inEndpoint('AWS::CodeDeploy::DeploymentGroup');
const alias = inEndpoint('AWS::Lambda::Alias');
const ofCheck = Object.keys(stack.template.Resources).filter((id) => id.startsWith('ReleaseCheck'));

describe('the canary', () => {
  it('moves the alias with the URL to the version that a deployment makes, a part of the calls first', () => {
    const FunctionVersion = { 'Fn::GetAtt': [inEndpoint('AWS::Lambda::Version').id, 'Version'] };
    expect(alias.Properties).toMatchObject({ Name: 'live', FunctionVersion });
    expect(inEndpoint('AWS::Lambda::Url').Properties.Qualifier).toBe('live');
    expect(alias.UpdatePolicy).toEqual({
      CodeDeployLambdaAliasUpdate: {
        BeforeAllowTrafficHook: { Ref: inCheck('AWS::Lambda::Function').id },
        ApplicationName: { Ref: inEndpoint('AWS::CodeDeploy::Application').id },
        DeploymentGroupName: { Ref: group.id },
      },
    });
    const { TrafficRoutingConfig } = inEndpoint('AWS::CodeDeploy::DeploymentConfig').Properties;
    expect(TrafficRoutingConfig.TimeBasedCanary).toEqual({ CanaryPercentage: 20, CanaryInterval: 15 });
    // It may move the alias before the first deployment begins.
    expect(group.DependsOn).toContain(resourceOf(stack, 'TokenEndpointCanaryPolicy', 'AWS::IAM::Policy').id);
  });

  it('goes back when an alarm of the new version rings, and for no other alarm', () => {
    const { AlarmConfiguration, AutoRollbackConfiguration } = group.Properties;
    const names: readonly { readonly Name: { readonly Ref: string } }[] = AlarmConfiguration.Alarms;
    const watched = names.map(({ Name }) => stack.template.Resources[Name.Ref]?.Properties);
    expect(watched.map(({ AlarmName }) => AlarmName)).toEqual([
      'token-broker-new-version-errors-test',
      'token-broker-new-version-internal-errors-test',
      'token-broker-new-version-p99-duration-test',
    ]);
    const { id } = inEndpoint('AWS::Lambda::Version');
    for (const { Dimensions } of watched) expect(JSON.stringify(Dimensions)).toContain(id);
    expect(AlarmConfiguration.Enabled).toBe(true);
    expect(AutoRollbackConfiguration).toEqual({
      Enabled: true,
      Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_REQUEST', 'DEPLOYMENT_STOP_ON_ALARM'],
    });
  });

  it('leaves nothing behind when it is off: the alias then moves at once', () => {
    const off = synthesise('test', { ...exampleForm(), canary: 'off' });
    expect(off.text).not.toMatch(/AWS::CodeDeploy|ReleaseCheck/);
    expect(resourceOf(off, 'TokenEndpoint', 'AWS::Lambda::Alias')).not.toHaveProperty('UpdatePolicy');
    expect(resourcesOf(off, 'AWS::IAM::Role')).toHaveLength(resourcesOf(stack, 'AWS::IAM::Role').length - 2);
  });
});

describe('before a new version has any calls', () => {
  it('it is asked at a URL of its own, by a function that the alias of the callers waits for', () => {
    expect(inCheck('AWS::Lambda::Alias').Properties).toEqual({ ...alias.Properties, Name: 'next' });
    const { id, Properties } = inCheck('AWS::Lambda::Url');
    expect(Properties).toMatchObject({ AuthType: 'AWS_IAM', Qualifier: 'next' });
    expect(inCheck('AWS::Lambda::Function').Properties.Environment.Variables).toEqual({
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_RULES_DIGEST: rulesDigest(parseEnvironment('test', exampleForm())),
      TOKEN_BROKER_SERVICES: Object.keys(exampleForm().services).join(' '),
      TOKEN_BROKER_URL: { 'Fn::GetAtt': [id, 'FunctionUrl'] },
    });
    expect(ofCheck.length).toBeGreaterThanOrEqual(6);
    expect(alias.DependsOn).toEqual(expect.arrayContaining(ofCheck));
  });

  it('no account gets a permission on its URL: the policy of that role alone lets it in', () => {
    const permissions = resourcesOf(stack, 'AWS::Lambda::Permission').map(({ Properties }) => Properties.FunctionName);
    expect(permissions).not.toEqual([]);
    expect(JSON.stringify(permissions)).not.toContain('ReleaseCheck');
  });

  it('the token function lets that role check, beside the role of health, and not the probe', () => {
    const arns = ['CredentialHealthRole', 'ReleaseCheckRole'].map((role) => {
      return { 'Fn::GetAtt': [resourceOf(stack, role, 'AWS::IAM::Role').id, 'Arn'] };
    });
    const { TOKEN_BROKER_CHECKER_ROLES } = inEndpoint('AWS::Lambda::Function').Properties.Environment.Variables;
    expect(TOKEN_BROKER_CHECKER_ROLES).toEqual({ 'Fn::Join': ['', [arns[0], ' ', arns[1]]] });
  });

  it('there is nothing to ask of a broker that is turned off', () => {
    const stopped = synthesise('test', { ...exampleForm(), reservedConcurrency: 0 });
    const { UpdatePolicy } = resourceOf(stopped, 'TokenEndpoint', 'AWS::Lambda::Alias');
    expect(JSON.stringify(UpdatePolicy)).toMatch(/^(?!.*BeforeAllowTrafficHook).*CodeDeployLambdaAliasUpdate/);
  });
});
