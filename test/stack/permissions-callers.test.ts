import { beforeAll, describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { parseRoleArn } from '../../lib/settings/access-rules.ts';
import { runCommandLine } from '../e2e/commands/command-line.ts';
import { callUrl, invoke, isAllowed } from '../support/iam.ts';
import { parsePolicy } from '../support/iam-policy.ts';
import { policiesOf } from '../support/iam-world.ts';
import { deployStack } from './deployed-stack.ts';

const ADMINISTRATOR = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] };

describe.each(Object.entries(environments))('in %s', (name, form) => {
  const { allows, everyVersion, urlTarget } = callersOf(name);
  const accounts = new Set(form.accessRules.map(({ role }) => parseRoleArn(role)?.account));

  it.each([...accounts].filter((account) => account !== form.account))(
    'an administrator of account %s can call the URL, and cannot invoke the function past it',
    (account) => {
      const role = `arn:aws:iam::${account}:role/administrator`;
      expect(allows(role, ADMINISTRATOR, callUrl(role, urlTarget))).toBe(true);
      expect(everyVersion.filter((arn) => allows(role, ADMINISTRATOR, [invoke(role, arn)]))).toEqual([]);
    },
  );

  it('an administrator of an account that no access rule names gets nowhere: not through the URL and not past it', () => {
    const role = 'arn:aws:iam::999999999999:role/administrator';
    const requests = everyVersion.flatMap((arn) => [...callUrl(role, arn), invoke(role, arn)]);
    expect(requests.filter((request) => allows(role, ADMINISTRATOR, [request]))).toEqual([]);
  });

  it('an administrator of the own account can invoke the function past its URL: no policy of the stack prevents it', () => {
    const role = `arn:aws:iam::${form.account}:role/administrator`;
    expect(everyVersion.filter((arn) => allows(role, ADMINISTRATOR, [invoke(role, arn)]))).toEqual(everyVersion);
  });
});

const { allows, everyVersion, urlTarget, functionArn } = callersOf('dev');

describe.each([
  ['of the own account', 'arn:aws:iam::111111111111:role/billing'],
  ['of another account', 'arn:aws:iam::222222222222:role/reporting'],
])('a caller %s, with the policy that the command line prints', (_, role) => {
  let policy: Policy;
  beforeAll(async () => {
    policy = await printed(role);
  });

  it('can call the URL, and with nothing less', () => {
    expect(allows(role, policy, callUrl(role, urlTarget))).toBe(true);
    expect(policy.Statement).toHaveLength(2);
    for (const left of policy.Statement) {
      const rest = { ...policy, Statement: policy.Statement.filter((statement) => statement !== left) };
      expect(allows(role, rest, callUrl(role, urlTarget))).toBe(false);
    }
  });

  it('cannot invoke the function past its URL', () => {
    expect(everyVersion.filter((arn) => allows(role, policy, [invoke(role, arn)]))).toEqual([]);
  });
});

describe('under the guard that the command line prints, an administrator of the own account', () => {
  const role = 'arn:aws:iam::111111111111:role/administrator';
  const BREAK_GLASS = 'arn:aws:iam::111111111111:role/break-glass';
  let guard: Policy;
  let guardWithException: Policy;
  beforeAll(async () => {
    [guard, guardWithException] = await Promise.all([
      printed('--guard'),
      printed('--guard', '--break-glass', BREAK_GLASS),
    ]);
  });
  const invokable = (own: string, under: Policy) =>
    everyVersion.filter((arn) => allows(own, ADMINISTRATOR, [invoke(own, arn)], under));

  it('cannot invoke the function, also in a request that does not say how, and still calls the URL', () => {
    expect(invokable(role, guard)).toEqual([]);
    const silent = everyVersion.map((arn) => ({ ...invoke(role, arn), context: {} }));
    expect(silent.filter((request) => allows(role, ADMINISTRATOR, [request], guard))).toEqual([]);
    expect(allows(role, ADMINISTRATOR, callUrl(role, urlTarget), guard)).toBe(true);
  });

  it('can with an exception only as the role that breaks the glass', () => {
    expect(invokable(role, guardWithException)).toEqual([]);
    expect(invokable(`${BREAK_GLASS}-2`, guardWithException)).toEqual([]);
    expect(invokable(BREAK_GLASS, guardWithException)).toEqual(everyVersion);
  });

  it('can start other functions, the one that checks too', () => {
    const others = [`${functionArn}-2`, functionArn.replace('token-broker-', 'token-broker-health-')];
    for (const arn of others) expect(allows(role, ADMINISTRATOR, [invoke(role, arn)], guard)).toBe(true);
  });
});

interface Policy {
  readonly Version: string;
  readonly Statement: readonly object[];
}

/** What an operator of `dev` gives to the owner of a role, or attaches to the account. */
async function printed(...args: readonly string[]): Promise<Policy> {
  const { stdout } = await runCommandLine(['policy', ...args, '--environment', 'dev']);
  return JSON.parse(stdout);
}

function callersOf(name: keyof typeof environments) {
  const { resources, urlTarget } = deployStack(name, environments[name]);
  const functionArn = urlTarget.split(':').slice(0, 7).join(':');
  return {
    urlTarget,
    functionArn,
    everyVersion: [functionArn, ...['live', '1', '$LATEST'].map((qualifier) => `${functionArn}:${qualifier}`)],
    /** Whether a role with a policy of its own may send all of the requests. */
    allows: (role: string, policy: unknown, requests: ReturnType<typeof callUrl>, guard?: unknown) => {
      const ofOrganization = guard === undefined ? [] : parsePolicy(guard);
      const policies = { ...policiesOf(resources, { [role]: policy }), ofOrganization };
      return requests.every((request) => isAllowed(policies, request));
    },
  };
}
