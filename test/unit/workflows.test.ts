import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { environments } from '../../lib/environments.ts';
import { SETTINGS_VARIABLE } from '../../lib/settings/names.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { blocks } from '../support/readme.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Job {
  readonly if?: string;
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
}

interface Step {
  readonly id?: string;
  readonly run?: string;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly defaults: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = path.join(ROOT, '.github/workflows');
const TEXTS = Object.fromEntries(
  readdirSync(FOLDER).map((file) => [file.replace('.yml', ''), readFileSync(path.join(FOLDER, file), 'utf8')]),
);
const PINNED = /^uses: (?<action>[\w-]+\/[\w-]+)@[0-9a-f]{40} # v(?<major>\d+)\.\d+\.\d+$/;
/** The majors that were read, all on Node 24: GitHub's runners have no older Node. */
const LOWEST_MAJORS: Readonly<Record<string, number>> = {
  'actions/checkout': 7,
  'actions/setup-node': 7,
  'actions/upload-artifact': 7,
  'actions/download-artifact': 8,
  'aws-actions/configure-aws-credentials': 6,
};
const DEPLOYING = { contents: 'read', 'id-token': 'write' };
const TAGGING = { contents: 'write', actions: 'read' };

describe.each(Object.entries(TEXTS))('the workflow %s', (_, text) => {
  const workflow: Workflow = parse(text);
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps ?? []);

  it('is one that GitHub can read, and may read the repository alone unless a job says more', async () => {
    expect(await faultsOf(text)).toEqual([]);
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { permissions = {} } of Object.values(workflow.jobs)) {
      expect([{}, { contents: 'read', actions: 'read' }, DEPLOYING, TAGGING]).toContainEqual(permissions);
    }
  });

  it('pins each action, of a major on Node 24, by its commit, with the version as a comment for people and for the bot that updates it', () => {
    const lines = text.match(/uses: .*/g)?.filter((line) => !line.startsWith('uses: ./')) ?? [];
    for (const line of lines) {
      const { action = '', major } = PINNED.exec(line)?.groups ?? {};
      expect(Number(major), line).toBeGreaterThanOrEqual(LOWEST_MAJORS[action] ?? Number.NaN);
    }
  });

  it('runs scripts that there are, in a shell that ends at the first failure, also within a pipe', () => {
    expect(workflow.defaults).toEqual({ run: { shell: 'bash' } });
    for (const { run = '' } of steps) {
      for (const [, script] of run.matchAll(/npm run (?:--silent )?([\w-]+)/g)) {
        expect(Object.keys(packageJson.scripts)).toContain(script);
      }
    }
  });
});

it('a workflow for a repository of settings, as docs/deploy.md shows it, is one that GitHub can read', async () => {
  const [shown = '', ...others] = blocks('yaml', readFileSync(path.join(ROOT, 'docs/deploy.md'), 'utf8'));
  expect([others, await faultsOf(shown)]).toEqual([[], []]);
  const ours = Object.values(TEXTS).join('');
  for (const [action] of shown.matchAll(/uses: .*/g)) expect(ours).toContain(action);
  expect(shown).toContain(`${SETTINGS_VARIABLE}: `);
});

it('CI runs .ci/run, each week too, and tries the package of the client on every version of Node that it promises', () => {
  const { on, jobs }: Workflow = parse(TEXTS.ci ?? '');
  expect(Object.keys(on)).toEqual(['push', 'pull_request', 'schedule']);
  const { ci = {}, client = {}, ...others } = jobs;
  expect(others).toEqual({});
  expect(commandsOf(ci)).toEqual(['.ci/run']);
  expect(existsSync(path.join(ROOT, '.ci/run'))).toBe(true);
  expect(client).toMatchObject({ strategy: { matrix: { os: ['ubuntu-24.04'], node: ['20', '22', '24'] } } });
  expect(commandsOf(client).at(-1)).toContain('npm install --ignore-scripts ./token-broker-client-*.tgz');
});

describe('a deployment', () => {
  const deploy: Workflow = parse(TEXTS.deploy ?? '');
  const { jobs: { synth = {}, ...deployments } = {} } = deploy;

  it('begins with a click, on main only, for a commit whose ci is green, with one synth for all', () => {
    expect(Object.keys(deploy.on)).toEqual(['workflow_dispatch']);
    expect(synth.if).toBe("github.ref == 'refs/heads/main'");
    const [passed = '', ...commands] = commandsOf(synth);
    expect(passed).toMatch(
      /gh run list .*--workflow ci\.yml --branch main --event push --commit "\$GITHUB_SHA" --status success/,
    );
    expect(commands).toEqual(['npm ci --ignore-scripts', 'npm run cdk -- synth --quiet']);
  });

  it('goes through the environments of lib/environments.ts, one after the other, by one job for all', () => {
    const names = Object.keys(environments);
    const expected = names.map((name, index) => {
      const uses = './.github/workflows/deploy-environment.yml';
      return [name, { needs: names[index - 1] ?? 'synth', uses, with: { environment: name }, permissions: DEPLOYING }];
    });
    expect(Object.entries(deployments)).toEqual(expected);
  });

  const { jobs: { deploy: job = {} } = {} }: Workflow = parse(TEXTS['deploy-environment'] ?? '');

  it('of one environment uses that synth and its own role, ends with a run of health, and is tried out', () => {
    expect(job.environment).toBe(`$\{{ inputs.environment }}`);
    const role = {
      'role-to-assume': `$\{{ vars.DEPLOY_ROLE_ARN }}`,
      'aws-region': `$\{{ steps.settings.outputs.region }}`,
    };
    expect(job.steps).toContainEqual(expect.objectContaining({ with: role }));
    expect(commandsOf(job).slice(2)).toEqual([
      'npm run deploy -- "$TOKEN_BROKER_ENVIRONMENT" --app cdk.out',
      expect.stringMatching(/--stack-name "TokenBroker-\$TOKEN_BROKER_ENVIRONMENT" .*doctor --url/s),
    ]);
  });

  const noJq = spawnSync('jq', ['--version']).status === 0 ? '' : ' (skipped: jq is not installed)';
  it.skipIf(noJq !== '')(`reads the region of an environment from lib/environments.ts${noJq}`, () => {
    const output = path.join(temporaryFolder(), 'output');
    const script = job.steps?.find(({ id }) => id === 'settings')?.run ?? '';
    const { status } = bash(script, { GITHUB_OUTPUT: output, TOKEN_BROKER_ENVIRONMENT: 'prod' });
    expect([status, readFileSync(output, 'utf8')]).toEqual([0, `region=${environments.prod?.region}\n`]);
  });
});

describe('a release', () => {
  const { on, jobs: { tag = {}, ...others } = {} }: Workflow = parse(TEXTS.release ?? '');

  it('begins with a click, on main only, and alone may write', () => {
    expect([on, others, tag.if]).toEqual(['workflow_dispatch', {}, "github.ref == 'refs/heads/main'"]);
    const writing = Object.entries(TEXTS).filter(([, text]) => text.includes('contents: write'));
    expect(writing.map(([name]) => name)).toEqual(['release']);
  });
});

it.each([
  ['deploy', 1, 0, []],
  ['deploy', 0, 1, []],
  ['release', 1, 0, [`api repos/o/r/git/refs -f ref=refs/tags/v${packageJson.version} -f sha=abc --silent`]],
  ['release', 0, 1, []],
])(
  'a %s with %i runs of ci that passed for the commit ends its first step with %i, after %j',
  (name, passed, exitCode, refs) => {
    const calls = path.join(temporaryFolder(), 'calls');
    const content = JSON.stringify({ version: packageJson.version });
    // Does the work of jq within gh, whose filter a test of its own could not run without it.
    const gh = `gh() { echo "$*" >>"${calls}"; case "$*" in run*) echo ${passed} ;; *contents*) echo '${content}' | node -p 'JSON.parse(require("fs").readFileSync(0)).version' ;; esac; }`;
    const { jobs }: Workflow = parse(TEXTS[name] ?? '');
    const [script = ''] = Object.values(jobs).flatMap(commandsOf);
    const variables = { GITHUB_SHA: 'abc', GITHUB_REPOSITORY: 'o/r' };
    expect(bash(`${gh}\n${script}`, variables).status).toBe(exitCode);
    const made = readFileSync(calls, 'utf8')
      .split('\n')
      .filter((call) => call.includes('git/refs'));
    expect(made).toEqual(refs);
  },
);

/** What the parser that GitHub itself publishes finds wrong. */
async function faultsOf(content: string): Promise<readonly string[]> {
  const { context, value } = parseWorkflow({ name: 'workflow.yml', content }, new NoOperationTraceWriter());
  if (value === undefined) return context.errors.getErrors().map(({ message }) => message);
  const { errors = [] } = await convertWorkflowTemplate(context, value);
  return errors.map(({ Message }) => Message);
}

function commandsOf({ steps = [] }: Job): readonly string[] {
  return steps.flatMap(({ run }) => run ?? []);
}

/** Runs a script as the workflows do. */
function bash(script: string, env: Readonly<Record<string, string>>) {
  const PATH = [path.dirname(process.execPath), process.env.PATH].join(path.delimiter);
  const variables = { PATH, HOME: tmpdir(), ...env };
  return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], { cwd: ROOT, env: variables });
}
