import { expect, it } from 'vitest';
import { deploy } from '../../support/aws/cloudformation.ts';
import { conditionsHold, isAllowed, parsePolicy } from '../../support/aws/iam.ts';

const policy = (members: object) =>
  parsePolicy({ Version: '2012-10-17', Statement: { Effect: 'Allow', Action: '*', Resource: '*', ...members } });
const ofRoles = policy({ Principal: { AWS: 'arn:aws:iam::111111111111:role/*' } });
const REQUEST = {
  requester: 'arn:aws:iam::111111111111:role/app',
  action: 'sqs:SendMessage',
  resource: 'arn:aws:sqs:eu-west-1:111111111111:jobs',
};

/** An element that is passed over would change the meaning of a policy. */
it.each<[string, () => unknown]>([
  ['a condition operator', () => conditionsHold({ NumericLessThan: { a: ['1'] } }, { a: '0' })],
  ['a policy variable', () => conditionsHold({ StringEquals: { a: ['$' + '{aws:username}'] } }, { a: '1' })],
  ['NotAction', () => policy({ NotAction: 'sqs:SendMessage' })],
  ['NotPrincipal', () => policy({ NotPrincipal: '*' })],
  ['another kind of principal', () => policy({ Principal: { Federated: 'x' } })],
  ['a part of a principal’s name', () => isAllowed({ ofRole: () => [], ofResource: () => ofRoles }, REQUEST)],
  ['a reference to no resource', () => resolved({ Ref: 'Jobs' })],
  ['another function of CloudFormation', () => resolved({ 'Fn::If': ['IsProd', 'a', 'b'] })],
])('what is not known throws: %s', (_, act) => {
  expect(act).toThrow();
});

function resolved(value: object): unknown {
  const place = { stackName: 'Stack', account: '111111111111', region: 'eu-west-1' };
  return deploy({ Resources: { Topic: { Type: 'AWS::SNS::Topic', Properties: { value } } } }, place);
}
