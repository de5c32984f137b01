import { existsSync, readFileSync } from 'node:fs';
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { environments } from '../../lib/environments.ts';
import packageJson from '../../package.json' with { type: 'json' };

interface Job {
  readonly needs?: string | readonly string[];
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const ci: Workflow = parse(textOf('ci'));
const deploy: Workflow = parse(textOf('deploy'));

it('CI runs the steps of .ci/run, and no others', () => {
  expect(Object.values(ci.jobs).map(commandsOf)).toEqual([['.ci/run']]);
  expect(existsSync(new URL('../../.ci/run', import.meta.url))).toBe(true);
});

it.each(Object.entries({ ci, deploy }))(
  'GitHub can read the workflow %s, which may read the repository and names what there is',
  async (name, workflow) => {
    expect(await faultsOf(textOf(name))).toEqual([]);
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { environment, permissions, steps } of Object.values(workflow.jobs)) {
      // Only a deployment may ask for a role.
      expect(permissions).toEqual(environment === undefined ? undefined : { contents: 'read', 'id-token': 'write' });
      for (const { uses = 'an/action@v1', run = '' } of steps) {
        expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
        for (const [, script = ''] of run.matchAll(/npm run (?:--silent )?([\w-]+)/g)) {
          expect(Object.keys(packageJson.scripts)).toContain(script);
        }
      }
    }
  },
);

it.each([
  ['a member that GitHub does not know', 'runs-on:', 'run-on:'],
  ['an expression without a value', 'vars.DEPLOY_ROLE_ARN', 'var.DEPLOY_ROLE_ARN'],
  ['a job that is not there', 'needs: synth', 'needs: build'],
])('%s would be found in a workflow', async (_, right, wrong) => {
  expect(await faultsOf(textOf('deploy').replace(right, wrong))).not.toEqual([]);
});

it('a deployment goes from environment to environment, on a click only, with one synth for all', () => {
  expect(Object.keys(deploy.on)).toEqual(['workflow_dispatch']);
  const jobs = Object.entries(deploy.jobs);
  const order = jobs.map(([name, { needs = 'nothing' }]) => `${name} after ${[needs].flat().at(-1)}`);
  expect(order).toEqual(['synth after nothing', 'dev after synth', 'staging after dev', 'prod after staging']);
  const commands = jobs.flatMap(([, job]) => commandsOf(job));
  expect(commands.filter((run) => / synth\b/.test(run))).toEqual(['npm run cdk -- synth --quiet']);
});

it.each(Object.entries(environments))(
  '%s is deployed from that synth, as its own role, and tried out',
  (name, { region }) => {
    const { [name]: job = { steps: [] } } = deploy.jobs;
    const role = { 'role-to-assume': `$\{{ vars.DEPLOY_ROLE_ARN }}`, 'aws-region': region };
    const steps = expect.arrayContaining([expect.objectContaining({ with: role })]);
    expect(job).toMatchObject({ environment: name, steps });
    expect(commandsOf(job).slice(1)).toEqual([
      `npm run deploy -- ${name} --app cdk.out`,
      expect.stringMatching(new RegExp(`--stack-name TokenBroker-${name} .*doctor --url`, 's')),
      expect.stringMatching(new RegExp(`lambda invoke --function-name token-broker-health-${name} `)),
    ]);
  },
);

function textOf(name: string): string {
  return readFileSync(new URL(`../../.github/workflows/${name}.yml`, import.meta.url), 'utf8');
}

/** The faults that GitHub's own parser finds. */
async function faultsOf(content: string): Promise<readonly string[]> {
  const { context, value } = parseWorkflow({ name: 'workflow.yml', content }, new NoOperationTraceWriter());
  if (value === undefined) return context.errors.getErrors().map(({ message }) => message);
  const { errors = [] } = await convertWorkflowTemplate(context, value);
  return errors.map(({ Message }) => Message);
}

function commandsOf({ steps }: Job): readonly string[] {
  return steps.flatMap(({ run }) => run ?? []);
}
