import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { resourceOf, resourcesOf, type Statement, type Synthesised, synthesise } from '../support/stack/synthesise.ts';
import { SYNTHESISED } from '../support/stack/synthesise-once.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };
const keyArn = 'arn:aws:kms:eu-west-1:111111111111:key/12345678-1234-1234-1234-123456789012';
const plain = synthesise('test', exampleForm());
const other = synthesise('test', {
  ...exampleForm(),
  logRetentionDays: 90,
  reservedConcurrency: 250,
  healthConcurrency: 10,
  provisionedConcurrency: 3,
  tracing: true,
  vpc,
  keyArn,
});
const aliasOf = (stack: Pick<Synthesised, 'template'>) =>
  resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties;

it('each function has the concurrency, traces, network and logs of the settings; the defaults have none of it', () => {
  const functionsOf = (stack: Synthesised) =>
    resourcesOf(stack, 'AWS::Lambda::Function').map(({ Properties }) => Properties);
  const limits = (stack: Synthesised) => functionsOf(stack).map((one) => one.ReservedConcurrentExecutions);
  expect([plain, other].map(limits)).toEqual([
    [undefined, undefined, undefined],
    [250, 10, undefined],
  ]);
  // The others call no service.
  const VpcConfig = { SubnetIds: vpc.subnetIds, SecurityGroupIds: vpc.securityGroupIds };
  expect(functionsOf(other).map((one) => one.VpcConfig)).toEqual([VpcConfig, undefined, undefined]);
  for (const { TracingConfig, LoggingConfig } of functionsOf(other)) {
    expect(TracingConfig).toEqual({ Mode: 'Active' });
    expect(LoggingConfig).toMatchObject({ LogFormat: 'JSON', SystemLogLevel: 'WARN' });
  }
  expect(plain.text).not.toMatch(/TracingConfig|xray|VpcConfig|ec2:/);
  const retention = resourcesOf(other, 'AWS::Logs::LogGroup').map(({ Properties }) => Properties.RetentionInDays);
  expect(retention).toEqual([90, 90, 90]);
  // On the alias, so that it moves with the version.
  expect(aliasOf(other).ProvisionedConcurrencyConfig).toEqual({ ProvisionedConcurrentExecutions: 3 });
  expect(aliasOf(plain)).not.toHaveProperty('ProvisionedConcurrencyConfig');
});

it('reserved concurrency changes without a new version: an emergency does not wait for a canary', () => {
  // In one app, because the key of code that is not bundled is made of the app's folder.
  const app = unbundledApp();
  const [on, off, traced] = [{}, { reservedConcurrency: 0 }, { tracing: true }].map((changes, index) => {
    const environment = parseEnvironment('test', { ...exampleForm(), ...changes });
    return new TokenBrokerStack(app, `Stack${index}`, { environment });
  });
  const versionOf = ({ stackName = '' } = {}) =>
    aliasOf({ template: app.synth().getStackByName(stackName).template }).FunctionVersion;
  expect(versionOf(off)).toEqual(versionOf(on));
  expect(versionOf(traced)).not.toEqual(versionOf(on));
});

it('synth warns of alarms that reach no subscriber', () => {
  const warnings = (changes: object) => {
    const environment = parseEnvironment('test', { ...exampleForm(), ...changes });
    const annotations = Annotations.fromStack(new TokenBrokerStack(unbundledApp(), 'Stack', { environment }));
    return annotations.findWarning('*', Match.anyValue()).map(({ entry }) => entry.data);
  };
  expect(warnings({})).toEqual([expect.stringMatching(/reach no operator.*\[ack: token-broker:no-subscriber\]/)]);
  expect(warnings({ health: { notify: ['ops@example.com'] } })).toEqual([]);
  expect(warnings({ canary: 'off' })).toEqual([]);
});

it('a key that is given back takes the place of a new one everywhere', () => {
  expect(resourcesOf(other, 'AWS::KMS::Key')).toEqual([]);
  expect(other.template.Outputs.KeyArn?.Value).toBe(keyArn);
  for (const { Properties } of resourcesOf(other, 'AWS::Logs::LogGroup')) expect(Properties.KmsKeyId).toBe(keyArn);
  const statements = resourcesOf(other, 'AWS::IAM::Policy').flatMap(
    ({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement,
  );
  const ofKeys = statements.filter(({ Action }) => JSON.stringify(Action).includes('kms:'));
  expect(new Set(ofKeys.map(({ Resource }) => Resource))).toEqual(new Set([keyArn]));
});

function unbundledApp(): App {
  const outdir = mkdtempSync(path.join(SYNTHESISED, 'app-'));
  const context = { 'aws:cdk:bundling-stacks': [] };
  return new App({ analyticsReporting: false, builtinCloudFormationValidation: false, outdir, context });
}
