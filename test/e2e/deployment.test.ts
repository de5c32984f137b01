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
    const { deployTo, state } = await startWorld(DEPLOYED);
    state.run = run;
    const { exitCode, told } = await deployTo(DEV);
    expect({ exitCode, runs: state.runs.length }).toEqual({ exitCode: 1, runs: 1 });
    expect(told.join('\n')).toMatch(said);
  });

  it('passes while Secrets Manager cannot be read, which is not the fault of a version', async () => {
    const { deployTo, state } = await startWorld();
    state.run = failedWith('secrets-unavailable');
    expect(await deployTo(DEV)).toMatchObject({ exitCode: 0, stdout: 'CLIENT  other\nacme    secrets-unavailable\n' });
  });

  it('names the page after a failure of the CDK, with the exit code of the CDK', async () => {
    const { deployTo, state } = await startWorld();
    const { exitCode, told } = await deployTo(DEV, { cdkExitCode: 3 });
    expect({ exitCode, runs: state.runs }).toEqual({ exitCode: 3, runs: [] });
    expect(told.at(-1)).toContain('docs/deploy.md, "When a deployment fails"');
  });
});

describe('npm run deploy asks Lambda for the account', () => {
  const OWN = { 'token-broker-prod': 50, 'token-broker-health-prod': 10 };

  it.each<[what: string, concurrency: Concurrency]>([
    ['as much as a first deployment needs', { unreserved: 160 }],
    ['its own reservations of today counted as free', { unreserved: 100, own: OWN }],
    ['functions that reserve nothing yet', { unreserved: 160, own: {} }],
  ])('and goes on with %s', async (_, concurrency) => {
    const { deployTo, state } = await startWorld();
    state.concurrency = concurrency;
    expect(await deployTo(PROD)).toMatchObject({ exitCode: 0, toldBefore: [''] });
  });

  it.each<[free: number, concurrency: Concurrency]>([
    [159, { unreserved: 159 }],
    [159, { unreserved: 99, own: OWN }],
    [10, { unreserved: 10 }],
  ])('and stops before the CDK with %i free', async (free, concurrency) => {
    const { deployTo, state } = await startWorld();
    state.concurrency = concurrency;
    const { exitCode, told, toldBefore } = await deployTo(PROD);
    expect({ exitCode, toldBefore }).toEqual({ exitCode: 1, toldBefore: undefined });
    expect(told.at(-1)).toMatch(new RegExp(`prod reserves 60 .* has only ${free} in eu-west-1 .*nothing was done`));
  });

  it('and asks nothing when the environment reserves nothing', async () => {
    const { deployTo, state } = await startWorld();
    state.concurrency = { unreserved: 10 };
    expect(await deployTo(DEV)).toMatchObject({ exitCode: 0 });
  });

  it.each(['account-settings', 'concurrency'])(
    'and says that it was not checked when it may not ask for %s',
    async (denied) => {
      const { deployTo, state } = await startWorld();
      state.concurrency = { unreserved: 10, own: OWN, denied };
      const { exitCode, toldBefore } = await deployTo(PROD);
      expect(exitCode).toBe(0);
      expect(toldBefore?.[0]).toMatch(
        /^The quota .* at least 160 free .* was not checked \(aws-access-denied: .*lambda:Get\w+.*policy --deploy/,
      );
    },
  );
});

describe('npm run deploy after a first deployment that failed', () => {
  it.each([
    ['without a terminal', undefined],
    ['when the person at the terminal agrees', 'y\n'],
  ])('says what it will do, takes the protection away and goes on, %s', async (_, typed) => {
    const { deployTo } = await startWorld(ROLLED_BACK);
    const { exitCode, toldBefore, found } = await deployTo(DEV, { typed });
    expect({ exitCode, found }).toEqual({ exitCode: 0, found: UNPROTECTED });
    expect(toldBefore?.[0]).toMatch(/^The first deployment of TokenBroker-dev failed.*removes the protection/);
  });

  it('changes nothing when the person does not agree, or when it may not', async () => {
    for (const { typed, denied } of [{ typed: '\n' }, { denied: 'UpdateTerminationProtection' }]) {
      const { deployTo, state } = await startWorld(ROLLED_BACK, denied);
      expect(await deployTo(DEV, { typed })).toMatchObject({ exitCode: 1, toldBefore: undefined });
      expect(state.stack).toEqual(ROLLED_BACK);
    }
  });

  it('clears a stack whose rollback failed too', async () => {
    const { deployTo } = await startWorld({ ...ROLLED_BACK, StackStatus: 'ROLLBACK_FAILED' });
    expect(await deployTo(DEV)).toMatchObject({ exitCode: 0, found: { EnableTerminationProtection: 'false' } });
  });

  it.each([
    ['that is deployed', { StackStatus: 'UPDATE_COMPLETE', EnableTerminationProtection: 'true' }, undefined],
    ['that is not protected', UNPROTECTED, undefined],
    ['that it may not see', ROLLED_BACK, 'DescribeStacks'],
  ])('leaves a stack %s to the CDK', async (_, stack, denied) => {
    const { deployTo, state } = await startWorld(stack, denied);
    expect(await deployTo(DEV)).toMatchObject({ exitCode: 0, found: stack });
    expect(state.stack).toEqual(stack);
  });
});

describe('npm run deploy reads the status of the stack', () => {
  it.each(['UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'ROLLBACK_IN_PROGRESS'])(
    'and waits for no other deployment, in %s',
    async (status) => {
      const { exitCode, told, toldBefore } = await deployIn(status);
      expect({ exitCode, toldBefore }).toEqual({ exitCode: 1, toldBefore: undefined });
      expect(told).toEqual([
        `error: TokenBroker-dev is in ${status}, in which CloudFormation accepts no deployment: nothing was done. Wait until that has ended, then deploy again.`,
      ]);
    },
  );

  /** @see org-formation/org-formation-cli#455 */
  it.each<[status: string, advice: RegExp]>([
    ['UPDATE_ROLLBACK_FAILED', /npm run cdk -- rollback TokenBroker-dev\. .* --orphan <logical id>/],
    ['DELETE_FAILED', /npm run cdk -- destroy --exclusively TokenBroker-dev\.$/],
    ['IMPORT_ROLLBACK_FAILED', /nothing was done\. Its events say why\.$/],
  ])('and names the way out of %s', async (status, advice) => {
    const { exitCode, told, toldBefore } = await deployIn(status);
    expect({ exitCode, toldBefore }).toEqual({ exitCode: 1, toldBefore: undefined });
    expect(told.at(-1)).toMatch(advice);
  });

  it('and names the file of the settings, which the CDK takes from its variable', async () => {
    const env = { TOKEN_BROKER_ENVIRONMENTS_FILE: '../environments.mts' };
    const { told } = await deployIn('UPDATE_ROLLBACK_FAILED', env);
    expect(told.at(-1)).toContain('TokenBroker-dev, with TOKEN_BROKER_ENVIRONMENTS_FILE=../environments.mts. ');
  });

  // The CDK deletes a stack that was never created, and asks before it continues after --no-rollback.
  it.each(['UPDATE_ROLLBACK_COMPLETE', 'REVIEW_IN_PROGRESS', 'CREATE_FAILED', 'UPDATE_FAILED'])(
    'and leaves %s to the CDK',
    async (status) => {
      expect(await deployIn(status)).toMatchObject({ exitCode: 0, toldBefore: [''] });
    },
  );

  async function deployIn(StackStatus: string, env = {}) {
    const { deployTo } = await startWorld({ StackStatus, EnableTerminationProtection: 'true' });
    return deployTo(DEV, { env });
  }
});

describe('npm run deploy after a health run that failed', () => {
  it.each([
    ['the first deployment', undefined, undefined, 'fix it, and deploy again.'],
    ['a deployment after a failed first one', ROLLED_BACK, undefined, 'fix it, and deploy again.'],
    ['a later deployment', DEPLOYED, undefined, 'release back --environment dev).'],
    ['a stack that it may not see', DEPLOYED, 'DescribeStacks', 'release back --environment dev).'],
  ])('advises what there is to do after %s', async (_, stack, denied, advice) => {
    const { deployTo, state } = await startWorld(stack, denied);
    state.run = failedWith('internal');
    expect((await deployTo(DEV)).told.at(-1)).toContain(advice);
  });
});

/** @see serverless/serverless#10897, aws/aws-cdk#29992, aws/serverless-application-model#1353 */
describe('npm run deploy with provisioned concurrency', () => {
  const THREE = { ...DEV, provisionedConcurrency: 3 };

  it('stops before CloudFormation where the instances were deleted by hand, and prints what puts them back', async () => {
    const { deployTo } = await startWorld(DEPLOYED, undefined, { inTemplate: 3 });
    const { exitCode, told, toldBefore } = await deployTo(THREE);
    expect({ exitCode, toldBefore }).toEqual({ exitCode: 2, toldBefore: undefined });
    expect(told).toEqual([
      'error: the provisioned instances of dev were deleted by hand, so CloudFormation would fail: nothing was done. Put them back, and deploy again:',
      'aws lambda put-provisioned-concurrency-config --function-name token-broker-dev --qualifier live --provisioned-concurrent-executions 3 --region eu-west-1',
    ]);
  });

  it('names no command that Lambda refuses where the broker was stopped, and none that starts it', async () => {
    const { deployTo, state } = await startWorld(DEPLOYED, undefined, { inTemplate: 3 });
    state.concurrency = { unreserved: 1_000, own: { 'token-broker-dev': 0 } };
    const { exitCode, told } = await deployTo(THREE);
    const stopped = expect.stringMatching(
      / and the broker was stopped: nothing was done\. docs\/runbook\.md, "Stop the/,
    );
    expect({ exitCode, told }).toEqual({ exitCode: 2, told: [stopped] });
  });

  it.each([
    ['they are there', DEPLOYED, THREE, { inTemplate: 3, isThere: true }],
    ['there is no stack yet', undefined, THREE, { inTemplate: 0 }],
    ['the deployed template has none yet', DEPLOYED, THREE, { inTemplate: 0 }, /changes from 0 to 3: deploy it alone/],
    ['the settings have none', DEPLOYED, DEV, { inTemplate: 3 }, /changes from 3 to 0: deploy it alone/],
  ])('goes on when %s, and warns of a change', async (_, stack, environment, instances, warning = /^$/) => {
    const { deployTo } = await startWorld(stack, undefined, instances);
    const toldBefore = [expect.stringMatching(warning)];
    expect(await deployTo(environment)).toMatchObject({ exitCode: 0, toldBefore });
  });

  it.each([
    ['GetTemplate', 'cloudformation:GetTemplate'],
    ['GetProvisionedConcurrencyConfig', 'lambda:GetProvisionedConcurrencyConfig'],
  ])('goes on with a role of the release before, which may not %s, and says so', async (denied, action) => {
    const { deployTo } = await startWorld(DEPLOYED, denied, { inTemplate: 3 });
    const { exitCode, toldBefore } = await deployTo(THREE);
    expect({ exitCode, toldBefore }).toEqual({
      exitCode: 0,
      toldBefore: [expect.stringMatching(`not checked \\(aws-access-denied: .*${action}.*policy --deploy prints`)],
    });
  });
});

/** A run whose only check failed. */
function failedWith(failure: string, detail?: string): Outcome {
  return { checked: [], missed: [{ pair: { client: 'acme', service: 'other' }, reason: 'failed', failure, detail }] };
}

/** The answers of Lambda about concurrency. Without `own`, there is no function yet. */
interface Concurrency {
  readonly unreserved: number;
  readonly own?: Readonly<Record<string, number>>;
  readonly denied?: string;
}

const ROOMY: Concurrency = { unreserved: 1_000 };

function concurrencyOf(
  path: string,
  { concurrency: { unreserved, own, denied } }: { readonly concurrency: Concurrency },
) {
  if (denied !== undefined && path.includes(denied)) return json(403, { __type: 'AccessDeniedException' });
  if (path.startsWith('/2016-08-19/account-settings')) {
    return json(200, { AccountLimit: { UnreservedConcurrentExecutions: unreserved } });
  }
  const [, , , name = ''] = path.split('/');
  if (own === undefined) return json(404, { __type: 'ResourceNotFoundException' });
  return json(200, own[name] === undefined ? {} : { ReservedConcurrentExecutions: own[name] });
}

type Outcome = Partial<HealthRun> | 'crashed' | 'denied' | 'down';
type Stack = Readonly<Record<'StackStatus' | 'EnableTerminationProtection', string>>;

/** The instances in the deployed template, and whether the alias still has them. */
interface Instances {
  readonly inTemplate?: number;
  readonly isThere?: boolean;
}

function templateWith({ inTemplate = 0 }: Instances): string {
  const Alias = { Properties: { ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: inTemplate } } };
  return JSON.stringify({ Resources: inTemplate > 0 ? { Alias } : {} }, undefined, 1).replaceAll('"', '&quot;');
}

/** Stands in for what CloudFormation and Lambda are asked beside the CDK; `denied` is an operation that the identity may not use. */
async function startWorld(stack?: Stack, denied = '', instances: Instances = {}) {
  const state = { stack, runs: [] as string[], run: {} as Outcome, concurrency: ROOMY as Concurrency };
  const runOf = (name: string) => {
    state.runs.push(name);
    if (state.run === 'down') return json(503, {});
    if (state.run === 'denied') return json(403, { __type: 'AccessDeniedException' });
    if (state.run === 'crashed') return json(200, { errorType: 'Error', errorMessage: 'broken' });
    return json(200, { ...RUN, ...state.run });
  };
  const lambda = (method: string, path: string) => {
    if (method === 'POST') return runOf(path.split('/')[3] ?? '');
    if (!path.includes('/provisioned-concurrency')) return concurrencyOf(path, state);
    if (denied.includes('Provisioned')) return json(403, { __type: 'AccessDeniedException' });
    return instances.isThere ? json(200, {}) : json(404, { __type: 'ProvisionedConcurrencyConfigNotFoundException' });
  };
  const cloudformation = ({ Action = '', EnableTerminationProtection = '' }: Readonly<Record<string, string>>) => {
    const refuse = (status: number, code: string) => {
      return { status, body: `<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>` };
    };
    if (Action === denied) return refuse(403, 'AccessDenied');
    if (state.stack === undefined) return refuse(400, 'ValidationError');
    if (Action === 'UpdateTerminationProtection') state.stack = { ...state.stack, EnableTerminationProtection };
    const elements = Object.entries(state.stack).map(([name, value]) => `<${name}>${value}</${name}>`);
    const template = `<TemplateBody>${templateWith(instances)}</TemplateBody>`;
    const result = Action === 'GetTemplate' ? template : `<Stacks><member>${elements.join('')}</member></Stacks>`;
    return { status: 200, body: `<${Action}Response><${Action}Result>${result}</${Action}Result></${Action}Response>` };
  };
  const { url, close } = await serve(async (request) => {
    const isForm = headerValue(request, 'content-type') === 'application/x-www-form-urlencoded';
    await signerOf(request, isForm ? 'cloudformation' : 'lambda', { keys: [SHELL_KEY] });
    return isForm
      ? cloudformation(Object.fromEntries(new URLSearchParams(Buffer.from(request.body).toString())))
      : lambda(request.method, request.path);
  });
  onTestFinished(close);
  const env = { AWS_ENDPOINT_URL_CLOUDFORMATION: url, AWS_ENDPOINT_URL_LAMBDA: url };

  return {
    state,
    /** Runs a deployment, with a CDK that only ends. */
    async deployTo(
      environment: typeof DEV,
      options: { cdkExitCode?: number; typed?: string | undefined; env?: Readonly<Record<string, string>> } = {},
    ) {
      const { cdkExitCode = 0, typed } = options;
      const keyboard = typed === undefined ? undefined : keyboardOf([['[y/N] ', typed]]);
      const { shell, output } = openShell({ ...env, ...options.env }, keyboard);
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
