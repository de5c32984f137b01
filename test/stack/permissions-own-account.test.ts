import { expect, it } from 'vitest';
import { isAllowed } from '../support/iam.ts';
import { policiesOf } from '../support/iam-world.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { deployStack, requestsTo } from './deployed-stack.ts';

/** A role of the broker's own account that is no part of the stack; permissions-callers.test.ts has it under the guard. */
const ROLE = 'arn:aws:iam::111111111111:role/any';
const stack = deployStack('test', exampleForm());
const requests = requestsTo(stack, 'TokenEndpoint');
const TOKEN_ROLE = stack.arnOf('TokenEndpointRole', 'AWS::IAM::Role');

/** What a role gets to, and the requests that it takes. */
const REACHED = {
  'a call of the URL': ['call the URL', 'be invoked through the URL'],
  'a direct invocation, of which docs/security.md tells': ['invoke its alias'],
  'other code in the function': ['change the code'],
  'the value of a client’s secret': ['read a client’s secret from another place', 'decrypt a client’s secret'],
  'a new client’s secret': ['create a client’s secret', 'encrypt a secret'],
  'the value of the sealing key': ['read the sealing key from another place', 'decrypt the sealing key'],
  'the records of the table': ['scan the table', 'decrypt for the table'],
  'a new table': ['lend the key', 'describe the key for the table'],
  'another policy of the key': ['change the key’s policy'],
  'the key by hand': ['decrypt a client’s secret by hand', 'encrypt by hand', 'encrypt anew by hand'],
  'the key lent to another service': ['lend the key to Secrets Manager'],
  'the rights of the token function': [`become ${TOKEN_ROLE}`],
  'the rights of the probe': ['become the probe'],
} as const;

it.each<[policy: string, actions: string[], reached: (keyof typeof REACHED)[]]>([
  ['no policy', [], []],
  [
    'Lambda',
    ['lambda:*'],
    ['a call of the URL', 'a direct invocation, of which docs/security.md tells', 'other code in the function'],
  ],
  ['Secrets Manager', ['secretsmanager:*'], []],
  ['KMS', ['kms:*'], ['a new table', 'another policy of the key']],
  ['DynamoDB', ['dynamodb:*'], []],
  ['STS', ['sts:*'], []],
  [
    'Secrets Manager and KMS',
    ['secretsmanager:*', 'kms:*'],
    ['the value of a client’s secret', 'a new client’s secret', 'a new table', 'another policy of the key'],
  ],
  [
    'DynamoDB and KMS',
    ['dynamodb:*', 'kms:*'],
    ['the records of the table', 'a new table', 'another policy of the key'],
  ],
  [
    'everything, as an administrator',
    ['*'],
    [
      'a call of the URL',
      'a direct invocation, of which docs/security.md tells',
      'other code in the function',
      'the value of a client’s secret',
      'a new client’s secret',
      'the records of the table',
      'a new table',
      // Without this no administrator could ever change it again.
      'another policy of the key',
    ],
  ],
])('a role of the own account that may do %s reaches this much and no more', (_, actions, reached) => {
  const Statement = actions.map((Action) => ({ Effect: 'Allow', Action, Resource: '*' }));
  const own = Statement.length === 0 ? [NOTHING] : Statement;
  const policies = policiesOf(stack.resources, { [ROLE]: { Version: '2012-10-17', Statement: own } });
  const isPermitted = (what: string) => {
    const asked = requests[what];
    if (asked === undefined) throw new Error(`No request is called ${what}.`);
    return isAllowed(policies, { ...asked, requester: { kind: 'role', arn: ROLE } });
  };
  const found = Object.entries(REACHED).filter(([, needed]) => needed.every(isPermitted));
  expect(found.map(([what]) => what)).toEqual(reached);
  if (actions.length === 0) expect(Object.keys(requests).filter(isPermitted)).toEqual([]);
});

const NOTHING = { Effect: 'Deny', Action: 'none:none', Resource: '*' };
