import { expect, it } from 'vitest';
import { isAllowed } from '../../support/aws/iam.ts';
import { policiesOf } from '../../support/aws/iam-world.ts';
import { deployStack } from '../../support/stack/deployed-stack.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';
import { requestsTo } from './role-requests.ts';

/** A role of the broker's own account that is no part of the stack; callers.test.ts has it under the guard. */
const ROLE = 'arn:aws:iam::111111111111:role/any';
const stack = deployStack('test', exampleForm());
const requests = new Map(requestsTo(stack).map((row) => [row.what, row]));

/** The goals of an intruder, and the requests that lead there. */
const REACHED = {
  'a call of the URL': ['call the URL', 'be invoked through the URL'],
  'a direct invocation': [`invoke ${stack.urlTarget} past the URL`],
  'other code in the function': ['change the code'],
  'the value of a client’s secret': ['read a client’s secret from another place', 'decrypt a client’s secret'],
  'a new client’s secret': ['create a client’s secret', 'encrypt a secret'],
  'the value of the sealing key': ['read the sealing key from another place', 'decrypt the sealing key'],
  'the records of the table': ['scan the table', 'Decrypt for the table'],
  'a new table': ['lend the key', 'describe the key for the table'],
  'another policy of the key': ['change the key’s policy'],
  'the key by hand': ['decrypt a client’s secret by hand', 'encrypt by hand', 'encrypt anew by hand'],
  'the key lent to another service': ['lend the key to Secrets Manager'],
  'the key lent to a person': ['lend the key to a person'],
  'the rights of the token function': ['become the token function'],
  'the rights of the probe': ['become the probe'],
} as const;

type Reached = keyof typeof REACHED;
const OF_LAMBDA: Reached[] = ['a call of the URL', 'a direct invocation', 'other code in the function'];
const OF_SECRETS: Reached[] = ['the value of a client’s secret', 'a new client’s secret'];
// Without the second no administrator could ever change it again.
const OF_KMS: Reached[] = ['a new table', 'another policy of the key'];

it.each<[policy: string, actions: string[], reached: Reached[]]>([
  ['nothing', ['none:none'], []],
  ['Lambda', ['lambda:*'], OF_LAMBDA],
  ['Secrets Manager', ['secretsmanager:*'], []],
  ['KMS', ['kms:*'], OF_KMS],
  ['DynamoDB', ['dynamodb:*'], []],
  ['STS', ['sts:*'], []],
  ['Secrets Manager and KMS', ['secretsmanager:*', 'kms:*'], [...OF_SECRETS, ...OF_KMS]],
  ['DynamoDB and KMS', ['dynamodb:*', 'kms:*'], ['the records of the table', ...OF_KMS]],
  ['everything, as an administrator', ['*'], [...OF_LAMBDA, ...OF_SECRETS, 'the records of the table', ...OF_KMS]],
])('a role of the own account that may do %s reaches this much and no more', (policy, Action, reached) => {
  const Statement = { Effect: 'Allow', Action, Resource: '*' };
  const policies = policiesOf(stack.resources, { [ROLE]: { Version: '2012-10-17', Statement } });
  const isPermitted = (what: string) => {
    const row = requests.get(what);
    if (row === undefined) throw new Error(`No request is called ${what}.`);
    return isAllowed(policies, { ...row, requester: ROLE });
  };
  const found = Object.entries(REACHED).filter(([, needed]) => needed.every(isPermitted));
  expect(found.map(([what]) => what)).toEqual(reached);
  if (policy === 'nothing') expect([...requests.keys()].filter(isPermitted)).toEqual([]);
});
