import { describe, expect, it } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { callerAccounts } from '../../../lib/settings/access-rules.ts';
import documented from '../../contract/recorded-events/function-url-policy.json' with { type: 'json' };
import { runCommandLine } from '../../e2e/commands/shared/command-line.ts';
import { isAllowed, parsePolicy } from '../../support/aws/iam.ts';
import { policiesOf } from '../../support/aws/iam-world.ts';
import { deployStack } from '../../support/stack/deployed-stack.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

interface Policy {
  readonly Version: string;
  readonly Statement: readonly object[];
}

const ADMINISTRATOR: Policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] };

describe.each(Object.entries(environments))('in %s', (name, form) => {
  const { canCall, invokable, everyVersion } = callersOf(name);
  const others = callerAccounts(form.accessRules).filter((account) => account !== form.account);

  it.each<[account: string, urlIsOpen: boolean, pastUrl: readonly string[]]>([
    ...others.map((account): [string, boolean, string[]] => [account, true, []]),
    // No access rule names it.
    ['999999999999', false, []],
    // Its own, where no policy of the stack prevents it.
    [form.account, true, everyVersion],
  ])('an administrator of account %s can call the URL: %s, and past it invoke %j', (account, urlIsOpen, pastUrl) => {
    const role = `arn:aws:iam::${account}:role/administrator`;
    expect(canCall(role, ADMINISTRATOR)).toBe(urlIsOpen);
    expect(invokable(role, ADMINISTRATOR)).toEqual(pastUrl);
  });
});

/** @see https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html */
it('the policy of the URL is the pair of statements that AWS documents, for each account of the callers', () => {
  const accounts = ['111111111111', '222222222222'];
  const rules = accounts.map((account) => ({
    ...{ role: `arn:aws:iam::${account}:role/billing`, clients: ['acme'], services: ['customer-insights'] },
  }));
  const { resources, urlTarget } = deployStack('test', { ...exampleForm(), accessRules: rules });
  const pair = parsePolicy(documented).map((one) => ({ ...one, Resource: [urlTarget] }));
  const all = accounts.flatMap((account) => pair.map((one) => ({ ...one, Principal: { AWS: [account] } })));
  const statements = policiesOf(resources).ofResource(urlTarget);
  expect(statements).toHaveLength(all.length);
  expect(statements).toEqual(expect.arrayContaining(all));
});

describe('where a whole organization may call, with 200 rules in as many accounts', () => {
  const principalOrgId = 'o-a1b2c3d4e5';
  const accessRules = Array.from({ length: 200 }, (_, index) => ({
    role: `arn:aws:iam::${200_000_000_000 + index}:role/caller`,
    clients: 'all' as const,
    services: 'all' as const,
  }));
  const organization = { callers: 'organization', principalOrgId, accessRules } as const;
  const { canCall, invokable, everyVersion, resources } = callersOf(
    'prod',
    environments.prod && { ...environments.prod, ...organization },
  );
  const NOTHING = { Version: '2012-10-17', Statement: [] };
  const elsewhere = 'arn:aws:iam::200000000199:role/administrator';
  const own = 'arn:aws:iam::222222222222:role/intern';
  const within = { 'aws:PrincipalOrgID': principalOrgId };

  it('the policy of the function has one statement for each of both actions', () => {
    const permissions = resources.filter(({ type }) => type === 'AWS::Lambda::Permission');
    const ofCallers = permissions.filter(({ properties }) => !properties.Principal.endsWith('.amazonaws.com'));
    const actions = ['lambda:InvokeFunctionUrl', 'lambda:InvokeFunction'];
    expect(ofCallers.map(({ properties }) => properties.Action)).toEqual(actions);
  });

  it('each role of it reaches the URL, in the own account without a policy, and never goes past it by that', () => {
    expect(canCall(elsewhere, ADMINISTRATOR, undefined, within)).toBe(true);
    expect(canCall(elsewhere, NOTHING, undefined, within)).toBe(false);
    expect(canCall(own, NOTHING, undefined, within)).toBe(true);
    for (const context of [within, { ...within, ...PAST_URL }]) {
      expect(invokable(elsewhere, ADMINISTRATOR, undefined, context)).toEqual([]);
      expect(invokable(own, NOTHING, undefined, context)).toEqual([]);
    }
    expect(invokable(own, ADMINISTRATOR, undefined, { ...within, ...PAST_URL })).toEqual(everyVersion);
  });

  it('no role of an account of another organization, or of none, does', () => {
    for (const context of [{ 'aws:PrincipalOrgID': 'o-another123' }, {}]) {
      expect(canCall(elsewhere, ADMINISTRATOR, undefined, context)).toBe(false);
      expect(invokable(elsewhere, ADMINISTRATOR, undefined, context)).toEqual([]);
    }
  });
});

const { canCall, invokable, everyVersion, allows, functionArn } = callersOf('dev');

it.each(['arn:aws:iam::111111111111:role/billing', 'arn:aws:iam::222222222222:role/reporting'])(
  'with the policy that the command line prints %s can call the URL, with nothing less, and not go past it',
  async (role) => {
    const policy = await printed(role);
    expect(canCall(role, policy)).toBe(true);
    expect(invokable(role, policy)).toEqual([]);
    expect(policy.Statement).toHaveLength(2);
    for (const left of policy.Statement) {
      const rest = { ...policy, Statement: policy.Statement.filter((statement) => statement !== left) };
      expect(canCall(role, rest)).toBe(false);
    }
  },
);

describe('under the guard that the command line prints, an administrator of the own account', () => {
  const role = 'arn:aws:iam::111111111111:role/administrator';

  it('cannot invoke the function, also in a request that does not say how, and still calls the URL', async () => {
    const guard = await printed('--guard');
    expect(invokable(role, ADMINISTRATOR, guard)).toEqual([]);
    expect(invokable(role, ADMINISTRATOR, guard, {})).toEqual([]);
    expect(canCall(role, ADMINISTRATOR, guard)).toBe(true);
    for (const other of [`${functionArn}-2`, functionArn.replace('token-broker-', 'token-broker-health-')]) {
      expect(allows(role, ADMINISTRATOR, 'lambda:InvokeFunction', other, PAST_URL, guard)).toBe(true);
    }
  });

  it('can with an exception only as the break-glass role', async () => {
    const BREAK_GLASS = 'arn:aws:iam::111111111111:role/break-glass';
    const guard = await printed('--guard', '--break-glass', BREAK_GLASS);
    expect(invokable(role, ADMINISTRATOR, guard)).toEqual([]);
    expect(invokable(`${BREAK_GLASS}-2`, ADMINISTRATOR, guard)).toEqual([]);
    expect(invokable(BREAK_GLASS, ADMINISTRATOR, guard)).toEqual(everyVersion);
  });
});

/** The policy that an operator of `dev` gives to the owner of a role, or attaches to the account. */
async function printed(...args: readonly string[]): Promise<Policy> {
  const { stdout } = await runCommandLine(['policy', ...args, '--environment', 'dev']);
  return JSON.parse(stdout);
}

const PAST_URL = { 'lambda:InvokedViaFunctionUrl': 'false' };

function callersOf(name: string, form = environments[name]) {
  const { resources, urlTarget } = deployStack(name, form);
  const functionArn = urlTarget.split(':').slice(0, 7).join(':');
  const everyVersion = [functionArn, ...['live', '1', '$LATEST'].map((qualifier) => `${functionArn}:${qualifier}`)];
  /** Whether a role with a policy of its own may do it. */
  function allows(role: string, policy: unknown, action: string, resource: string, context: object, guard?: unknown) {
    const ofOrganization = guard === undefined ? [] : parsePolicy(guard);
    const policies = { ...policiesOf(resources, { [role]: policy }), ofOrganization };
    return isAllowed(policies, { requester: role, action, resource, context: { ...context } });
  }
  return {
    resources,
    functionArn,
    everyVersion,
    allows,
    /** Both checks of AWS when a Function URL is called. */
    canCall: (role: string, policy: unknown, guard?: unknown, context: object = {}) => {
      const signed = { ...context, 'lambda:FunctionUrlAuthType': 'AWS_IAM' };
      const throughUrl = { ...context, 'lambda:InvokedViaFunctionUrl': 'true' };
      return (
        allows(role, policy, 'lambda:InvokeFunctionUrl', urlTarget, signed, guard) &&
        allows(role, policy, 'lambda:InvokeFunction', urlTarget, throughUrl, guard)
      );
    },
    /** The ARNs at which a role can invoke the function past its URL, with any event. */
    invokable: (role: string, policy: unknown, guard?: unknown, context: object = PAST_URL) =>
      everyVersion.filter((arn) => allows(role, policy, 'lambda:InvokeFunction', arn, context, guard)),
  };
}
