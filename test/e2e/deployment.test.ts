import { describe, expect, it, onTestFinished } from 'vitest';
import { deploy } from '../../bin/deployment.ts';
import type { HealthRun } from '../../functions/health/rules/run.ts';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment } from '../../lib/settings/settings.ts';
import { signerOf } from '../../local/aws/server.ts';
import { headerValue, json, serve } from '../../local/loopback.ts';
import { keyboardOf, openShell, SHELL_KEY } from './commands/shared/command-line.ts';

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

  it.each<[what: string, run: Outcome, said: RegExp]>([
    ['crashes', 'crashed', /error: health-failed: A run of token-broker-health-dev did not finish/],
    ['cannot be asked for', 'down', /error: aws-unavailable: .*lambda:InvokeFunction/],
    ['is not allowed', 'denied', /error: aws-access-denied: .*lambda:InvokeFunction/],
    ['gets no finding', failedWith('internal'), /error: the check of acme\/other ended with internal\n.*release back/],
    [
      'finds a version that lost a right on the table',
      failedWith('table-unavailable', 'dynamodb:GetItem'),
      /error: the check of .* ended with table-unavailable: dynamodb:GetItem\n.*release back/,
    ],
    ['gets a token without a rule', { probe: GIVEN }, /error: a role .* was not refused: a-token\n.*release back/],
  ])('fails, and asks for no other run, when the run %s', async (_, run, said) => {
    const { deployTo, state } = await startWorld({ stack: DEPLOYED, run });
    const { exitCode, told } = await deployTo(DEV);
    expect({ exitCode, runs: state.runs.length }).toEqual({ exitCode: 1, runs: 1 });
    expect(told.join('\n')).toMatch(said);
  });

  it.each([
    ['the first deployment', {}, 'fix it, and deploy again.'],
    ['a deployment after a failed first one', { stack: ROLLED_BACK }, 'fix it, and deploy again.'],
    ['a later deployment', { stack: DEPLOYED }, 'release back --environment dev).'],
    ['a stack that it may not see', { denied: 'DescribeStacks' }, 'release back --environment dev).'],
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
});

const OWN = { 'token-broker-prod': 50, 'token-broker-health-prod': 10 };
const THREE = { ...DEV, provisionedConcurrency: 3 };
const inStatus = (StackStatus: string) => ({ stack: { ...DEPLOYED, StackStatus } });

/** @see serverless/serverless#10897, aws/aws-cdk#29992, aws/serverless-application-model#1353 */
describe('npm run deploy leaves to the CDK', () => {
  it.each<[what: string, world: World, environment: typeof DEV, warning?: RegExp]>([
    ['a first deployment with as much concurrency as it needs', { concurrency: { unreserved: 160 } }, PROD],
    ['an account whose own reservations of today are free', { concurrency: { unreserved: 100, own: OWN } }, PROD],
    ['functions that reserve nothing yet', { concurrency: { unreserved: 160, own: {} } }, PROD],
    ['an environment that reserves nothing', { concurrency: { unreserved: 10 } }, DEV],
    ['a stack that is deployed', { stack: DEPLOYED }, DEV],
    ['a failed creation that is not protected', { stack: UNPROTECTED }, DEV],
    ['a stack that it may not see', { stack: ROLLED_BACK, denied: 'DescribeStacks' }, DEV],
    // The CDK deletes a stack that was never created, and asks before it continues after --no-rollback.
    ...['UPDATE_ROLLBACK_COMPLETE', 'REVIEW_IN_PROGRESS', 'CREATE_FAILED', 'UPDATE_FAILED'].map(
      (status): [string, World, typeof DEV] => [`a stack in ${status}`, inStatus(status), DEV],
    ),
    ['provisioned instances that are there', { stack: DEPLOYED, inTemplate: 3, isThere: true }, THREE],
    ['provisioned instances of a stack that is not there yet', {}, THREE],
    ['the first provisioned instances', { stack: DEPLOYED }, THREE, /changes from 0 to 3: deploy it alone/],
    ['the last provisioned instances', { stack: DEPLOYED, inTemplate: 3 }, DEV, /changes from 3 to 0: deploy it alone/],
    ...['account-settings', 'concurrency'].map((denied): [string, World, typeof DEV, RegExp] => [
      `a quota when it may not ask for ${denied}`,
      { concurrency: { unreserved: 10, own: OWN, denied } },
      PROD,
      /^The quota .* at least 160 free .* was not checked \(aws-access-denied: .*lambda:Get\w+.*policy --deploy/,
    ]),
    [
      'a quota about which AWS says nothing, and names no right',
      { concurrency: { unreserved: 10, denied: 'account-settings', word: 'InvalidParameterValueException' } },
      PROD,
      /was not checked \(aws-refused: .*lambda:GetAccountSettings .*Exception\)\)\.$/,
    ],
    // As a role of the release before.
    ...['cloudformation:GetTemplate', 'lambda:GetProvisionedConcurrencyConfig'].map(
      (action): [string, World, typeof DEV, RegExp] => [
        `instances when it has no right to ${action}`,
        { stack: DEPLOYED, denied: action.replace(/^.*:/, ''), inTemplate: 3 },
        THREE,
        new RegExp(`not checked \\(aws-access-denied: .*${action}.*policy --deploy prints`),
      ],
    ),
  ])('%s, and warns of what it did not see', async (_, world, environment, warning = /^$/) => {
    const { deployTo, state } = await startWorld(world);
    const toldBefore = [expect.stringMatching(warning)];
    expect(await deployTo(environment)).toMatchObject({ exitCode: 0, toldBefore });
    expect(state.stack).toEqual(world.stack);
  });
});

/** @see org-formation/org-formation-cli#455, serverless/serverless#10897 */
describe('npm run deploy does nothing, and says why,', () => {
  const wait =
    /^error: TokenBroker-dev is in [A-Z_]+, in which CloudFormation accepts no deployment: nothing was done\. Wait until that has ended, then deploy again\.$/;

  it.each<[what: string, world: World, environment: typeof DEV, exitCode: number, said: RegExp]>([
    ...[159, 99, 10].map((unreserved): [string, World, typeof DEV, number, RegExp] => {
      const own = unreserved === 99 ? OWN : undefined;
      const free = own === undefined ? unreserved : 159;
      const said = new RegExp(`prod reserves 60 .* has only ${free} in eu-west-1 .*nothing was done`);
      return [`with ${free} free executions`, { concurrency: { unreserved, own } }, PROD, 1, said];
    }),
    ...['UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'ROLLBACK_IN_PROGRESS'].map(
      (status): [string, World, typeof DEV, number, RegExp] => [`in ${status}`, inStatus(status), DEV, 1, wait],
    ),
    [
      'in UPDATE_ROLLBACK_FAILED',
      inStatus('UPDATE_ROLLBACK_FAILED'),
      DEV,
      1,
      /npm run cdk -- rollback TokenBroker-dev\. .* --orphan <logical id>/,
    ],
    [
      'in it, with the file of the settings',
      { ...inStatus('UPDATE_ROLLBACK_FAILED'), env: { TOKEN_BROKER_ENVIRONMENTS_FILE: '../environments.mts' } },
      DEV,
      1,
      /TokenBroker-dev --settings \.\.\/environments\.mts\. /,
    ],
    ['in DELETE_FAILED', inStatus('DELETE_FAILED'), DEV, 1, /npm run cdk -- destroy --exclusively TokenBroker-dev\.$/],
    [
      'in another failure',
      inStatus('IMPORT_ROLLBACK_FAILED'),
      DEV,
      1,
      /^error: TokenBroker-dev is in IMPORT_ROLLBACK_FAILED, .* nothing was done\. Its events say why\.$/,
    ],
    [
      'where provisioned instances were deleted by hand: it prints what puts them back',
      { stack: DEPLOYED, inTemplate: 3 },
      THREE,
      2,
      /^error: the provisioned instances of dev were deleted by hand, so CloudFormation would fail: nothing was done\. Put them back, and deploy again:\naws lambda put-provisioned-concurrency-config --function-name token-broker-dev --qualifier live --provisioned-concurrent-executions 3 --region eu-west-1$/,
    ],
    [
      'where the broker was stopped too: it prints no command that Lambda refuses, or that starts the broker',
      { stack: DEPLOYED, inTemplate: 3, concurrency: { unreserved: 1_000, own: { 'token-broker-dev': 0 } } },
      THREE,
      2,
      /^error: .* and the broker was stopped: nothing was done\. docs\/runbook\.md, "Stop the .*$/,
    ],
  ])('%s', async (_, world, environment, exitCode, said) => {
    const { deployTo, state } = await startWorld(world);
    const { told, ...deployed } = await deployTo(environment);
    expect(deployed).toMatchObject({ exitCode, toldBefore: undefined });
    expect(told.join('\n')).toMatch(said);
    expect(state.stack).toEqual(world.stack);
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
    ['when the person does not agree', '', '\n'],
    ['when it may not', 'UpdateTerminationProtection', undefined],
  ])('changes nothing %s', async (_, denied, typed) => {
    const { deployTo, state } = await startWorld({ stack: ROLLED_BACK, denied });
    expect(await deployTo(DEV, { typed })).toMatchObject({ exitCode: 1, toldBefore: undefined });
    expect(state.stack).toEqual(ROLLED_BACK);
  });
});

/** A run whose only check failed. */
function failedWith(failure: string, detail?: string): Outcome {
  return { checked: [], missed: [{ pair: { client: 'acme', service: 'other' }, reason: 'failed', failure, detail }] };
}

type Outcome = Partial<HealthRun> | 'crashed' | 'denied' | 'down';
type Stack = Readonly<Record<'StackStatus' | 'EnableTerminationProtection', string>>;

/** What CloudFormation and Lambda know, and what the identity may not ask. */
interface World {
  readonly stack?: Stack | undefined;
  /** An operation that is denied. */
  readonly denied?: string;
  /** The answers of Lambda about concurrency. Without `own`, there is no function yet. */
  readonly concurrency?: Concurrency;
  /** The instances in the deployed template, and whether the alias still has them. */
  readonly inTemplate?: number;
  readonly isThere?: boolean;
  /** How a run of health ends. */
  readonly run?: Outcome;
  readonly env?: Readonly<Record<string, string>>;
}

interface Concurrency {
  readonly unreserved: number;
  readonly own?: Readonly<Record<string, number>> | undefined;
  readonly denied?: string;
  readonly word?: string;
}

function concurrencyOf(path: string, { unreserved, own, denied, word }: Concurrency) {
  if (denied !== undefined && path.includes(denied)) return json(403, { __type: word ?? 'AccessDeniedException' });
  if (path.startsWith('/2016-08-19/account-settings')) {
    return json(200, { AccountLimit: { UnreservedConcurrentExecutions: unreserved } });
  }
  const [, , , name = ''] = path.split('/');
  if (own === undefined) return json(404, { __type: 'ResourceNotFoundException' });
  return json(200, own[name] === undefined ? {} : { ReservedConcurrentExecutions: own[name] });
}

function templateWith(inTemplate: number): string {
  const Alias = { Properties: { ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: inTemplate } } };
  return JSON.stringify({ Resources: inTemplate > 0 ? { Alias } : {} }, undefined, 1).replaceAll('"', '&quot;');
}

/** Stands in for what CloudFormation and Lambda are asked beside the CDK. */
async function startWorld(world: World = {}) {
  const { denied = '', concurrency = { unreserved: 1_000 }, inTemplate = 0, isThere = false, run = {} } = world;
  const state = { stack: world.stack, runs: [] as string[] };
  const runOf = (name: string) => {
    state.runs.push(name);
    if (run === 'down') return json(503, {});
    if (run === 'denied') return json(403, { __type: 'AccessDeniedException' });
    if (run === 'crashed') return json(200, { errorType: 'Error', errorMessage: 'broken' });
    return json(200, { ...RUN, ...run });
  };
  const lambda = (method: string, path: string) => {
    if (method === 'POST') return runOf(path.split('/')[3] ?? '');
    if (!path.includes('/provisioned-concurrency')) return concurrencyOf(path, concurrency);
    if (denied.includes('Provisioned')) return json(403, { __type: 'AccessDeniedException' });
    return isThere ? json(200, {}) : json(404, { __type: 'ProvisionedConcurrencyConfigNotFoundException' });
  };
  const cloudformation = ({ Action = '', EnableTerminationProtection = '' }: Readonly<Record<string, string>>) => {
    const refuse = (status: number, code: string) => {
      return { status, body: `<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>` };
    };
    if (Action === denied) return refuse(403, 'AccessDenied');
    if (state.stack === undefined) return refuse(400, 'ValidationError');
    if (Action === 'UpdateTerminationProtection') state.stack = { ...state.stack, EnableTerminationProtection };
    const elements = Object.entries(state.stack).map(([name, value]) => `<${name}>${value}</${name}>`);
    const template = `<TemplateBody>${templateWith(inTemplate)}</TemplateBody>`;
    const result = Action === 'GetTemplate' ? template : `<Stacks><member>${elements.join('')}</member></Stacks>`;
    return { status: 200, body: `<${Action}Response><${Action}Result>${result}</${Action}Result></${Action}Response>` };
  };
  const { url, close } = await serve(async (request) => {
    const isForm = headerValue(request, 'content-type') === 'application/x-www-form-urlencoded';
    signerOf(request, isForm ? 'cloudformation' : 'lambda', { keys: [SHELL_KEY] });
    return isForm
      ? cloudformation(Object.fromEntries(new URLSearchParams(Buffer.from(request.body).toString())))
      : lambda(request.method, request.path);
  });
  onTestFinished(close);
  const env = { AWS_ENDPOINT_URL_CLOUDFORMATION: url, AWS_ENDPOINT_URL_LAMBDA: url, ...world.env };

  return {
    state,
    /** Runs a deployment, with a CDK that only ends. */
    async deployTo(
      environment: typeof DEV,
      { cdkExitCode = 0, typed }: { readonly cdkExitCode?: number; readonly typed?: string | undefined } = {},
    ) {
      const keyboard = typed === undefined ? undefined : keyboardOf([['[y/N] ', typed]]);
      const { shell, output } = openShell(env, keyboard);
      const toldTo = () => output.stderr.trimEnd().split('\n');
      let atCdk: { readonly toldBefore: readonly string[]; readonly found: Stack | undefined } | undefined;
      const exitCode = await deploy(shell, environment, async () => {
        atCdk = { toldBefore: toldTo(), found: state.stack };
        return cdkExitCode;
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
