import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthorize, parseCaller } from '../../functions/broker/authorize.ts';
import { environments } from '../../lib/environments.ts';
import { parseRoleArn } from '../../lib/settings/access-rules.ts';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/environment.ts';
import { runCommandLine } from '../e2e/commands/command-line.ts';
import { isAllowed } from '../support/iam.ts';
import { callUrl, invoke } from '../support/iam-operations.ts';
import { parsePolicy } from '../support/iam-policy.ts';
import { policiesOf } from '../support/iam-world.ts';
import { deployStack } from './deployed-stack.ts';

const ADMINISTRATOR = {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }],
};

describe.each(Object.entries(environments))('in %s', (name, form) => {
  const { resources, urlTarget } = deployStack(name, form);
  const functionArn = urlTarget.split(':').slice(0, 7).join(':');
  const everyVersion = [functionArn, ...['live', '1', '$LATEST'].map((qualifier) => `${functionArn}:${qualifier}`)];
  const roles = [...new Set(form.accessRules.map(({ role }) => role))];
  const accounts = [...new Set(roles.map((role) => parseRoleArn(role)?.account ?? ''))];

  const allows = (role: string, policy: unknown, requests: ReturnType<typeof callUrl>, guard?: unknown) => {
    const ofOrganization = guard === undefined ? [] : parsePolicy(guard);
    const policies = { ...policiesOf(resources, { [role]: policy }), ofOrganization };
    return requests.every((request) => isAllowed(policies, request));
  };

  describe.each(roles)('the caller %s', (role) => {
    let policy: Policy;
    beforeAll(async () => {
      policy = await printedPolicy(role, name);
    });

    it('can call the URL with the policy that the command line prints, and with nothing less', () => {
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

  describe.each(accounts.filter((account) => account !== form.account))('an administrator of account %s', (account) => {
    const role = `arn:aws:iam::${account}:role/administrator`;

    it('cannot invoke the function past its URL', () => {
      expect(everyVersion.filter((arn) => allows(role, ADMINISTRATOR, [invoke(role, arn)]))).toEqual([]);
    });
  });

  describe('an administrator of the own account', () => {
    const role = `arn:aws:iam::${form.account}:role/administrator`;
    const BREAK_GLASS = `arn:aws:iam::${form.account}:role/break-glass`;
    const invokable = (own: string, guard?: Policy) =>
      everyVersion.filter((arn) => allows(own, ADMINISTRATOR, [invoke(own, arn)], guard));

    it('can invoke the function past its URL: no policy of the stack prevents it', () => {
      expect(invokable(role)).toEqual(everyVersion);
    });

    it('cannot under the guard that the command line prints, and still calls the URL', async () => {
      const guard = await printed(['--guard', '--environment', name]);
      expect(invokable(role, guard)).toEqual([]);
      const silent = everyVersion.map((arn) => ({ ...invoke(role, arn), context: {} }));
      expect(silent.filter((request) => allows(role, ADMINISTRATOR, [request], guard))).toEqual([]);
      expect(allows(role, ADMINISTRATOR, callUrl(role, urlTarget), guard)).toBe(true);
    });

    it('can under a guard with an exception only as the role that breaks the glass', async () => {
      const guard = await printed(['--guard', '--break-glass', BREAK_GLASS, '--environment', name]);
      expect(invokable(role, guard)).toEqual([]);
      expect(invokable(`${BREAK_GLASS}-2`, guard)).toEqual([]);
      expect(invokable(BREAK_GLASS, guard)).toEqual(everyVersion);
    });

    it('can start other functions under the guard, the one that checks too', async () => {
      const guard = await printed(['--guard', '--environment', name]);
      const others = [`${functionArn}-2`, functionArn.replace('token-broker-', 'token-broker-health-')];
      for (const arn of others) expect(allows(role, ADMINISTRATOR, [invoke(role, arn)], guard)).toBe(true);
    });
  });

  describe('an administrator of an account that no access rule names', () => {
    const role = 'arn:aws:iam::999999999999:role/administrator';

    it('gets nowhere: not through the URL and not past it', () => {
      const requests = [
        ...callUrl(role, urlTarget),
        ...everyVersion.flatMap((arn) => [...callUrl(role, arn), invoke(role, arn)]),
      ];
      expect(requests.filter((request) => allows(role, ADMINISTRATOR, [request]))).toEqual([]);
    });
  });

  describe.each([...accounts, form.account])('a role of account %s that no access rule names', (account) => {
    it.each(['administrator', 'billing-2', 'Billing', 'token-broker'])('gets nothing from the broker: %s', (own) => {
      const { accessRules, services } = toBrokerSettings(parseEnvironment(name, form));
      const authorize = createAuthorize(accessRules, new Set(Object.keys(services)));
      const caller = parseCaller(`arn:aws:sts::${account}:assumed-role/${own}/billing`);
      const clients = ['acme', 'globex', 'all', '*'];
      for (const service of Object.keys(services)) {
        for (const client of clients) {
          for (const operation of ['token', 'check'] as const) {
            expect(() => caller && authorize(caller, operation, { client, service })).toThrow('No access rule');
          }
        }
      }
    });
  });
});

interface Policy {
  readonly Version: string;
  readonly Statement: readonly object[];
}

/** What an operator gives to the owner of a role. */
function printedPolicy(role: string, environment: string): Promise<Policy> {
  return printed([role, '--environment', environment]);
}

async function printed(args: readonly string[]): Promise<Policy> {
  const { stdout } = await runCommandLine(['policy', ...args]);
  return JSON.parse(stdout);
}
