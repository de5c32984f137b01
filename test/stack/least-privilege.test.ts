import { describe, expect, it } from 'vitest';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, resourcesOf, type Statement, synthesise } from './synthesise.ts';

const health = { notify: ['ops@example.com'] };
const stack = synthesise('test', { ...exampleForm(), health });
const identityStatements = resourcesOf(stack, 'AWS::IAM::Policy').flatMap(statementsOf);
const resourceStatements = ['AWS::KMS::Key', 'AWS::SNS::TopicPolicy', 'AWS::SQS::QueuePolicy']
  .flatMap((type) => resourcesOf(stack, type))
  .flatMap(statementsOf);

describe('the roles of the stack', () => {
  it('have policies of their own and no managed ones', () => {
    for (const { Properties } of resourcesOf(stack, 'AWS::IAM::Role')) {
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
      expect(Properties).not.toHaveProperty('Policies');
    }
  });

  it('may do only what is named: no action has a wildcard', () => {
    expect(identityStatements.flatMap(({ Action }) => Action).filter((action) => /[*?]/.test(action))).toEqual([]);
  });

  it('may do it to this stack’s own resources: only listing secrets has no narrower one', () => {
    const everywhere = identityStatements.filter(({ Resource }) => [Resource].flat().includes('*'));
    expect(everywhere).toEqual([{ Effect: 'Allow', Action: 'secretsmanager:ListSecrets', Resource: '*' }]);
    const prefixes = identityStatements.flatMap(({ Resource }) => [Resource].flat()).filter(isPattern);
    expect(new Set(prefixes)).toEqual(
      new Set([
        '*',
        'arn:aws:secretsmanager:eu-west-1:111111111111:secret:token-broker/test/*',
        // CodeDeploy asks CloudWatch for all alarms at once.
        'arn:aws:cloudwatch:eu-west-1:111111111111:alarm:*',
      ]),
    );
  });

  it('use the key through one AWS service at a time', () => {
    const ofKey = identityStatements.filter(({ Action }) =>
      [Action].flat().some((action) => action.startsWith('kms:')),
    );
    expect(ofKey.length).toBeGreaterThan(0);
    for (const { Condition } of ofKey) {
      expect(Condition).toMatchObject({
        StringEquals: { 'kms:ViaService': expect.stringMatching(/^\w+\.eu-west-1\./) },
      });
    }
  });

  it('use the key for one thing of that service only, wherever KMS is told for which', () => {
    const ofKey = identityStatements.filter(({ Action }) =>
      [Action].flat().some((action) => action.startsWith('kms:') && action !== 'kms:DescribeKey'),
    );
    expect(ofKey.length).toBeGreaterThan(0);
    for (const { Condition } of ofKey) expect(JSON.stringify(Condition)).toContain('"kms:EncryptionContext:');
  });

  it('read secrets’ values in the token function alone', () => {
    const readers = resourcesOf(stack, 'AWS::IAM::Policy').filter((policy) =>
      statementsOf(policy).some(({ Action }) => [Action].flat().includes('secretsmanager:GetSecretValue')),
    );
    expect(readers.map(({ Properties }) => Properties.Roles)).toEqual([
      [{ Ref: resourceOf(stack, 'TokenEndpointRole', 'AWS::IAM::Role').id }],
    ]);
  });

  it('invoke the token function through its URL only', () => {
    const alias = JSON.stringify({ Ref: resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Alias').id });
    const invocations = identityStatements.filter(({ Action }) => Action === 'lambda:InvokeFunction');
    const [ofToken, ofOthers] = [invocations.filter(isAbout(alias)), invocations.filter((one) => !isAbout(alias)(one))];
    // Health and the probe.
    expect(ofToken).toHaveLength(2);
    for (const { Condition } of ofToken)
      expect(Condition).toEqual({ Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } });
    const health = { 'Fn::GetAtt': [resourceOf(stack, 'CredentialHealth', 'AWS::Lambda::Function').id, 'Arn'] };
    expect(ofOthers.map(({ Resource }) => Resource)).toEqual([health]);
  });
});

describe('the resources of the stack', () => {
  it('let only named principals in', () => {
    const allowed = resourceStatements.filter(({ Effect }) => Effect === 'Allow').map(({ Principal }) => Principal);
    expect(new Set(allowed.map((principal) => JSON.stringify(principal)))).toEqual(
      new Set([
        '{"AWS":"arn:aws:iam::111111111111:root"}',
        '{"Service":"cloudwatch.amazonaws.com"}',
        '{"Service":"logs.eu-west-1.amazonaws.com"}',
      ]),
    );
  });

  it('let AWS services in on behalf of this account only', () => {
    const services = resourceStatements.filter(({ Principal }) => JSON.stringify(Principal).includes('Service'));
    expect(services).toHaveLength(3);
    for (const { Condition } of services) expect(JSON.stringify(Condition)).toMatch(/[":]111111111111[":]/);
  });

  it.each(['AWS::SNS::Topic', 'AWS::SQS::Queue'])('are encrypted with the stack’s key: %s', (type) => {
    const key = resourceOf(stack, 'ClientSecrets', 'AWS::KMS::Key');
    for (const { Properties } of resourcesOf(stack, type)) {
      expect(Properties.KmsMasterKeyId).toEqual({ 'Fn::GetAtt': [key.id, 'Arn'] });
    }
  });

  it.each(['AWS::SNS::TopicPolicy', 'AWS::SQS::QueuePolicy'])('are not reached without TLS: %s', (type) => {
    expect(resourcesOf(stack, type).flatMap(statementsOf)).toContainEqual(
      expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
    );
  });
});

function statementsOf({ Properties: { PolicyDocument, KeyPolicy } }: ReturnType<typeof resourcesOf>[number]) {
  const { Statement: statements }: { readonly Statement: readonly Statement[] } = PolicyDocument ?? KeyPolicy;
  return statements;
}

function isAbout(resource: string): (statement: Statement) => boolean {
  return ({ Resource }) => JSON.stringify(Resource) === resource;
}

function isPattern(resource: unknown): boolean {
  return JSON.stringify(resource).includes('*');
}
