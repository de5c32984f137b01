import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, type Statement, type Synthesised, synthesise } from './synthesise.ts';
import { SYNTHESISED } from './synthesise-once.ts';

const vpc = {
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
};
const KEY_ARN = 'arn:aws:kms:eu-west-1:111111111111:key/12345678-1234-1234-1234-123456789012';
const settings = {
  logRetentionDays: 90,
  reservedConcurrency: 250,
  provisionedConcurrency: 3,
  tracing: true,
  vpc,
  keyArn: KEY_ARN,
};

const plain = synthesise('test', exampleForm());
const other = synthesise('test', { ...exampleForm(), ...settings });

describe('reserved concurrency', () => {
  const stopped = synthesise('test', { ...exampleForm(), reservedConcurrency: 0 });

  it('is what the settings say, none by default, and 0 turns the broker off; that of the health function is its own', () => {
    const limitsOf = (stack: Synthesised) =>
      resourcesOf(stack, 'AWS::Lambda::Function').map(({ Properties }) => Properties.ReservedConcurrentExecutions);
    expect([plain, other, stopped].map(limitsOf)).toEqual([
      [undefined, 10, undefined],
      [250, 10, undefined],
      [0, 10, undefined],
    ]);
  });

  it('changes without a new version: an emergency does not wait for a canary', () => {
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

  it('is told at synth with the quota that it needs, and what to do without it', () => {
    const toldOf = (reservedConcurrency: unknown) => toldAtSynth({ reservedConcurrency }, 'findInfo');
    expect(toldOf(50)).toEqual([expect.stringMatching(/at least 150 .*Have it raised.*reservedConcurrency: 'none'/)]);
    expect([...toldOf('none'), ...toldOf(0)]).toEqual([]);
    expect(environments.prod?.reservedConcurrency).toBeGreaterThan(0);
  });
});

it('provisioned concurrency is on the alias, so that it moves with the version', () => {
  expect(aliasOf(other).ProvisionedConcurrencyConfig).toEqual({ ProvisionedConcurrentExecutions: 3 });
  expect(aliasOf(plain)).not.toHaveProperty('ProvisionedConcurrencyConfig');
});

it('the logs of every function are JSON without Lambda’s own lines, and kept as long as the settings say', () => {
  for (const { Properties } of resourcesOf(other, 'AWS::Lambda::Function')) {
    expect(Properties.LoggingConfig).toMatchObject({ LogFormat: 'JSON', SystemLogLevel: 'WARN' });
  }
  const groups = resourcesOf(other, 'AWS::Logs::LogGroup').map(({ Properties }) => Properties.RetentionInDays);
  expect(groups).toEqual(resourcesOf(other, 'AWS::Lambda::Function').map(() => 90));
});

it('tracing is done by Lambda for every function, and off by default', () => {
  for (const { Properties } of resourcesOf(other, 'AWS::Lambda::Function')) {
    expect(Properties.TracingConfig).toEqual({ Mode: 'Active' });
  }
  expect(plain.text).not.toMatch(/TracingConfig|xray/);
});

it('a VPC is for the token function alone, as the others call no service, and there is none by default', () => {
  const configs = resourcesOf(other, 'AWS::Lambda::Function').map(({ Properties }) => Properties.VpcConfig);
  expect(configs).toEqual([{ SubnetIds: vpc.subnetIds, SecurityGroupIds: vpc.securityGroupIds }, undefined, undefined]);
  expect(plain.text).not.toMatch(/VpcConfig|ec2:/);
});

it('a key that is given back takes the place of a new one everywhere', () => {
  expect(resourcesOf(other, 'AWS::KMS::Key')).toEqual([]);
  expect(other.template.Outputs.KeyArn?.Value).toBe(KEY_ARN);
  for (const { Properties } of resourcesOf(other, 'AWS::Logs::LogGroup')) expect(Properties.KmsKeyId).toBe(KEY_ARN);
  const statements = resourcesOf(other, 'AWS::IAM::Policy').flatMap(
    ({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement,
  );
  const ofKeys = statements.filter(({ Action }) => JSON.stringify(Action).includes('kms:'));
  expect(new Set(ofKeys.map(({ Resource }) => Resource))).toEqual(new Set([KEY_ARN]));
});

it('an environment with a canary is warned at synth as long as its settings name no subscriber of its alarms', () => {
  const toldOf = (canary: unknown, ...notify: readonly string[]) =>
    toldAtSynth({ canary, health: { notify } }, 'findWarning');
  const canary = { percent: 10, minutes: 5 };
  expect(toldOf(canary)).toEqual([expect.stringMatching(/reach no operator.*\[ack: token-broker:no-subscriber\]/)]);
  expect([...toldOf(canary, 'ops@example.com'), ...toldOf('off')]).toEqual([]);
});

/** What `cdk synth` says of an environment with these settings, beside its template. */
function toldAtSynth(changes: object, find: 'findInfo' | 'findWarning') {
  const environment = parseEnvironment('test', { ...exampleForm(), ...changes });
  const annotations = Annotations.fromStack(new TokenBrokerStack(unbundledApp(), 'Stack', { environment }));
  return annotations[find]('*', Match.anyValue()).map(({ entry }) => entry.data);
}

function unbundledApp(): App {
  const outdir = mkdtempSync(path.join(SYNTHESISED, 'app-'));
  const context = { 'aws:cdk:bundling-stacks': [] };
  return new App({ analyticsReporting: false, builtinCloudFormationValidation: false, outdir, context });
}

function aliasOf(stack: Pick<Synthesised, 'template'>) {
  return resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties;
}
