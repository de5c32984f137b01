import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App, CloudFormationValidatePlugin } from 'aws-cdk-lib';
import { afterAll, describe, expect, it } from 'vitest';
import { guardRules } from '../../lib/checks/guard-rules.ts';
import { changed, exampleForm } from './example-form.ts';
import { resourceOf, synthesise } from './synthesise.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

const stack = synthesise('test', exampleForm());
const app = new App({ analyticsReporting: false });
const plugin = new CloudFormationValidatePlugin({
  guardRules: [{ name: 'lib/checks/guard-rules.ts', content: guardRules }],
  includeDefaultRules: false,
});
const names = [...guardRules.matchAll(/^rule (\w+)/gm)].map(([, name = '']) => name);

const ROOT = 'arn:aws:iam::111111111111:root';
const statement = { Effect: 'Allow', Principal: { AWS: ROOT }, Action: 'kms:Decrypt', Resource: 'arn:aws:x:::y' };
const roleStatement = { Effect: 'Allow', Action: 'kms:Decrypt', Resource: 'arn:aws:x:::y' };

/** What is broken, by the rule that must find it: a construct and a type, a path in its properties, the value there. */
const faults: Readonly<Record<string, readonly Fault[]>> = {
  function_url_asks_for_a_signature: [
    ['TokenEndpoint', 'AWS::Lambda::Url', 'AuthType', 'NONE'],
    ['TokenEndpoint', 'AWS::Lambda::Url', 'AuthType', undefined],
  ],
  function_runs_on_node_24: [
    ['TokenEndpoint', 'AWS::Lambda::Function', 'Runtime', 'nodejs22.x'],
    ['CredentialHealth', 'AWS::Lambda::Function', 'Runtime', 'python3.14'],
    ['CredentialHealth', 'AWS::Lambda::Function', 'Runtime', undefined],
  ],
  function_has_a_log_group: [
    ['TokenEndpoint', 'AWS::Lambda::Function', 'LoggingConfig', undefined],
    ['CredentialHealth', 'AWS::Lambda::Function', 'LoggingConfig/LogGroup', undefined],
    ['CredentialHealth', 'AWS::Lambda::Function', 'LoggingConfig/LogGroup', '/aws/lambda/somewhere'],
  ],
  role_has_policies_of_its_own: [
    ['TokenEndpointRole', 'AWS::IAM::Role', 'ManagedPolicyArns', ['arn:aws:iam::aws:policy/AWSXrayWriteOnlyAccess']],
    [
      'CredentialHealthRole',
      'AWS::IAM::Role',
      'Policies',
      [{ PolicyName: 'x', PolicyDocument: { Statement: [roleStatement] } }],
    ],
  ],
  principal_is_named: [
    ['TokenEndpointFunctionAliasliveCallUrl', 'AWS::Lambda::Permission', 'Principal', '*'],
    ...['*', { AWS: '*' }, { AWS: [ROOT, '*'] }, { Service: '*' }, { AWS: 'arn:aws:iam::*:root' }].flatMap(
      (Principal): readonly Fault[] => [
        ['ClientSecrets', 'AWS::KMS::Key', 'KeyPolicy/Statement/0', { ...statement, Principal }],
        ['OperatorTopic', 'AWS::SNS::TopicPolicy', 'PolicyDocument/Statement/0', { ...statement, Principal }],
        ['FailedEvents', 'AWS::SQS::QueuePolicy', 'PolicyDocument/Statement/0', { ...statement, Principal }],
        ['TokenEndpointRole', 'AWS::IAM::Role', 'AssumeRolePolicyDocument/Statement/0', { ...statement, Principal }],
        ['PairTable', 'AWS::SecretsManager::Secret', 'ResourcePolicy/Statement', [{ ...statement, Principal }]],
      ],
    ),
    ['ClientSecrets', 'AWS::KMS::Key', 'KeyPolicy/Statement/0', { ...roleStatement, NotPrincipal: { AWS: ROOT } }],
  ],
  action_is_named: [
    ...['*', 'kms:*', 'kms:Get?', ['kms:Decrypt', 'kms:*']].map(
      (Action): Fault => [
        'TokenEndpointRole',
        'AWS::IAM::Policy',
        'PolicyDocument/Statement/0',
        { ...roleStatement, Action },
      ],
    ),
    [
      'CredentialHealthRole',
      'AWS::IAM::Policy',
      'PolicyDocument/Statement/0',
      { Effect: 'Allow', NotAction: 'iam:PassRole', Resource: 'arn:aws:x:::y' },
    ],
    ['OperatorTopic', 'AWS::SNS::TopicPolicy', 'PolicyDocument/Statement/0', { ...statement, Action: 'sns:*' }],
    ['ClientSecrets', 'AWS::KMS::Key', 'KeyPolicy/Statement/0', { ...statement, Action: 'kms:*' }],
  ],
  resource_is_named: [
    ...['*', ['arn:aws:x:::y', '*']].map(
      (Resource): Fault => [
        'TokenEndpointRole',
        'AWS::IAM::Policy',
        'PolicyDocument/Statement/0',
        { ...roleStatement, Resource },
      ],
    ),
    [
      'CredentialHealthRole',
      'AWS::IAM::Policy',
      'PolicyDocument/Statement/0',
      { Effect: 'Allow', Action: 'kms:Decrypt', NotResource: 'arn:aws:x:::y' },
    ],
    [
      'CredentialHealthRole',
      'AWS::IAM::Policy',
      'PolicyDocument/Statement/0',
      { Effect: 'Allow', Action: ['secretsmanager:ListSecrets', 'kms:Decrypt'], Resource: '*' },
    ],
  ],
  statements_are_a_list: [
    ['TokenEndpointRole', 'AWS::IAM::Policy', 'PolicyDocument/Statement', { ...roleStatement, Resource: '*' }],
    ['ClientSecrets', 'AWS::KMS::Key', 'KeyPolicy/Statement', { ...statement, Principal: '*' }],
  ],
};

describe('a template', () => {
  // The first one to ask waits until the rules are compiled.
  it('of the stack keeps to every rule', { timeout: 120_000 }, () => {
    expect(findingsIn(stack.template)).toEqual([]);
  });

  it.each(
    Object.entries(faults).flatMap(([rule, all]) =>
      all.map(([construct, type, place, value]) => ({ rule, construct, type, place, value: JSON.stringify(value) })),
    ),
  )('does not keep to $rule with $place of $construct being $value', ({ rule, construct, type, place, value }) => {
    const { id, ...resource } = resourceOf(stack, construct, type);
    const parsed: unknown = value && JSON.parse(value);
    const broken = changed(resource, `Properties/${place}`, parsed);
    // By itself: a small template is checked in no time.
    expect(findingsIn({ Resources: { [id]: broken } })).toEqual([`${rule} at ${id}`]);
  });
});

describe('a rule', () => {
  it.each(names)('can fail: %s', (name) => {
    expect(faults[name]).not.toEqual([]);
  });
});

type Fault = readonly [construct: string, type: string, path: string, value: unknown];

function findingsIn(template: unknown): string[] {
  const templatePath = path.join(directory, 'broken.template.json');
  writeFileSync(templatePath, JSON.stringify(template));
  const { violations } = plugin.validate({
    appConstruct: app,
    templatePaths: [templatePath],
    stackTemplates: [
      { stackConstructPath: 'TokenBroker', templatePath, accountId: '111111111111', region: 'eu-west-1' },
    ],
  });
  const findings = violations
    .filter(({ ruleName }) => names.includes(ruleName))
    .flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ resourceLogicalId }) => `${ruleName} at ${resourceLogicalId}`),
    );
  return [...new Set(findings)];
}
