import { describe, expect, it } from 'vitest';
import { ownPolicy } from '../../../bin/commands/own-policies.ts';
import { environments } from '../../../lib/environments.ts';
import { parseEnvironment } from '../../../lib/settings/environment.ts';
import { type Statement, synthesise } from '../../support/stack/synthesise.ts';
import { runCommandLine } from './command-line.ts';

const REPORTING = 'arn:aws:iam::222222222222:role/reporting';
/** Nothing of AWS is in reach. */
const OFFLINE = {
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_SESSION_TOKEN: '',
  HTTPS_PROXY: 'http://127.0.0.1:9',
};

/** The document that it prints, and its standard error. */
async function policy(args: string) {
  const { exitCode, stdout, stderr } = await runCommandLine(['policy', ...args.split(' ')], OFFLINE);
  expect(exitCode).toBe(0);
  return { told: JSON.parse(stdout), stderr };
}

const SID = expect.stringMatching(/^[A-Za-z0-9]+$/);

describe('policy', () => {
  const Resource = 'arn:aws:lambda:eu-west-1:222222222222:function:token-broker-prod:live';

  it.each(['--environment prod', `--function-arn ${Resource}`])('prints the two permissions: %s', async (which) => {
    const allow = (action: string, Condition: object) => {
      return { Sid: SID, Effect: 'Allow', Action: `lambda:${action}`, Resource, Condition };
    };
    expect((await policy(`${REPORTING} ${which}`)).told).toEqual({
      Version: '2012-10-17',
      Statement: [
        allow('InvokeFunctionUrl', { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } }),
        allow('InvokeFunction', { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } }),
      ],
    });
  });

  it.each([
    ['a rule covers the role', REPORTING, /of dev let it: token for acme on customer-insights\./],
    ['a rule covers it under another path', 'arn:aws:iam::222222222222:role/team/reporting', /let it: token for acme/],
    ['none does', 'arn:aws:iam::333333333333:role/reporting', /No access rule of dev names this role.*add one/],
  ])('says besides that %s', async (_, role, words) => {
    expect((await policy(`${role} --environment dev`)).stderr).toMatch(words);
  });

  it('answers --json with policy and rules together', async () => {
    const access_rules = [{ clients: ['acme'], services: ['customer-insights'], operations: ['token'] }];
    const told = { role: REPORTING, environment: 'dev', policy: { Version: '2012-10-17' }, access_rules };
    expect((await policy(`${REPORTING} --environment dev --json`)).told).toMatchObject(told);
  });
});

describe('policy for the roles of an environment itself', () => {
  async function statementsOf(kind: string): Promise<readonly (Statement & { readonly Sid: string })[]> {
    return (await policy(`${kind} --environment prod`)).told.Statement;
  }

  it.each([
    ['--deploy', []],
    ['--execution', ['MakeUpTheSealingKey', 'Look']],
    ['--operator', ['ListTheSecrets']],
    ['--emergency', []],
  ])('%s fits into a managed policy, and reads no credential and no token', async (kind, wide) => {
    const statements = await statementsOf(kind);
    const size = JSON.stringify({ Version: '2012-10-17', Statement: statements }).length;
    expect(size).toBeLessThanOrEqual(6_144);
    const actions = statements.flatMap(({ Action }) => Action);
    expect(actions.filter((action) => /GetSecretValue|:\*$/.test(action))).toEqual([]);
    const own = /prod|aws:ResourceTag|cdk-/;
    const others = statements.filter(({ Resource, Condition }) => !own.test(JSON.stringify([Resource, Condition])));
    expect(others.map(({ Sid }) => Sid)).toEqual(wide);
  });

  it.each(['off', {}] as const)('--execution covers each resource of the template, with the trail %j', (trail) => {
    const form = { ...environments.prod, trail };
    const printed = JSON.stringify(ownPolicy('execution', parseEnvironment('prod', form)));
    expect(printed.length).toBeLessThanOrEqual(6_144);
    const statements: readonly Statement[] = JSON.parse(printed).Statement;
    const actions = statements.flatMap(({ Action }) => Action);
    const types = Object.values(synthesise('prod', form).template.Resources).map(({ Type }) => Type);
    for (const service of new Set(types.map((type) => type.split('::')[1]?.toLowerCase()))) {
      const makes = new RegExp(`^${service}:(?:Create|Put)`);
      const made = actions.filter((action) => makes.test(action));
      expect(made, service).not.toEqual([]);
    }
    // Making a resource must not be a way to its content, nor to a call that the broker has not decided.
    expect(
      actions.filter((action) => /dynamodb:(?:Get|Put|Query|Scan|Update)?Item|lambda:Invoke/.test(action)),
    ).toEqual([]);
  });
});

describe('policy --guard', () => {
  const BREAK_GLASS = 'arn:aws:iam::111111111111:role/break-glass';

  it('prints a service control policy for the account of the broker, which excepts the role of --break-glass', async () => {
    const { told, stderr } = await policy('--guard --environment dev');
    const arn = 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-dev';
    const statement = {
      Sid: SID,
      Effect: 'Deny',
      Action: ['lambda:InvokeFunction', 'lambda:InvokeAsync'],
      Resource: [arn, `${arn}:*`],
      Condition: { BoolIfExists: { 'lambda:InvokedViaFunctionUrl': 'false' } },
    };
    expect(told).toEqual({ Version: '2012-10-17', Statement: [statement] });
    expect(stderr).toMatch(/account 111111111111 as a service control policy.*"Guard the function"/);

    const excepted = (await policy(`--guard --break-glass ${BREAK_GLASS} --environment dev --json`)).told;
    const exception = { ArnNotEquals: { 'aws:PrincipalArn': BREAK_GLASS } };
    const Condition = { ...statement.Condition, ...exception };
    const account = '111111111111';
    expect(excepted).toMatchObject({ environment: 'dev', account, policy: { Statement: [{ Condition }] } });
  });
});
