import { expect, it } from 'vitest';
import { rulesDigest } from '../../functions/variables.ts';
import { parseEnvironment } from '../../lib/settings/settings.ts';
import { resourceOf, resourcesOf, synthesise } from '../support/stack/synthesise.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const stack = synthesise('test', { ...exampleForm(), canary: { percent: 20, minutes: 15 } });
const inEndpoint = (type: string) => resourceOf(stack, 'TokenEndpoint', type);
const inCheck = (type: string) => resourceOf(stack, 'ReleaseCheck', type);

it('a new version gets the part of the calls that the settings say, and goes back when one of its own alarms rings', () => {
  const { TrafficRoutingConfig } = inEndpoint('AWS::CodeDeploy::DeploymentConfig').Properties;
  expect(TrafficRoutingConfig.TimeBasedCanary).toEqual({ CanaryPercentage: 20, CanaryInterval: 15 });
  const { AlarmConfiguration } = inEndpoint('AWS::CodeDeploy::DeploymentGroup').Properties;
  const names: readonly { readonly Name: { readonly Ref: string } }[] = AlarmConfiguration.Alarms;
  const watched = names.map(({ Name }) => stack.template.Resources[Name.Ref]?.Properties.AlarmName);
  expect(watched).toEqual(
    ['errors', 'internal-errors', 'table-unavailable', 'p99-duration'].map(
      (name) => `token-broker-new-version-${name}-test`,
    ),
  );
});

it('a new version is asked at a URL of its own before it has any calls: the alias of the callers waits for the check', () => {
  const alias = inEndpoint('AWS::Lambda::Alias');
  const { id, Properties } = inCheck('AWS::Lambda::Url');
  expect(inCheck('AWS::Lambda::Alias').Properties).toEqual({ ...alias.Properties, Name: 'next' });
  expect(Properties).toMatchObject({ AuthType: 'AWS_IAM', Qualifier: 'next' });
  expect(inCheck('AWS::Lambda::Function').Properties.Environment.Variables).toMatchObject({
    TOKEN_BROKER_RULES_DIGEST: rulesDigest(parseEnvironment('test', exampleForm())),
    TOKEN_BROKER_URL: { 'Fn::GetAtt': [id, 'FunctionUrl'] },
  });
  const ofCheck = Object.keys(stack.template.Resources).filter((name) => name.startsWith('ReleaseCheck'));
  expect(ofCheck.length).toBeGreaterThanOrEqual(6);
  expect(alias.DependsOn).toEqual(expect.arrayContaining(ofCheck));
});

it('no account gets a permission on that URL: the policy of the role of the check alone lets it in', () => {
  const permissions = resourcesOf(stack, 'AWS::Lambda::Permission').map(({ Properties }) => Properties.FunctionName);
  expect(permissions).not.toEqual([]);
  expect(JSON.stringify(permissions)).not.toContain('ReleaseCheck');
});

it('a new version of a broker that is turned off is not asked', () => {
  const stopped = synthesise('test', { ...exampleForm(), reservedConcurrency: 0 });
  const { UpdatePolicy } = resourceOf(stopped, 'TokenEndpoint', 'AWS::Lambda::Alias');
  expect(JSON.stringify(UpdatePolicy)).toMatch(/^(?!.*BeforeAllowTrafficHook).*CodeDeployLambdaAliasUpdate/);
});
