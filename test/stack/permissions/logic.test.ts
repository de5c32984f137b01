import { expect, it } from 'vitest';
import { deploy } from '../../support/aws/cloudformation.ts';
import { type Context, conditionsHold, isAllowed, parsePolicy } from '../../support/aws/iam.ts';

const ROLE = 'arn:aws:iam::111111111111:role/app';
const QUEUE = 'arn:aws:sqs:eu-west-1:111111111111:jobs';
const SEND = { requester: ROLE, action: 'sqs:SendMessage', resource: QUEUE };

/** Every action on every resource, with these changes. */
const allow = (members: object = {}) => ({ Effect: 'Allow', Action: '*', Resource: '*', ...members });
const to = (AWS: string) => policy([allow({ Principal: { AWS } })]);
const policy = (Statement: readonly object[]) => parsePolicy({ Version: '2012-10-17', Statement });

/** The parts of the logic that no policy of the stack needs; the suites beside this one hold the rest. */
it.each<[string, boolean, object[]]>([
  ['allows it too', true, [allow()]],
  ['allows something else', false, [allow({ Action: 'sqs:ReceiveMessage' })]],
  ['denies it', false, [allow(), allow({ Effect: 'Deny' })]],
])('a request that both policies allow, with a permissions boundary that %s: %s', (_, allowed, boundary) => {
  const both = { ofRole: () => policy([allow()]), ofResource: () => to(ROLE) };
  expect(isAllowed({ ...both, boundaryOf: () => policy(boundary) }, SEND)).toBe(allowed);
});

it.each<[string, string[], Context[string] | undefined, boolean]>([
  ['StringEquals', ['A', '*'], 'a', false],
  ['StringEquals', ['a'], undefined, false],
  ['StringEqualsIfExists', ['a'], 'b', false],
  ['ArnEquals', [`${QUEUE}*`], `${QUEUE}2`, true],
  ['ArnLike', ['arn:aws:*:eu-west-1:111111111111:a'], 'arn:aws:sns:a:eu-west-1:111111111111:a', false],
  ['ArnNotEquals', [QUEUE], QUEUE, false],
  ['Bool', ['false'], undefined, false],
  ['BoolIfExists', ['false'], undefined, true],
  ['ForAllValues:StringLike', ['notify:*'], ['notify:a', 'acme'], false],
])('a condition %s %j holds for %j: %s', (operator, wanted, value, holds) => {
  const given = value === undefined ? { other: 'a' } : { 'some:key': value, other: 'a' };
  expect(conditionsHold({ [operator]: { 'Some:Key': wanted } }, given)).toBe(holds);
  expect(conditionsHold({ [operator]: { 'Some:Key': wanted }, StringEquals: { other: ['b'] } }, given)).toBe(false);
});

it.each<[string, () => unknown]>([
  ['a condition operator', () => conditionsHold({ NumericLessThan: { a: ['1'] } }, { a: '0' })],
  ['a policy variable', () => conditionsHold({ StringEquals: { a: ['$' + '{aws:username}'] } }, { a: '1' })],
  ['NotAction', () => policy([{ Effect: 'Allow', NotAction: 'sqs:SendMessage', Resource: '*' }])],
  ['NotPrincipal', () => policy([allow({ NotPrincipal: '*' })])],
  ['another kind of principal', () => policy([allow({ Principal: { Federated: 'x' } })])],
  ['a part of a principal’s name', () => isAllowed(toSomeRoles, SEND)],
  ['a reference to no resource', () => resolved({ Ref: 'Jobs' })],
  ['another function of CloudFormation', () => resolved({ 'Fn::If': ['IsProd', 'a', 'b'] })],
])('what is not known throws: %s', (_, act) => {
  expect(act).toThrow();
});

const toSomeRoles = { ofRole: () => [], ofResource: () => to('arn:aws:iam::111111111111:role/*') };

function resolved(value: object): unknown {
  const place = { stackName: 'Stack', account: '111111111111', region: 'eu-west-1' };
  return deploy({ Resources: { Topic: { Type: 'AWS::SNS::Topic', Properties: { value } } } }, place);
}
