import { describe, expect, it } from 'vitest';
import { isAllowed, type Policies } from '../../support/aws/iam.ts';
import { policiesOf, withDefaultKeyPolicy } from '../../support/aws/iam-world.ts';
import { type DeployedStack, deployStack } from '../../support/stack/deployed-stack.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';
import { furtherRequestsTo, requestsTo } from './role-requests.ts';

const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };
const plain = deployStack('test', exampleForm());
const large = deployStack('test', { ...exampleForm(), tracing: true, vpc, trail: {} });
const inVpc = deployStack('test', { ...exampleForm(), tracing: true, vpc: { ...vpc, all: true }, trail: {} });
const policies = policiesOf(plain.resources);

describe.each<{ what: string; stack: DeployedStack; policies: Policies; further?: typeof furtherRequestsTo }>([
  { what: 'a stack', stack: plain, policies },
  {
    what: 'a stack in a VPC, with traces and a trail',
    stack: large,
    policies: policiesOf(large.resources),
    further: furtherRequestsTo,
  },
  {
    what: 'a stack whose functions are all in a VPC',
    stack: inVpc,
    policies: policiesOf(inVpc.resources),
    further: furtherRequestsTo,
  },
  // As a key that is given back by `keyArn` still may.
  {
    what: 'a stack whose key leaves everything to the account',
    stack: plain,
    policies: withDefaultKeyPolicy(policies),
  },
])('in $what', ({ stack, policies: own, further = () => [] }) => {
  const rows = [...requestsTo(stack), ...further(stack)];
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
