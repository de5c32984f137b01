import { describe, expect, it } from 'vitest';
import { deploy } from '../../bin/deployment.ts';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment } from '../../lib/settings/settings.ts';
import { refused, startAws } from './commands/shared/aws-operations.ts';
import { keyboardOf, openShell } from './commands/shared/command-line.ts';

const DEV = parseEnvironment('dev', environments.dev);
const PROD = parseEnvironment('prod', environments.prod);
const ROLLED_BACK = { StackStatus: 'ROLLBACK_COMPLETE', EnableTerminationProtection: 'true' };
const GIVEN = { condition: 'not-denied', said: 'a-token' } as const;
const DEPLOYED = { StackStatus: 'UPDATE_COMPLETE', EnableTerminationProtection: 'true' };
const UNPROTECTED = { ...ROLLED_BACK, EnableTerminationProtection: 'false' };

describe('npm run deploy', () => {
  it('ends with one run of health, and shows its table', async () => {
    const { deployTo, state } = await startWorld();
    const { exitCode, told, stdout } = await deployTo(DEV);
    expect({ exitCode, runs: state.runs }).toEqual({ exitCode: 0, runs: ['token-broker-health-dev'] });
    expect(stdout).toBe('CLIENT  customer-insights  other\nacme    accepted           rejected\n');
    const deployed = expect.stringMatching(/^TokenBroker-dev is deployed\./);
    expect(told).toEqual([deployed, '2 pairs: 1 accepted, 1 rejected']);
  });

  it.each<[what: string, world: World, said: RegExp]>([
    ['crashes', { run: { probe: undefined } }, /error: health-failed: A run of token-broker-health-dev did not finish/],
    ['cannot be asked for', { refuses: 'invocations', word: 'ServiceException' }, /aws-unavailable: .*:InvokeFunction/],
    ['is not allowed', { refuses: 'invocations' }, /error: aws-access-denied: .*lambda:InvokeFunction/],
    ['gets no finding', { run: failedWith('internal') }, /check of acme\/other ended with internal\n.*release back/],
    [
      'finds a version that lost a right on the table',
      { run: failedWith('table-unavailable', 'dynamodb:GetItem') },
      /error: the check of .* ended with table-unavailable: dynamodb:GetItem\n.*release back/,
    ],
    ['gets a token without a rule', { run: { probe: GIVEN } }, /a role .* was not refused: a-token\n.*release back/],
  ])('fails, and asks for no other run, when the run %s', async (_, world, said) => {
    const { deployTo, state } = await startWorld({ stack: DEPLOYED, ...world });
    const { exitCode, told } = await deployTo(DEV);
    expect({ exitCode, runs: state.runs.length }).toEqual({ exitCode: 1, runs: 1 });
    expect(told.join('\n')).toMatch(said);
  });

  it.each([
    ['the first deployment', {}, 'fix it, and deploy again.'],
    ['a deployment after a failed first one', { stack: ROLLED_BACK }, 'fix it, and deploy again.'],
    ['a later deployment', { stack: DEPLOYED }, 'release back --environment dev).'],
    ['a stack that it may not see', { refuses: 'DescribeStacks' }, 'release back --environment dev).'],
  ])('advises what there is to do when the run after %s finds a fault', async (_, world, advice) => {
    const { deployTo } = await startWorld({ ...world, run: failedWith('internal') });
    expect((await deployTo(DEV)).told.at(-1)).toContain(advice);
  });

  it('passes while Secrets Manager cannot be read, which is not the fault of a version', async () => {
    const { deployTo } = await startWorld({ run: failedWith('secrets-unavailable') });
    expect(await deployTo(DEV)).toMatchObject({ exitCode: 0, stdout: 'CLIENT  other\nacme    secrets-unavailable\n' });
  });

  it('names the page after a failure of the CDK, with the exit code of the CDK', async () => {
    const { deployTo, state } = await startWorld();
    const { exitCode, told } = await deployTo(DEV, { cdkExitCode: 3 });
    expect({ exitCode, runs: state.runs }).toEqual({ exitCode: 3, runs: [] });
    expect(told.at(-1)).toContain('docs/deploy.md, "When a deployment fails"');
  });

  // @see aws/copilot-cli#2544, aws/aws-dotnet-deploy#689
  it('says that CloudFormation goes on when Ctrl-C ends the CDK', async () => {
    const { deployTo, state } = await startWorld();
    const { exitCode, told } = await deployTo(DEV, { cdkExitCode: 'interrupted' });
    expect({ exitCode, runs: state.runs }).toEqual({ exitCode: 130, runs: [] });
    expect(told.at(-1)).toMatch(/^CloudFormation goes on: .*cancel-update-stack/);
  });
});

const OWN = { 'token-broker-prod': 50, 'token-broker-health-prod': 10 };
const THREE = { ...DEV, provisionedConcurrency: 3 };
const GONE = { stack: DEPLOYED, inTemplate: 3 };
const TOO_FEW = { unreserved: 10, own: OWN };
const INVALID = { refuses: 'account-settings', word: 'InvalidParameterValueException' };
const inStatus = (StackStatus: string) => ({ stack: { ...DEPLOYED, StackStatus } });

type Row = [what: string, world: World, environment: typeof DEV, warning?: RegExp];
const UNASKED =
  /^The quota .* at least 160 free .* was not checked \(aws-access-denied: .*lambda:Get\w+.*policy --deploy/;
const UNKNOWN = /was not checked \(aws-refused: .*lambda:GetAccountSettings .*Exception\)\)\.$/;
const withoutRight = (action: string) =>
  new RegExp(`not checked \\(aws-access-denied: .*${action}.*policy --deploy prints`);

/** @see serverless/serverless#10897, aws/aws-cdk#29992, aws/serverless-application-model#1353 */
describe('npm run deploy leaves to the CDK', () => {
  it.each<Row>([
    ['a first deployment with as much concurrency as it needs', { unreserved: 160 }, PROD],
    ['an account whose own reservations of today are free', { unreserved: 100, own: OWN }, PROD],
    ['functions that reserve nothing yet', { unreserved: 160, own: {} }, PROD],
    ['an environment that reserves nothing', { unreserved: 10 }, DEV],
    ['a stack that is deployed', { stack: DEPLOYED }, DEV],
    ['a failed creation that is not protected', { stack: UNPROTECTED }, DEV],
    ['a stack that it may not see', { stack: ROLLED_BACK, refuses: 'DescribeStacks' }, DEV],
    // The CDK deletes a stack that was never created, and asks before it continues after --no-rollback.
    ...['UPDATE_ROLLBACK_COMPLETE', 'REVIEW_IN_PROGRESS', 'CREATE_FAILED', 'UPDATE_FAILED'].map((status): Row => {
      return [`a stack in ${status}`, inStatus(status), DEV];
    }),
    ['provisioned instances that are there', { stack: DEPLOYED, inTemplate: 3, isThere: true }, THREE],
    ['provisioned instances of a stack that is not there yet', {}, THREE],
    ['the first provisioned instances', { stack: DEPLOYED }, THREE, /changes from 0 to 3: deploy it alone/],
    ['the last provisioned instances', { stack: DEPLOYED, inTemplate: 3 }, DEV, /changes from 3 to 0: deploy it alone/],
    ['a quota when it may not ask for it', { ...TOO_FEW, refuses: 'account-settings' }, PROD, UNASKED],
    ['a quota when it may not ask what it reserves', { ...TOO_FEW, refuses: '/concurrency' }, PROD, UNASKED],
    ['a quota of which AWS says nothing, and names no right', { ...TOO_FEW, ...INVALID }, PROD, UNKNOWN],
    // As a role of the release before.
    ['a template without the right', { ...GONE, refuses: 'GetTemplate' }, THREE, withoutRight('cloudformation:Get')],
    ['instances without the right', { ...GONE, refuses: 'provisioned' }, THREE, withoutRight('lambda:GetProvisioned')],
  ])('%s, and warns of what it did not see', async (_, world, environment, warning = /^$/) => {
    const { deployTo, state } = await startWorld(world);
    const toldBefore = [expect.stringMatching(warning)];
    expect(await deployTo(environment)).toMatchObject({ exitCode: 0, toldBefore });
    expect(state.stack).toEqual(world.stack);
  });
});

/** @see org-formation/org-formation-cli#455, serverless/serverless#10897 */
describe('npm run deploy does nothing, and says why,', () => {
  async function expectNothing(world: World, environment: typeof DEV, exitCode: number, said: RegExp) {
    const { deployTo, state } = await startWorld(world);
    const { told, ...deployed } = await deployTo(environment);
    expect(deployed).toMatchObject({ exitCode, toldBefore: undefined });
    expect(told.join('\n')).toMatch(said);
    expect(state.stack).toEqual(world.stack);
  }

  const WAIT = /Wait until that has ended, then deploy again\.$/;

  it.each<[status: string, advice: RegExp, env?: World['env']]>([
    ['UPDATE_IN_PROGRESS', WAIT],
    ['UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', WAIT],
    ['ROLLBACK_IN_PROGRESS', WAIT],
    ['UPDATE_ROLLBACK_FAILED', /npm run cdk -- rollback TokenBroker-dev\. .* --orphan <logical id>/],
    ['UPDATE_ROLLBACK_FAILED', /TokenBroker-dev --settings a\.mts\. /, { TOKEN_BROKER_ENVIRONMENTS_FILE: 'a.mts' }],
    ['DELETE_FAILED', /npm run cdk -- destroy --exclusively TokenBroker-dev\.$/],
    ['IMPORT_ROLLBACK_FAILED', /Its events say why\.$/],
  ])('in %s: %s', async (status, advice, env = {}) => {
    const state = `^error: TokenBroker-dev is in ${status}, in which CloudFormation accepts no deployment: nothing was done`;
    await expectNothing({ ...inStatus(status), env }, DEV, 1, new RegExp(`${state}\\. .*${advice.source}`));
  });

  it.each([
    [159, undefined],
    [99, OWN],
    [10, undefined],
  ])('with %i executions that no function reserves, and its own: %o', async (unreserved, own) => {
    const free = unreserved + (own === undefined ? 0 : 60);
    const said = new RegExp(`prod reserves 60 .* has only ${free} in eu-west-1 .*nothing was done`);
    await expectNothing({ unreserved, own }, PROD, 1, said);
  });

  it('where provisioned instances were deleted by hand: it prints what puts them back', async () => {
    const put = `put-provisioned-concurrency-config --function-name token-broker-dev --qualifier live`;
    const said = `^error: the provisioned instances of dev were deleted by hand, so CloudFormation would fail: nothing was done\\. Put them back, and deploy again:\naws lambda ${put} --provisioned-concurrent-executions 3 --region eu-west-1$`;
    await expectNothing(GONE, THREE, 2, new RegExp(said));
  });

  it('where the broker was stopped too: it prints no command that Lambda refuses, or that starts the broker', async () => {
    const said = /^error: .* and the broker was stopped: nothing was done\. docs\/runbook\.md, "Stop the .*$/;
    await expectNothing({ ...GONE, own: { 'token-broker-dev': 0 } }, THREE, 2, said);
  });
});

describe('npm run deploy after a first deployment that failed', () => {
  it.each([
    ['without a terminal', ROLLED_BACK, undefined],
    ['when the person at the terminal agrees', ROLLED_BACK, 'y\n'],
    ['after a rollback that failed too', { ...ROLLED_BACK, StackStatus: 'ROLLBACK_FAILED' }, undefined],
  ])('says what it will do, takes the protection away and goes on, %s', async (_, stack, typed) => {
    const { deployTo } = await startWorld({ stack });
    const { exitCode, toldBefore, found } = await deployTo(DEV, { typed });
    expect({ exitCode, found }).toEqual({ exitCode: 0, found: { ...stack, EnableTerminationProtection: 'false' } });
    expect(toldBefore?.[0]).toMatch(/^The first deployment of TokenBroker-dev failed.*removes the protection/);
  });

  it.each([
    ['when the person does not agree', undefined, '\n'],
    ['when it may not', 'UpdateTerminationProtection', undefined],
  ])('changes nothing %s', async (_, refuses, typed) => {
    const { deployTo, state } = await startWorld({ stack: ROLLED_BACK, refuses });
    expect(await deployTo(DEV, { typed })).toMatchObject({ exitCode: 1, toldBefore: undefined });
    expect(state.stack).toEqual(ROLLED_BACK);
  });
});

/** A run whose only check failed. */
function failedWith(failure: string, detail?: string): Outcome {
  return { checked: [], missed: [{ pair: { client: 'acme', service: 'other' }, reason: 'failed', failure, detail }] };
}

/** A part of a health run. */
type Outcome = Readonly<Record<string, unknown>>;
type Stack = Readonly<Record<'StackStatus' | 'EnableTerminationProtection', string>>;

/** What CloudFormation and Lambda know, and refuse. */
interface World {
  readonly stack?: Stack | undefined;
  /** A part of the operations that are refused, and the word: `AccessDenied` when left out. */
  readonly refuses?: string | undefined;
  readonly word?: string;
  /** The executions that no function of the account reserves. */
  readonly unreserved?: number;
  /** The reservations of our own functions, if these are there. */
  readonly own?: Readonly<Record<string, number>> | undefined;
  /** The instances in the deployed template, and whether the alias still has them. */
  readonly inTemplate?: number;
  readonly isThere?: boolean;
  /** How a run of health ends. */
  readonly run?: Outcome;
  readonly env?: Readonly<Record<string, string>>;
}

function templateWith(inTemplate: number): string {
  const Alias = { Properties: { ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: inTemplate } } };
  return JSON.stringify({ Resources: inTemplate > 0 ? { Alias } : {} }, undefined, 1).replaceAll('"', '&quot;');
}

/** Stands in for what CloudFormation and Lambda are asked beside the CDK. */
async function startWorld(world: World = {}) {
  const { refuses = 'nothing', word = 'AccessDenied', unreserved = 1_000, own, inTemplate = 0, isThere } = world;
  const state = { stack: world.stack, runs: [] as string[] };
  const { url } = await startAws(({ operation, members }) => {
    const [, name = '', question = ''] = /functions\/([^/]+)\/([\w-]+)/.exec(operation) ?? [];
    if (question === 'invocations') state.runs.push(name);
    if (operation.includes(refuses)) return refused(word, word === 'ServiceException' ? 503 : 403);
    if (question === 'invocations') return { ...RUN, ...world.run };
    if (question === 'provisioned-concurrency') return isThere ? {} : refused('ProvisionedConcurrencyConfigNotFound');
    if (question === 'concurrency') {
      return own === undefined ? refused('ResourceNotFoundException') : { ReservedConcurrentExecutions: own[name] };
    }
    if (operation.includes('account-settings')) return { AccountLimit: { UnreservedConcurrentExecutions: unreserved } };
    if (state.stack === undefined) return refused('ValidationError');
    if (operation === 'GetTemplate') return `<TemplateBody>${templateWith(inTemplate)}</TemplateBody>`;
    const EnableTerminationProtection = `${members.EnableTerminationProtection}`;
    if (operation === 'UpdateTerminationProtection') state.stack = { ...state.stack, EnableTerminationProtection };
    const elements = Object.entries(state.stack).map(([element, value]) => `<${element}>${value}</${element}>`);
    return `<Stacks><member>${elements.join('')}</member></Stacks>`;
  });
  const env = { AWS_ENDPOINT_URL_CLOUDFORMATION: url, AWS_ENDPOINT_URL_LAMBDA: url, ...world.env };

  return {
    state,
    /** Runs a deployment, with a CDK that only ends. */
    async deployTo(
      environment: typeof DEV,
      {
        cdkExitCode = 0,
        typed,
      }: { readonly cdkExitCode?: number | 'interrupted'; readonly typed?: string | undefined } = {},
    ) {
      const keyboard = typed === undefined ? undefined : keyboardOf([['[y/N] ', typed]]);
      const { shell, output, interrupt } = openShell(env, keyboard);
      const toldTo = () => output.stderr.trimEnd().split('\n');
      let atCdk: { readonly toldBefore: readonly string[]; readonly found: Stack | undefined } | undefined;
      const exitCode = await deploy(shell, environment, async () => {
        atCdk = { toldBefore: toldTo(), found: state.stack };
        if (cdkExitCode !== 'interrupted') return cdkExitCode;
        interrupt();
        return 1;
      });
      return { exitCode, told: toldTo(), stdout: output.stdout, toldBefore: undefined, ...atCdk };
    },
  };
}

const RUN = {
  checked: [
    { pair: { client: 'acme', service: 'customer-insights' }, finding: 'accepted' },
    { pair: { client: 'acme', service: 'other' }, finding: 'rejected' },
  ],
  missed: [],
  probe: { condition: 'denied', said: 'access-denied' },
};
