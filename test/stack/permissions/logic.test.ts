import { expect, it } from 'vitest';
import { deploy } from '../../support/aws/cloudformation.ts';
import { type Context, conditionsHold, isAllowed, parsePolicy, type Request } from '../../support/aws/iam.ts';

const ROLE = 'arn:aws:iam::111111111111:role/app';
const OTHER = 'arn:aws:iam::111111111111:role/other';
const FOREIGN = 'arn:aws:iam::222222222222:role/app';
const ROOT = 'arn:aws:iam::111111111111:root';
const QUEUE = 'arn:aws:sqs:eu-west-1:111111111111:jobs';
const KEY = 'arn:aws:kms:eu-west-1:111111111111:key/0123';
const ACTIONS: Readonly<Record<string, string>> = { [KEY]: 'kms:Decrypt', [OTHER]: 'sts:AssumeRole' };

/** Every action on every resource, with these changes. */
const allow = (members: object = {}) => ({ Effect: 'Allow', Action: '*', Resource: '*', ...members });
const deny = (members: object = {}) => allow({ Effect: 'Deny', ...members });
const to = (AWS: string, members: object = {}) => allow({ Principal: { AWS }, ...members });
const policy = (Statement: readonly object[]) => parsePolicy({ Version: '2012-10-17', Statement });

function answer(requester: string, resource: string, own: object[], ofResource: object[], organization: object[] = []) {
  const [role, other, guard] = [own, ofResource, organization].map(policy);
  const policies = { ofRole: () => role ?? [], ofResource: () => other ?? [], ofOrganization: guard ?? [] };
  const request: Request = { requester, action: ACTIONS[resource] ?? 'sqs:SendMessage', resource };
  return isAllowed(policies, request);
}

/** The answers are those that AWS's documentation gives, see `isAllowed`. */
it.each<[string, boolean, string, string, object[], object[]]>([
  ['no policy at all', false, ROLE, QUEUE, [], []],
  ['its own policy', true, ROLE, QUEUE, [allow()], []],
  ['its own policy for another resource', false, ROLE, QUEUE, [allow({ Resource: `${QUEUE}2` })], []],
  ['its own policy by a pattern', true, ROLE, QUEUE, [allow({ Action: 'SQS:send*' })], []],
  ['its own policy, which denies it too', false, ROLE, QUEUE, [allow(), deny()], []],
  ['the resource, to its role', true, ROLE, QUEUE, [], [to(ROLE)]],
  ['the resource, to another role', false, ROLE, QUEUE, [], [to(OTHER)]],
  ['the resource, to its account', false, ROLE, QUEUE, [], [to(ROOT)]],
  ['the resource, to every principal', true, ROLE, QUEUE, [], [to('*')]],
  ['its own policy; the resource denies all', false, ROLE, QUEUE, [allow()], [deny({ Principal: '*' })]],
  ['its own policy, from elsewhere', false, FOREIGN, QUEUE, [allow()], []],
  ['the resource, from elsewhere', false, FOREIGN, QUEUE, [], [to(FOREIGN)]],
  ['both, from elsewhere', true, FOREIGN, QUEUE, [allow()], [to('222222222222')]],
  ['both, for another account', false, FOREIGN, QUEUE, [allow()], [to('333333333333')]],
  ['its own policy, for a key that says nothing', false, ROLE, KEY, [allow()], []],
  ['its own policy and the key, which names its account', true, ROLE, KEY, [allow()], [to(ROOT)]],
  ['the key alone, which names its account', false, ROLE, KEY, [], [to(ROOT)]],
  ['the key, which names the role', true, ROLE, KEY, [], [to(ROLE)]],
  ['its own policy, for a role that does not trust it', false, ROLE, OTHER, [allow()], []],
  ['a role that trusts it', true, ROLE, OTHER, [], [to(ROLE)]],
])('a request that is allowed by %s: %s', (_, allowed, role, resource, own, ofResource) => {
  expect(answer(role, resource, own, ofResource)).toBe(allowed);
  expect(answer(role, resource, own, ofResource, [deny()]), 'under a service control policy').toBe(false);
});

it.each<[string, boolean, object[]]>([
  ['allows it too', true, [allow()]],
  ['allows something else', false, [allow({ Action: 'sqs:ReceiveMessage' })]],
  ['denies it', false, [allow(), deny()]],
])('a request that both policies allow, with a permissions boundary that %s: %s', (_, allowed, boundary) => {
  const [own, ofResource, within] = [[allow()], [to(ROLE)], boundary].map(policy);
  const policies = { ofRole: () => own ?? [], ofResource: () => ofResource ?? [], boundaryOf: () => within };
  expect(isAllowed(policies, { requester: ROLE, action: 'sqs:SendMessage', resource: QUEUE })).toBe(allowed);
});

it.each(['*', 'arn:aws:s3:::records'])('a resource without an account is the own one: %s', (resource) => {
  expect(answer(ROLE, resource, [allow()], [])).toBe(true);
  expect(answer(ROLE, resource, [], [])).toBe(false);
});

it.each([
  [{ Service: 'events.amazonaws.com' }, true],
  [{ Service: 'sns.amazonaws.com' }, false],
  [{ AWS: ROOT }, false],
])('a service that a resource names by %j: %s', (Principal, allowed) => {
  expect(answer('events.amazonaws.com', QUEUE, [], [allow({ Principal })], [deny()])).toBe(allowed);
});

it.each<[string, string[], Context[string] | undefined, boolean]>([
  ['StringEquals', ['b', 'a'], 'a', true],
  ['StringEquals', ['A', '*'], 'a', false],
  ['StringEquals', ['a'], undefined, false],
  ['StringEqualsIfExists', ['a'], 'b', false],
  ['StringEqualsIfExists', ['a'], undefined, true],
  ['ArnEquals', [`${QUEUE}*`], `${QUEUE}2`, true],
  ['ArnLike', ['arn:aws:*:eu-west-1:111111111111:a'], 'arn:aws:sns:a:eu-west-1:111111111111:a', false],
  ['ArnNotEquals', [QUEUE], QUEUE, false],
  ['Bool', ['true'], 'false', false],
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
  ['a part of a principal’s name', () => answer(ROLE, QUEUE, [], [to('arn:aws:iam::111111111111:role/*')])],
  ['a reference to no resource', () => resolved({ Ref: 'Jobs' })],
  ['another function of CloudFormation', () => resolved({ 'Fn::If': ['IsProd', 'a', 'b'] })],
])('what is not known throws: %s', (_, act) => {
  expect(act).toThrow();
});

function resolved(value: object): unknown {
  const place = { stackName: 'Stack', account: '111111111111', region: 'eu-west-1' };
  return deploy({ Resources: { Topic: { Type: 'AWS::SNS::Topic', Properties: { value } } } }, place);
}
