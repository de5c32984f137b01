import { describe, expect, it } from 'vitest';
import { isAllowed, type Policies } from '../../support/aws/iam.ts';
import { policiesOf, withDefaultKeyPolicy } from '../../support/aws/iam-world.ts';
import { type DeployedStack, deployStack } from '../../support/stack/deployed-stack.ts';
import { ALL_OPTIONS, exampleForm, VPC } from '../../unit/settings/example-form.ts';
import { furtherRequestsTo, type Row, requestsTo } from './role-requests.ts';

const plain = deployStack('test', exampleForm());
const large = deployStack('test', { ...exampleForm(), tracing: true, vpc: VPC, trail: {} });
const inVpc = deployStack('test', { ...exampleForm(), ...ALL_OPTIONS });

describe.each<[what: string, stack: DeployedStack, further: readonly Row[], own?: Policies]>([
  ['a stack', plain, []],
  ['a stack in a VPC, with traces and a trail', large, furtherRequestsTo(large)],
  ['a stack whose functions are all in a VPC', inVpc, furtherRequestsTo(inVpc)],
  // As a key that is given back by `keyArn` still may.
  ['a stack whose key leaves all to the account', plain, [], withDefaultKeyPolicy(policiesOf(plain.resources))],
])('in %s', (_, stack, further, own = policiesOf(stack.resources)) => {
  const rows = [...requestsTo(stack), ...further];
  const roles = stack.resources
    .filter(({ type }) => type === 'AWS::IAM::Role')
    .map(({ id, arn = '' }) => ({ name: id.replace(/[0-9A-F]{8}$/, ''), arn }));

  it('every role is known', () => {
    expect(new Set(roles.map(({ name }) => name))).toEqual(new Set(rows.flatMap(({ may }) => may)));
  });

  it.each(roles)('$name may do its work and nothing else', ({ name, arn }) => {
    const work = rows.filter(({ may }) => may.includes(name));
    const allowed = rows.filter((row) => isAllowed(own, { ...row, requester: arn }));
    expect(allowed.map(({ what }) => what)).toEqual(work.map(({ what }) => what));
    const statements = own.ofRole(arn).filter(({ Effect }) => Effect === 'Allow');
    expect(new Set(statements.flatMap(({ Action }) => Action))).toEqual(new Set(work.map(({ action }) => action)));
  });

  it('no role is let in by the policy of a resource alone, but the probe', () => {
    const named = stack.resources.flatMap(({ id, arn }) =>
      (arn === undefined ? [] : own.ofResource(arn)).flatMap(({ Effect, Principal }) => {
        const principals = Effect === 'Allow' && Principal !== undefined && 'AWS' in Principal ? Principal.AWS : [];
        return principals
          .filter((principal) => !principal.endsWith(':root') && !/^\d{12}$/.test(principal))
          .map(() => id);
      }),
    );
    expect(named).toEqual([expect.stringMatching(/^CredentialHealthProbe/)]);
  });
});

/** A role of the broker's own account that is no part of the stack; callers.test.ts has it under the guard. */
const ROLE = 'arn:aws:iam::111111111111:role/any';
const requests = new Map(requestsTo(plain).map((row) => [row.what, row]));

/** The goals of an intruder, and the requests that lead there. */
const REACHED = {
  'a call of the URL': ['call the URL', 'be invoked through the URL'],
  'a direct invocation': [`invoke ${plain.urlTarget} past the URL`],
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

it.each<[actions: string[], reached: Reached[]]>([
  [['none:none'], []],
  [['lambda:*'], OF_LAMBDA],
  [['secretsmanager:*'], []],
  [['kms:*'], OF_KMS],
  [['dynamodb:*'], []],
  [['sts:*'], []],
  [
    ['secretsmanager:*', 'kms:*'],
    [...OF_SECRETS, ...OF_KMS],
  ],
  [
    ['dynamodb:*', 'kms:*'],
    ['the records of the table', ...OF_KMS],
  ],
  [['*'], [...OF_LAMBDA, ...OF_SECRETS, 'the records of the table', ...OF_KMS]],
])('a role of the own account that may do %j reaches this much and no more', (Action, reached) => {
  const Statement = { Effect: 'Allow', Action, Resource: '*' };
  const policies = policiesOf(plain.resources, { [ROLE]: { Version: '2012-10-17', Statement } });
  const isPermitted = (what: string) => {
    const row = requests.get(what);
    if (row === undefined) throw new Error(`No request is called ${what}.`);
    return isAllowed(policies, { ...row, requester: ROLE });
  };
  const found = Object.entries(REACHED).filter(([, needed]) => needed.every(isPermitted));
  expect(found.map(([what]) => what)).toEqual(reached);
  if (Action[0] === 'none:none') expect([...requests.keys()].filter(isPermitted)).toEqual([]);
});
