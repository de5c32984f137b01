import type { Command } from 'commander';
import { z } from 'zod';
import { CommandFailure } from '../../client/commands/failure.ts';
import { parseWhole } from '../../client/commands/options.ts';
import { printJson, printTable, talk, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './client/confirm.ts';
import { askService, isRefused } from './shared/ask-aws.ts';
import { knownSettings, operate } from './shared/environment.ts';

/** `release list` and `release back`: the versions of the token function, and the way back to an earlier one. */
export function addReleaseCommands(program: Command, shell: Shell): void {
  const parent = program.command('release').description('See the versions of the token function, and go back to one.');

  parent
    .command('list')
    .description('List the versions that there are, newest first, and which of them callers get.')
    .option('--json', 'answer in JSON')
    .action(
      operate(shell, [], async ({ environment, json }, command) => {
        const { versions, alias } = await openReleases(shell, knownSettings(environment, command)).read();
        const shown = versions.map((one) => ({ ...one, percent: percentOf(one.version, alias) }));
        if (json) return printJson(shell, { environment, versions: shown });
        const rows = shown.map(({ version, published, code, percent }) => {
          return [version, published, code, percent ? `${percent} %` : '-'];
        });
        printTable(shell, ['VERSION', 'PUBLISHED', 'CODE', 'CALLS'], rows);
      }),
    );

  addChangeOptions(parent.command('back'))
    .description('Give all calls to an earlier version, at once; a deployment that is under way is stopped.')
    .option('--to <version>', 'to this version (default: the one before)', parseWhole('numbers', 1, 99_999))
    .option('--json', 'answer in JSON')
    .action(
      operate<ChangeOptions & { readonly to?: number }>(shell, [], async (options, command) => {
        const { environment, json } = options;
        const settings = knownSettings(environment, command);
        const releases = openReleases(shell, settings);
        const release = await releases.read();
        const deployments = settings.canary === 'off' ? [] : await releases.deployments();
        const { version, published, code } = targetOf(release, deployments, options.to);
        const changes = [
          ...deployments.map((id) => `stops the deployment ${id}, which CloudFormation then takes back`),
          `gives all calls to version ${version} (${published}, code ${code}), whose access rules and settings are then in force again`,
        ];
        if (!(await isConfirmed(shell, changes, options, command))) return;
        for (const id of deployments) await releases.stop(id);
        await releases.moveTo(version, deployments.length === 0 ? release.alias.RevisionId : undefined);
        if (json) printJson(shell, { environment, version, stopped: deployments });
        else shell.stdout.write(`${ALIAS}: version ${version}\n`);
        if (deployments.length === 0 && settings.canary !== 'off') talk(shell, BEFORE_THE_NEXT);
      }),
    );
}

const BEFORE_THE_NEXT =
  'The repair goes out in this order: 1. deploy it with canary: \'off\', because CodeDeploy refuses an alias that is not where the last deployment left it; 2. see the run of health with which that deployment ends; 3. set the canary again and deploy once more. docs/operations.md, "Go back to an earlier version", says the same.';

type Release = Awaited<ReturnType<ReturnType<typeof openReleases>['read']>>;

/** All that the commands do with the token function. */
function openReleases(shell: Shell, { name: environment, region }: { readonly name: string; readonly region: string }) {
  const ask = askService(shell, region);
  const name = functionName(environment);
  const path = `/2015-03-31/functions/${name}`;
  return {
    /** The alias, and all versions, newest first. */
    async read() {
      const alias = ALIAS_ANSWER.parse(await ask('lambda', 'GetAlias', { path: `${path}/aliases/${ALIAS}` }));
      const versions: z.output<typeof VERSION>[] = [];
      let query = {};
      for (let marker: string | undefined = ''; marker !== undefined; query = { Marker: marker }) {
        const answer = await ask('lambda', 'ListVersionsByFunction', { path: `${path}/versions`, query });
        const page = VERSIONS_ANSWER.parse(answer);
        versions.push(...page.Versions.filter(({ version }) => version !== '$LATEST'));
        marker = page.NextMarker ?? undefined;
      }
      return { alias, versions: versions.toSorted((one, other) => Number(other.version) - Number(one.version)) };
    },
    /** The deployments under way. Going back must not depend on CodeDeploy's answer. */
    async deployments(): Promise<readonly string[]> {
      const includeOnlyStatuses = ['Created', 'Queued', 'InProgress', 'Ready'];
      const body = { applicationName: name, deploymentGroupName: name, includeOnlyStatuses };
      try {
        return DEPLOYMENTS_ANSWER.parse(await ask('codedeploy', 'ListDeployments', { body })).deployments;
      } catch (error) {
        if (!isRefused(error)) throw error;
        talk(shell, `Whether a deployment is under way, which could undo this, is unknown: ${error.detail}.`);
        return [];
      }
    },
    stop: (deploymentId: string) =>
      ask('codedeploy', 'StopDeployment', { body: { deploymentId, autoRollbackEnabled: true } }),
    /** Without weights, so that no other version keeps a part of the calls. */
    moveTo: (FunctionVersion: string, RevisionId: string | undefined) =>
      ask('lambda', 'UpdateAlias', {
        method: 'PUT',
        path: `${path}/aliases/${ALIAS}`,
        body: { FunctionVersion, RoutingConfig: { AdditionalVersionWeights: {} }, RevisionId },
      }),
  };
}

const WEIGHTS = z.object({ AdditionalVersionWeights: z.record(z.string(), z.number()).nullish() }).nullish();
const ALIAS_ANSWER = z
  .object({ FunctionVersion: z.string(), RevisionId: z.string(), RoutingConfig: WEIGHTS })
  .transform(({ RoutingConfig, ...alias }) => ({ ...alias, weights: RoutingConfig?.AdditionalVersionWeights ?? {} }));
/** `code` is the beginning of the digest of code and settings. */
const VERSION = z
  .object({ Version: z.string(), LastModified: z.string(), CodeSha256: z.string() })
  .transform((one) => ({
    version: one.Version,
    published: timeText(Date.parse(one.LastModified)),
    code: one.CodeSha256.slice(0, 12),
  }));
const VERSIONS_ANSWER = z.object({ NextMarker: z.string().nullish(), Versions: z.array(VERSION) });
const DEPLOYMENTS_ANSWER = z.object({ deployments: z.array(z.string()).default([]) });

function percentOf(version: string, { FunctionVersion, weights }: Release['alias']): number {
  const others = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  return Math.round(100 * (version === FunctionVersion ? 1 - others : (weights[version] ?? 0)));
}

/** During a canary, the alias still names the version before it. */
function targetOf({ versions, alias }: Release, deployments: readonly string[], to: number | undefined) {
  const current = Number(alias.FunctionVersion);
  const isShared = deployments.length > 0 || Object.keys(alias.weights).length > 0;
  if (deployments.length > 0 && to !== undefined && to !== current) {
    const detail = `The deployment ${deployments.join(', ')} moves the alias`;
    throw new CommandFailure('deployment-under-way', detail, 'Stop it first, with release back without --to.');
  }
  const target = versions.find(({ version }) =>
    to === undefined ? Number(version) < current || (isShared && Number(version) === current) : Number(version) === to,
  );
  if (target !== undefined) return target;
  throw new CommandFailure(
    'version-missing',
    to === undefined ? `There is no version before ${current}` : `There is no version ${to}`,
    'See release list; without an earlier version, deploy what was there before, or stop the broker.',
  );
}
