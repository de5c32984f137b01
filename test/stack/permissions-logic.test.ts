import { describe, expect, it } from 'vitest';
import { deploy } from '../support/cloudformation.ts';
import { isAllowed, type Policies, type Request } from '../support/iam.ts';
import { type Context, conditionsHold } from '../support/iam-conditions.ts';
import { parsePolicy } from '../support/iam-policy.ts';

const ROLE = 'arn:aws:iam::111111111111:role/app';
const FOREIGN_ROLE = 'arn:aws:iam::222222222222:role/app';
const ROOT = 'arn:aws:iam::111111111111:root';
const QUEUE = 'arn:aws:sqs:eu-west-1:111111111111:jobs';
const KEY = 'arn:aws:kms:eu-west-1:111111111111:key/0123';
const OTHER_ROLE = 'arn:aws:iam::111111111111:role/other';

/** The answers are those that AWS's documentation gives, see `isAllowed`. */
describe('a request', () => {
  const send = { Action: 'sqs:SendMessage', Resource: QUEUE };
  const decrypt = { Action: 'kms:Decrypt', Resource: '*' };
  const assume = { Action: 'sts:AssumeRole' };

  it.each<[string, Case, boolean]>([
    ['with no policy at all', {}, false],
    ['that its own policy allows', { own: [allow(send)] }, true],
    ['that its own policy allows for another resource', { own: [allow({ ...send, Resource: `${QUEUE}2` })] }, false],
    ['that its own policy allows for another action', { own: [allow({ ...send, Action: 'sqs:Send' })] }, false],
    ['that its own policy allows by a pattern', { own: [allow({ ...send, Action: 'SQS:send*' })] }, true],
    ['that its own policy allows and denies', { own: [allow(send), deny(send)] }, false],
    ['that the resource allows to its role', { resource: [allow({ ...send, Principal: { AWS: ROLE } })] }, true],
    [
      'that the resource allows to another role',
      { resource: [allow({ ...send, Principal: { AWS: OTHER_ROLE } })] },
      false,
    ],
    ['that the resource allows to its account', { resource: [allow({ ...send, Principal: { AWS: ROOT } })] }, false],
    ['that the resource allows to every principal', { resource: [allow({ ...send, Principal: '*' })] }, true],
    [
      'that the resource denies to every principal',
      { own: [allow(send)], resource: [deny({ ...send, Principal: '*' })] },
      false,
    ],
    [
      'that the resource denies to another role',
      { own: [allow(send)], resource: [deny({ ...send, Principal: { AWS: OTHER_ROLE } })] },
      true,
    ],

    ['from elsewhere that only its own policy allows', { from: FOREIGN_ROLE, own: [allow(send)] }, false],
    [
      'from elsewhere that only the resource allows',
      { from: FOREIGN_ROLE, resource: [allow({ ...send, Principal: { AWS: FOREIGN_ROLE } })] },
      false,
    ],
    [
      'from elsewhere that both allow',
      { from: FOREIGN_ROLE, own: [allow(send)], resource: [allow({ ...send, Principal: { AWS: '222222222222' } })] },
      true,
    ],
    [
      'from elsewhere that is for another account',
      { from: FOREIGN_ROLE, own: [allow(send)], resource: [allow({ ...send, Principal: { AWS: '333333333333' } })] },
      false,
    ],

    ['for a key that says nothing', { action: 'kms:Decrypt', to: KEY, own: [allow(decrypt)] }, false],
    [
      'for a key that leaves it to the account',
      {
        action: 'kms:Decrypt',
        to: KEY,
        own: [allow(decrypt)],
        resource: [allow({ ...decrypt, Principal: { AWS: ROOT } })],
      },
      true,
    ],
    [
      'for a key that leaves it to the account, which has not allowed it',
      { action: 'kms:Decrypt', to: KEY, resource: [allow({ ...decrypt, Principal: { AWS: ROOT } })] },
      false,
    ],
    [
      'for a key that names the role',
      { action: 'kms:Decrypt', to: KEY, resource: [allow({ ...decrypt, Principal: { AWS: ROLE } })] },
      true,
    ],
    [
      'for a key from elsewhere that names the role',
      {
        from: FOREIGN_ROLE,
        action: 'kms:Decrypt',
        to: KEY,
        resource: [allow({ ...decrypt, Principal: { AWS: FOREIGN_ROLE } })],
      },
      false,
    ],

    [
      'to assume a role that does not trust it',
      { action: 'sts:AssumeRole', to: OTHER_ROLE, own: [allow({ ...assume, Resource: OTHER_ROLE })] },
      false,
    ],
    [
      'to assume a role that trusts it',
      { action: 'sts:AssumeRole', to: OTHER_ROLE, resource: [allow({ ...assume, Principal: { AWS: ROLE } })] },
      true,
    ],
    [
      'to assume a role that trusts its account',
      {
        action: 'sts:AssumeRole',
        to: OTHER_ROLE,
        own: [allow({ ...assume, Resource: OTHER_ROLE })],
        resource: [allow({ ...assume, Principal: { AWS: ROOT } })],
      },
      true,
    ],
  ])('%s', (_, { from = ROLE, action = 'sqs:SendMessage', to = QUEUE, own = [], resource = [] }, answer) => {
    const policies: Policies = {
      ofRole: () => policy(own),
      ofResource: () => policy(resource),
    };
    const request: Request = { requester: { kind: 'role', arn: from }, action, resource: to };
    expect(isAllowed(policies, request)).toBe(answer);
  });
});

describe('a service', () => {
  const send = { Action: 'sqs:SendMessage', Resource: QUEUE };
  const byService = {
    requester: { kind: 'service', name: 'events.amazonaws.com' },
    action: 'sqs:SendMessage',
    resource: QUEUE,
  } as const;

  it.each<[string, object | undefined, boolean]>([
    ['that the resource names', { Service: 'events.amazonaws.com' }, true],
    ['that the resource does not name', { Service: 'sns.amazonaws.com' }, false],
    ['for which the resource names only the account', { AWS: ROOT }, false],
    ['for which the resource says nothing', undefined, false],
  ])('%s', (_, Principal, answer) => {
    const statements = Principal === undefined ? [] : [allow({ ...send, Principal })];
    expect(isAllowed({ ofRole: () => [], ofResource: () => policy(statements) }, byService)).toBe(answer);
  });
});

describe('a condition', () => {
  it.each<[string, string, string | readonly string[], Context[string] | undefined, boolean]>([
    ['StringEquals', 'in the same words', 'a', 'a', true],
    ['StringEquals', 'in one of the words', ['b', 'a'], 'a', true],
    ['StringEquals', 'in other words', 'A', 'a', false],
    ['StringEquals', 'with a wildcard', '*', 'a', false],
    ['StringEquals', 'without the key', 'a', undefined, false],
    ['StringEqualsIfExists', 'without the key', 'a', undefined, true],
    ['StringEqualsIfExists', 'in other words', 'a', 'b', false],
    ['StringNotEquals', 'in none of the words', ['a', 'b'], 'c', true],
    ['StringNotEquals', 'in one of the words', ['a', 'b'], 'b', false],
    ['StringNotEquals', 'without the key', 'a', undefined, true],
    ['StringEqualsIgnoreCase', 'in upper case', 'A', 'a', true],
    ['StringLike', 'with a wildcard', 'notify:*', 'notify:acme', true],
    ['StringLike', 'with a wildcard for one', 'a?', 'abc', false],
    ['StringLike', 'with a dot', 'a.c', 'abc', false],
    ['StringNotLike', 'with a wildcard', 'notify:*', 'notify:acme', false],
    [
      'ArnLike',
      'with a wildcard in the last part',
      'arn:aws:logs:*:111111111111:log-group:a*',
      'arn:aws:logs:eu-west-1:111111111111:log-group:ab:c',
      true,
    ],
    [
      'ArnLike',
      'with a wildcard that would reach further',
      'arn:aws:*:eu-west-1:111111111111:a',
      'arn:aws:sns:a:eu-west-1:111111111111:a',
      false,
    ],
    [
      'ArnEquals',
      'with a wildcard',
      'arn:aws:sns:eu-west-1:111111111111:a*',
      'arn:aws:sns:eu-west-1:111111111111:ab',
      true,
    ],
    [
      'ArnNotEquals',
      'for another one',
      'arn:aws:sns:eu-west-1:111111111111:a',
      'arn:aws:sns:eu-west-1:111111111111:b',
      true,
    ],
    ['Bool', 'that is so', 'true', 'true', true],
    ['Bool', 'that is not so', 'true', 'false', false],
    ['Bool', 'without the key', 'false', undefined, false],
    ['Null', 'without the key that must be missing', 'true', undefined, true],
    ['Null', 'without the key that must be there', 'false', undefined, false],
    ['Null', 'with the key', 'false', 'a', true],
    ['ForAllValues:StringLike', 'for all', ['notify:*'], ['notify:a', 'notify:b'], true],
    ['ForAllValues:StringLike', 'for some', ['notify:*'], ['notify:a', 'acme'], false],
    ['ForAllValues:StringLike', 'without the key', ['notify:*'], undefined, true],
    ['ForAnyValue:StringEquals', 'for some', ['a'], ['a', 'b'], true],
    ['ForAnyValue:StringEquals', 'for none', ['c'], ['a', 'b'], false],
    ['ForAnyValue:StringEquals', 'without the key', ['c'], undefined, false],
  ])('%s %s', (operator, _, wanted, value, answer) => {
    const conditions = { [operator]: { 'Some:Key': [wanted].flat() } };
    expect(conditionsHold(conditions, value === undefined ? {} : { 'some:key': value })).toBe(answer);
  });

  it('holds when all of it does', () => {
    const conditions = { StringEquals: { a: ['1'], b: ['2'] }, Bool: { c: ['true'] } };
    expect(conditionsHold(conditions, { a: '1', b: '2', c: 'true' })).toBe(true);
    expect(conditionsHold(conditions, { a: '1', b: '2', c: 'false' })).toBe(false);
    expect(conditionsHold(conditions, { a: '1', b: '3', c: 'true' })).toBe(false);
  });
});

describe('what is not known', () => {
  const statement = { Effect: 'Allow', Action: 'sqs:SendMessage', Resource: QUEUE };
  it.each<[string, () => unknown]>([
    ['a condition operator', () => conditionsHold({ NumericLessThan: { a: ['1'] } }, { a: '0' })],
    ['a set operator', () => conditionsHold({ 'ForEveryValue:StringEquals': { a: ['1'] } }, { a: '0' })],
    ['many values without a set operator', () => conditionsHold({ StringEquals: { a: ['1'] } }, { a: ['1'] })],
    ['a policy variable', () => conditionsHold({ StringEquals: { a: [variable('aws:username')] } }, { a: '1' })],
    ['NotAction', () => policy([{ Effect: 'Allow', NotAction: 'sqs:SendMessage', Resource: '*' }])],
    ['NotPrincipal', () => policy([{ ...statement, NotPrincipal: '*' }])],
    ['another version', () => parsePolicy({ Version: '2008-10-17', Statement: [statement] })],
    ['another effect', () => policy([{ ...statement, Effect: 'allow' }])],
    ['a function in a policy', () => policy([{ ...statement, Resource: { Ref: 'Queue' } }])],
    ['another kind of principal', () => allowedBy({ ...statement, Principal: { Federated: 'x' } })],
    [
      'a part of a principal’s name',
      () => allowedBy({ ...statement, Principal: { AWS: 'arn:aws:iam::111111111111:role/*' } }),
    ],
    ['a resource that is no ARN', () => allowedBy({ ...statement, Principal: { AWS: ROLE }, Resource: 'jobs' })],
  ])('throws: %s', (_, act) => {
    expect(act).toThrow();
  });

  function allowedBy(one: object): boolean {
    const policies: Policies = { ofRole: () => [], ofResource: () => policy([one]) };
    return isAllowed(policies, { requester: { kind: 'role', arn: ROLE }, action: 'sqs:SendMessage', resource: QUEUE });
  }
});

describe('an intrinsic', () => {
  const place = { stackName: 'Stack', account: '111111111111', region: 'eu-west-1', partition: 'aws' };
  const [partition, region, account] = ['AWS::Partition', 'AWS::Region', 'AWS::AccountId'].map(variable);
  const ARN_OF_JOBS = `arn:${partition}:sqs:${region}:${account}:${variable('Jobs.QueueName')}/${variable('!Kept')}`;
  const jobs = { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'jobs' } };

  it.each([
    [{ Ref: 'Jobs' }, 'https://sqs.eu-west-1.amazonaws.com/111111111111/jobs'],
    [{ Ref: 'AWS::Partition' }, 'aws'],
    [{ 'Fn::GetAtt': ['Jobs', 'Arn'] }, QUEUE],
    [{ 'Fn::Sub': ARN_OF_JOBS }, `${QUEUE}/${variable('!Kept')}`],
    [{ 'Fn::Join': [':', ['a', { Ref: 'AWS::Region' }]] }, 'a:eu-west-1'],
    [[{ a: { Ref: 'AWS::StackName' } }], [{ a: 'Stack' }]],
  ])('%j', (value, resolved) => {
    expect(resolve(value)).toEqual(resolved);
  });

  it.each([
    { Ref: 'Nobody' },
    { 'Fn::GetAtt': ['Jobs', 'Nothing'] },
    { 'Fn::If': ['IsProd', 'a', 'b'] },
    { 'Fn::ImportValue': 'x' },
    { 'Fn::Sub': [variable('a'), { a: 'b' }] },
  ])('throws when it is not known: %j', (value) => {
    expect(() => resolve(value)).toThrow(/^What is /);
  });

  it('throws for a type of resource that is not known', () => {
    expect(() => deploy({ Resources: { Bucket: { Type: 'AWS::S3::Bucket' } } }, place)).toThrow('What is Bucket');
  });

  function resolve(value: unknown): unknown {
    const user = { Type: 'AWS::SNS::Topic', Properties: { value } };
    return deploy({ Resources: { Jobs: jobs, User: user } }, place).find(({ id }) => id === 'User')?.properties.value;
  }
});

interface Case {
  readonly from?: string;
  readonly action?: string;
  readonly to?: string;
  readonly own?: readonly object[];
  readonly resource?: readonly object[];
}

function allow(statement: object): object {
  return { Effect: 'Allow', ...statement };
}

function deny(statement: object): object {
  return { Effect: 'Deny', ...statement };
}

function variable(name: string): string {
  return `\${${name}}`;
}

function policy(statements: readonly object[]) {
  return parsePolicy({ Version: '2012-10-17', Statement: statements });
}
