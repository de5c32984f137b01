import { mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { rulesDigest } from '../../functions/variables.ts';
import { environments } from '../../lib/environments.ts';
import { type Environment, parseEnvironment } from '../../lib/settings/settings.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import documented from '../contract/recorded-events/secret-label-updated.json' with { type: 'json' };
import { createCertificateAuthority } from '../support/services/certificates.ts';
import { newApp, resourceOf, resourcesOf, type Statement, synthesise } from '../support/stack/synthesise.ts';
import { SYNTHESISED } from '../support/stack/synthesise-once.ts';
import { ALL_OPTIONS, exampleForm, VPC } from '../unit/settings/example-form.ts';

const keyArn = 'arn:aws:kms:eu-west-1:111111111111:key/12345678-1234-1234-1234-123456789012';
const { services } = exampleForm();
const single = { ...services['customer-insights'], singleActiveToken: true };
const other = synthesise('test', {
  ...exampleForm(),
  services: { ...services, 'customer-insights': single },
  health: { every: 'rate(2 hours)' },
  provisionedConcurrency: 3,
  tracing: true,
  vpc: VPC,
  keyArn,
});
const all = synthesise('test', { ...exampleForm(), ...ALL_OPTIONS });
const aliasOf = (stack: Parameters<typeof resourceOf>[0]) =>
  resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Alias').Properties;

it('the functions have the traces, the network and the instances that the settings ask for', () => {
  const functions = resourcesOf(other, 'AWS::Lambda::Function').map(({ Properties }) => Properties);
  // The others call no service.
  const VpcConfig = { SubnetIds: VPC.subnetIds, SecurityGroupIds: VPC.securityGroupIds };
  expect(functions.map((one) => one.VpcConfig)).toEqual([VpcConfig, undefined, undefined]);
  const moved = resourcesOf(all, 'AWS::Lambda::Function').map(({ Properties }) => Properties.VpcConfig);
  expect(moved).toEqual([VpcConfig, VpcConfig, VpcConfig]);
  for (const { TracingConfig } of functions) expect(TracingConfig).toEqual({ Mode: 'Active' });
  // On the alias, so that it moves with the version.
  expect(aliasOf(other).ProvisionedConcurrencyConfig).toEqual({ ProvisionedConcurrentExecutions: 3 });
});

it('the log of the token function, and no other, goes to the destination that the settings name', () => {
  const { logDestinationArn: DestinationArn } = ALL_OPTIONS;
  const LogGroupName = { Ref: resourceOf(all, 'TokenEndpointLog', 'AWS::Logs::LogGroup').id };
  const Properties = { DestinationArn, FilterPattern: '', LogGroupName };
  expect(resourcesOf(all, 'AWS::Logs::SubscriptionFilter')).toEqual([expect.objectContaining({ Properties })]);
  expect(resourcesOf(other, 'AWS::Logs::SubscriptionFilter')).toEqual([]);
});

it('health runs as often as the settings say, and knows its interval and the services with one token at a time', () => {
  const { Properties } = resourceOf(other, 'CredentialHealthSchedule', 'AWS::Scheduler::Schedule');
  expect(Properties.ScheduleExpression).toBe('rate(2 hours)');
  const { Environment } = resourceOf(other, 'CredentialHealthFunction', 'AWS::Lambda::Function').Properties;
  expect(Environment.Variables).toMatchObject({
    TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: '7200',
    TOKEN_BROKER_SINGLE_TOKEN_SERVICES: 'customer-insights',
  });
});

it('health starts with the event that AWS documents for a new version of a secret', () => {
  const { account, source, 'detail-type': type, detail: members } = documented;
  const { detail, ...event } = resourceOf(other, 'CredentialHealth', 'AWS::Events::Rule').Properties.EventPattern;
  expect(event).toEqual({ account: [account], source: [source], 'detail-type': [type] });
  expect(detail).toEqual({ name: [{ prefix: 'token-broker/test/' }], labelUpdated: [members.labelUpdated] });
  expect(Object.keys(members)).toEqual(expect.arrayContaining(Object.keys(detail)));
});

it('reserved concurrency changes without a new version: an emergency does not wait for a canary', () => {
  // In one app, because the key of code that is not bundled is made of the app's folder.
  const app = newApp();
  const [on, off, traced] = [{}, { reservedConcurrency: 0 }, { tracing: true }].map((changes, index) => {
    const environment = parseEnvironment('test', { ...exampleForm(), ...changes });
    return new TokenBrokerStack(app, `Stack${index}`, { environment });
  });
  const versionOf = ({ stackName = '' } = {}) =>
    aliasOf({ template: app.synth().getStackByName(stackName).template }).FunctionVersion;
  expect(versionOf(off)).toEqual(versionOf(on));
  expect(versionOf(traced)).not.toEqual(versionOf(on));
});

const withCanary = synthesise('test', { ...exampleForm(), canary: { percent: 20, minutes: 15 } });
const inEndpoint = (type: string) => resourceOf(withCanary, 'TokenEndpoint', type);
const inCheck = (type: string) => resourceOf(withCanary, 'ReleaseCheck', type);

it('a new version gets the part of the calls that the settings say, and goes back when one of its own alarms rings', () => {
  const { TrafficRoutingConfig } = inEndpoint('AWS::CodeDeploy::DeploymentConfig').Properties;
  expect(TrafficRoutingConfig.TimeBasedCanary).toEqual({ CanaryPercentage: 20, CanaryInterval: 15 });
  const { AlarmConfiguration } = inEndpoint('AWS::CodeDeploy::DeploymentGroup').Properties;
  const names: readonly { readonly Name: { readonly Ref: string } }[] = AlarmConfiguration.Alarms;
  const watched = names.map(({ Name }) => withCanary.template.Resources[Name.Ref]?.Properties.AlarmName);
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
  expect(inEndpoint('AWS::Lambda::Url').Properties).toMatchObject({ AuthType: 'AWS_IAM', Qualifier: 'live' });
  expect(inCheck('AWS::Lambda::Function').Properties.Environment.Variables).toMatchObject({
    TOKEN_BROKER_RULES_DIGEST: rulesDigest(parseEnvironment('test', exampleForm())),
    TOKEN_BROKER_URL: { 'Fn::GetAtt': [id, 'FunctionUrl'] },
  });
  const ofCheck = Object.keys(withCanary.template.Resources).filter((name) => name.startsWith('ReleaseCheck'));
  expect(ofCheck.length).toBeGreaterThanOrEqual(6);
  expect(alias.DependsOn).toEqual(expect.arrayContaining(ofCheck));
});

it('no account gets a permission on that URL: the policy of the role of the check alone lets it in', () => {
  const granted = resourcesOf(withCanary, 'AWS::Lambda::Permission').map(({ Properties }) => Properties.FunctionName);
  expect(granted).not.toEqual([]);
  expect(JSON.stringify(granted)).not.toContain('ReleaseCheck');
});

it('a new version of a broker that is turned off is not asked', () => {
  const stopped = synthesise('test', { ...exampleForm(), reservedConcurrency: 0 });
  const { UpdatePolicy } = resourceOf(stopped, 'TokenEndpoint', 'AWS::Lambda::Alias');
  expect(JSON.stringify(UpdatePolicy)).toMatch(/^(?!.*BeforeAllowTrafficHook).*CodeDeployLambdaAliasUpdate/);
});

describe('synth warns', () => {
  const [health, canary, trail] = [{ notify: ['ops@example.com'] }, 'off', {}];
  const role = 'arn:aws:iam::111111111111:role/operator';
  const rule = { role, clients: 'all', services: 'all', operations: ['check'] };
  const elsewhere = { ...rule, role: 'arn:aws:iam::222222222222:role/billing', operations: ['token', 'check'] };
  const noSubscriber = /reach no operator.*\[ack: token-broker:no-subscriber\]/;
  const ownCaller = /callers: \S+:role\/billing\..*Guard the function.*\[ack: token-broker:caller-in-own-account\]/;

  const headers = { 'X-Api-KEY': 'a', 'my-token': 'b', 'A-Secret': 'c', 'x-tenant': 'd' };
  const parameters = { scope: 'e', apikey: 'f' };
  const tokenPath = '/token?subscription-key=g';
  const keyed = { ...services['customer-insights'], headers, parameters, tokenPath };
  const secretValue = (name: string) => new RegExp(`of keyed contain the ${name}, which.* in clientHeaders`);

  it.each<[what: string, changes: object, warnings: RegExp[]]>([
    ['alarms that reach no subscriber, and of callers in the own account', {}, [ownCaller, noSubscriber]],
    ['callers in the own account alone', { health }, [ownCaller]],
    ['them where a trail is, without a canary', { health, canary, trail }, [ownCaller]],
    ['nothing where neither a canary nor a trail is', { canary }, []],
    ['nothing where the guard is attached', { health, guarded: true }, []],
    ['nothing when callers are elsewhere, and only operators here', { health, accessRules: [rule, elsewhere] }, []],
    [
      'headers and parameters of a service that may be secret, by their names',
      { canary, services: { ...services, keyed } },
      ['header X-Api-KEY', 'header my-token', 'header A-Secret', 'parameter apikey', 'parameter subscription-key'].map(
        secretValue,
      ),
    ],
    ['nothing in the example of prod', { ...environments.prod }, []],
  ])('of %s', (_, changes, warnings) => {
    const environment = parseEnvironment('test', { ...exampleForm(), ...changes });
    expect(warningsOf(environment)).toEqual(warnings.map((one) => expect.stringMatching(one)));
  });
});

it('synth warns of a certificate authority that ends within a year', async () => {
  const folder = mkdtempSync(path.join(SYNTHESISED, 'ca-'));
  const authority = await createCertificateAuthority();
  const ends = { soon: new Date(Date.now() + 364 * DAY_MS), late: new Date(Date.now() + 400 * DAY_MS) };
  for (const [name, notAfter] of Object.entries(ends)) {
    writeFileSync(path.join(folder, `${name}.pem`), (await authority.issue({ notAfter })).cert);
  }
  const environment = parseEnvironment('test', { ...exampleForm(), canary: 'off' }, folder);
  Object.assign(environment.services['customer-insights'] ?? {}, { certificateAuthorities: ['soon.pem', 'late.pem'] });
  const day = ends.soon.toISOString().slice(0, 10);
  expect(warningsOf(environment)).toEqual([
    expect.stringMatching(`soon.pem, which verifies customer-insights, expires on ${day}`),
  ]);
});

const DAY_MS = 86_400_000;

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

/** The warnings that synth gives about an environment. */
function warningsOf(environment: Environment): readonly unknown[] {
  const { node } = new TokenBrokerStack(newApp(), 'Stack', { environment });
  return node.metadata.filter(({ type }) => type === 'aws:cdk:warning').map(({ data }) => data);
}
