import { describe, expect, it } from 'vitest';
import { exampleForm } from './example-form.ts';
import { resourceOf, resourcesOf, type Statement, synthesise } from './synthesise.ts';

const stack = synthesise('test', exampleForm());
const rotationFunction = inRotation('AWS::Lambda::Function');
const rule = inRotation('AWS::Events::Rule');

describe('the rotation function', () => {
  it('is called by its environment', () => {
    expect(rotationFunction.Properties).toMatchObject({
      FunctionName: 'token-broker-rotation-test',
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      MemorySize: 256,
      Timeout: 60,
    });
  });

  it('knows where the broker is, what to check and whom to tell', () => {
    expect(rotationFunction.Properties.Environment.Variables).toEqual({
      TOKEN_BROKER_ENVIRONMENT: 'test',
      TOKEN_BROKER_URL: {
        'Fn::GetAtt': [resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Url').id, 'FunctionUrl'],
      },
      TOKEN_BROKER_TABLE: { Ref: resourceOf(stack, 'PairTable', 'AWS::DynamoDB::Table').id },
      TOKEN_BROKER_SERVICES: 'customer-insights merchant-payment-cleansing',
      TOKEN_BROKER_TOPIC: { Ref: resourceOf(stack, 'OperatorTopic', 'AWS::SNS::Topic').id },
    });
  });

  it('may describe client secrets, call the URL, remember and notify, and nothing else', () => {
    const statements: readonly Statement[] = inRotation('AWS::IAM::Policy').Properties.PolicyDocument.Statement;
    const actions = statements.map(({ Action }) => [Action].flat()).filter(([action]) => !action?.startsWith('kms:'));
    expect(actions).toEqual([
      ['logs:CreateLogStream', 'logs:PutLogEvents'],
      ['sqs:SendMessage'],
      ['lambda:InvokeFunctionUrl'],
      ['lambda:InvokeFunction'],
      ['secretsmanager:DescribeSecret'],
      ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
      ['sns:Publish'],
    ]);
    expect(statements.find(({ Action }) => Action === 'secretsmanager:DescribeSecret')?.Resource).toBe(
      'arn:aws:secretsmanager:eu-west-1:111111111111:secret:token-broker/test/*',
    );
    expect(statements.find(({ Action }) => [Action].flat().includes('dynamodb:GetItem'))?.Condition).toEqual({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['notify:*'] },
    });
  });

  it('is called twice more when it fails, and then the event goes to the queue', () => {
    expect(inRotation('AWS::Lambda::EventInvokeConfig').Properties).toMatchObject({
      FunctionName: { Ref: rotationFunction.id },
      MaximumRetryAttempts: 2,
      DestinationConfig: {
        OnFailure: { Destination: { 'Fn::GetAtt': [resourceOf(stack, 'FailedEvents', 'AWS::SQS::Queue').id, 'Arn'] } },
      },
    });
  });
});

describe('the rule of the rotation function', () => {
  it('takes the event of a new current version, of this environment’s clients only', () => {
    expect(rule.Properties.EventPattern).toEqual({
      account: ['111111111111'],
      source: ['aws.secretsmanager'],
      'detail-type': ['Secret Label Updated'],
      detail: { name: [{ prefix: 'token-broker/test/' }], labelUpdated: ['AWSCURRENT'] },
    });
    expect(rule.Properties.State).toBe('ENABLED');
  });

  it('calls the function, and alone may do so', () => {
    const FunctionName = { 'Fn::GetAtt': [rotationFunction.id, 'Arn'] };
    expect(rule.Properties.Targets).toMatchObject([{ Arn: FunctionName }]);
    const permissions = resourcesOf(stack, 'AWS::Lambda::Permission').map(({ Properties }) => Properties);
    expect(permissions.filter(({ Principal }) => Principal === 'events.amazonaws.com')).toEqual([
      {
        FunctionName,
        Action: 'lambda:InvokeFunction',
        Principal: 'events.amazonaws.com',
        SourceArn: { 'Fn::GetAtt': [rule.id, 'Arn'] },
      },
    ]);
  });
});

function inRotation(type: string) {
  return resourceOf(stack, 'Rotation', type);
}
