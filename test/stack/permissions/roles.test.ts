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
