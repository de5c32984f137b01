import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { printOwnPolicies } from '../../../cli/policy.ts';
import { environments } from '../../../lib/environments.ts';
import { parseEnvironment } from '../../../lib/settings/settings.ts';
import type { Statement } from '../../support/stack/synthesise.ts';
import { runCommandLine } from './shared/command-line.ts';

const REPORTING = 'arn:aws:iam::222222222222:role/reporting';
/** Nothing of AWS is in reach. */
const OFFLINE = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', HTTPS_PROXY: 'http://127.0.0.1:9' };

/** The document that it prints, and its standard error. */
async function policy(args: string) {
  const { exitCode, stdout, stderr } = await runCommandLine(['policy', ...args.split(' ')], OFFLINE);
  expect(exitCode).toBe(0);
  return { told: JSON.parse(stdout), stderr };
}

const BREAK_GLASS = 'arn:aws:iam::111111111111:role/break-glass';
const SID = expect.stringMatching(/^[A-Za-z0-9]+$/);

describe('policy', () => {
  const Resource = 'arn:aws:lambda:eu-west-1:222222222222:function:token-broker-prod:live';

  it.each(['--environment prod', `--function-arn ${Resource}`])('prints both permissions: %s', async (which) => {
    const { Statement } = (await policy(`${REPORTING} ${which}`)).told;
    const actions = ['lambda:InvokeFunctionUrl', 'lambda:InvokeFunction'];
    expect(Statement).toMatchObject(actions.map((Action) => ({ Sid: SID, Action, Resource })));
  });

  it.each([
    ['a rule covers the role', REPORTING, /of dev allow it: token for acme on customer-insights\./],
    ['a rule covers it at another path', 'arn:aws:iam::222222222222:role/team/reporting', /allow it: token for acme/],
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
  it.each([
    ['--boundary', ['EverythingElse', 'AssumeOnlyTheProbeOfHealth']],
    ['--deploy', ['ReadTheQuota']],
    ['--execution', ['MakeUpTheSealingKey', 'FinishTheKey', 'UseTheKeyForThem', 'StopADeployment', 'Look']],
    ['--operator', ['ListTheSecrets', 'ReadNoSecret']],
    ['--operator --clients retail-*,acme', ['ListTheSecrets', 'ReadNoSecret']],
    ['--emergency', ['StopADeployment']],
    ['--sealing-key', ['ReadNoSecret']],
  ])('%s fits into a managed policy, and names a wider resource for little', async (kind, wide) => {
    const { told } = await policy(`${kind} --environment prod`);
    const policies: readonly { readonly Statement: readonly (Statement & { readonly Sid: string })[] }[] =
      told.policies ?? [told];
    // Sixty characters are left for an addition.
    for (const one of policies) expect(JSON.stringify(one).length).toBeLessThanOrEqual(6_084);
    const statements = policies.flatMap(({ Statement }) => Statement);
    const own = /prod|aws:ResourceTag|cdk-/;
    const others = statements.filter(({ Resource, Condition }) => !own.test(JSON.stringify([Resource, Condition])));
    expect(others.map(({ Sid }) => Sid)).toEqual(wide);
  });

  it('--execution says that without a permissions boundary the role is an administrator', async () => {
    const { stderr } = await policy('--execution --environment prod');
    expect(stderr).toMatch(/^The settings require no permissions boundary: .*"Who deploys"\)\.\n$/m);
  });

  it('prints two policies where one would be too long, and says so and which boundary they demand', () => {
    const settings = parseEnvironment('a-name-that-is-long', { ...environments.prod, trail: {} });
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const bootstrap = { qualifier: 'broker1', boundary: 'arn:aws:iam::222222222222:policy/bounds' };
    printOwnPolicies({ stdout, stderr }, 'execution', settings, bootstrap);
    const { policies } = JSON.parse(`${stdout.read()}`);
    expect(policies).toHaveLength(2);
    const [first = '', second = ''] = policies.map((one: object) => JSON.stringify(one));
    expect(first.length + second.length).toBeGreaterThan(6_144);
    expect(Math.max(first.length, second.length)).toBeLessThanOrEqual(6_084);
    expect(`${stderr.read()}`).toMatch(
      /^These are 2 policies, .* 6144 characters: .*\nIt creates no role without .*, arn:aws:iam::222222222222:policy\/bounds\.\n$/,
    );
  });

  it('--boundary prints the boundary of the account, or its two denials alone for a boundary that exists', async () => {
    // stack/permissions/two-steps has what it allows.
    const whole = await policy('--boundary --environment prod');
    const [, ...denials] = whole.told.Statement;
    expect(denials).toHaveLength(2);
    const alone = await policy('--boundary-exceptions --environment prod');
    expect(alone.told).toEqual({ Version: '2012-10-17', Statement: denials });
    for (const { stderr } of [whole, alone]) expect(stderr).toMatch(/^Store it, or .* before npm run bootstrap \(docs/);
  });

  it.each(['acme/token-broker', 'acme@123456/token-broker@456789'])(
    '--deploy-trust trusts GitHub for the repository %s alone, in the environment of the same name',
    async (repository) => {
      const { told } = await policy(`--deploy-trust ${repository} --environment prod`);
      const issuer = 'token.actions.githubusercontent.com';
      const Principal = { Federated: `arn:aws:iam::222222222222:oidc-provider/${issuer}` };
      const subject = { [`${issuer}:sub`]: `repo:${repository}:environment:prod` };
      const Condition = { StringEquals: { [`${issuer}:aud`]: 'sts.amazonaws.com', ...subject } };
      const statement = { Sid: SID, Effect: 'Allow', Principal, Action: 'sts:AssumeRoleWithWebIdentity', Condition };
      expect(told).toEqual({ Version: '2012-10-17', Statement: [statement] });
    },
  );
});

it('policy --guard prints a service control policy for the account of the broker, which excepts the role of --break-glass', async () => {
  const { told, stderr } = await policy('--guard --environment dev');
  expect(told.Statement).toMatchObject([{ Sid: SID, Action: ['lambda:InvokeFunction', 'lambda:InvokeAsync'] }]);
  expect(stderr).toMatch(/account 111111111111 as a service control policy.*"Guard the function"/);

  const excepted = (await policy(`--guard --break-glass ${BREAK_GLASS} --environment dev --json`)).told;
  const Condition = { ArnNotEquals: { 'aws:PrincipalArn': BREAK_GLASS } };
  const account = '111111111111';
  expect(excepted).toMatchObject({ environment: 'dev', account, policy: { Statement: [{ Condition }] } });
});
