import { describe, expect, it } from 'vitest';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { exampleForm, faultsIn } from '../unit/settings/example-form.ts';
import { synthesise } from './synthesise.ts';

/** What Lambda allows the policy of an alias to have. */
const LIMIT = 20_480;

describe('the accounts that access rules name', () => {
  const counts = Array.from({ length: 100 }, (_, index) => index);
  const room = counts.findLast((count) => faultsOf(formWith(count)).length === 0) ?? 0;

  it('stop synth when the policy of the function has no room for all of them', () => {
    expect(faultsOf(formWith(room + 1))).toEqual([
      `environments.test.accessRules: name ${room + 1} accounts, and the policy of the function has room for ${room}: its 20480 bytes take two statements for each`,
    ]);
  });

  it('may be as many as fit, but no more: Lambda would refuse the deployment half way', () => {
    const { length } = policyOf(room);
    expect(length).toBeLessThanOrEqual(LIMIT);
    // Not all of it, because the ids of statements are taken to be as long as they can be.
    expect(length).toBeGreaterThan(0.85 * LIMIT);
  });

  it('take no room again when they have more roles', () => {
    const form = formWith(room);
    const accessRules = form.accessRules.flatMap((rule) => [rule, { ...rule, role: `${rule.role}-2` }]);
    expect(faultsOf({ ...form, accessRules })).toEqual([]);
  });
});

function formWith(accounts: number) {
  const accessRules = Array.from({ length: accounts }, (_, index) => ({
    role: `arn:aws:iam::${200_000_000_000 + index}:role/caller`,
    clients: 'all',
    services: 'all',
  }));
  return { ...exampleForm(), accessRules };
}

function faultsOf(form: unknown): readonly string[] {
  return faultsIn(() => parseEnvironment('test', form));
}

/** The policy that Lambda makes of the permissions of a template, with ids as CloudFormation makes them up. */
function policyOf(accounts: number): string {
  const { Resources } = synthesise('test', formWith(accounts)).template;
  const statements = Object.entries(Resources)
    .filter(([, { Type, Properties }]) => Type === 'AWS::Lambda::Permission' && /^\d{12}$/.test(Properties.Principal))
    .map(([id, { Properties }]) => ({
      Sid: `TokenBroker-test-${id}-ABCDEFGHIJKL`.slice(-100),
      Effect: 'Allow',
      Principal: { AWS: `arn:aws:iam::${Properties.Principal}:root` },
      Action: Properties.Action,
      Resource: 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-test:live',
      Condition:
        Properties.FunctionUrlAuthType === undefined
          ? { Bool: { 'lambda:InvokedViaFunctionUrl': `${Properties.InvokedViaFunctionUrl}` } }
          : { StringEquals: { 'lambda:FunctionUrlAuthType': Properties.FunctionUrlAuthType } },
    }));
  expect(statements).toHaveLength(accounts * 2);
  return JSON.stringify({ Version: '2012-10-17', Id: 'default', Statement: statements });
}
