import type { Command } from 'commander';
import { z } from 'zod';
import { CommandFailure, explainFailure } from '../../client/commands/failure.ts';
import { parseWhole } from '../../client/commands/options.ts';
import { printJson, printTable, talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './client/confirm.ts';
import { type AskService, askService } from './shared/ask-aws.ts';
import { knownSettings } from './shared/environment.ts';
import type { ClientOptions } from './shared/options.ts';

/** `release list` and `release back`: the versions of the token function, and the way back to an earlier one. */
export function addReleaseCommands(program: Command, shell: Shell): void {
  const parent = program.command('release').description('See the versions of the token function, and go back to one.');

  parent
    .command('list')
    .description('List the versions that there are, newest first, and which of them callers get.')
    .option('--json', 'answer in JSON')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ClientOptions>();
      await explainFailure(shell, options, async () => {
        const { region } = knownSettings(options.environment, command);
        const releases = openReleases(shell, options.environment, askService(shell, region));
        const { versions, alias } = await releases.read();
        const rows = versions.map((one) => ({ ...one, percent: percentOf(one.version, alias) }));
        if (options.json) return printJson(shell, { environment: options.environment, versions: rows });
        printTable(
          shell,
          ['VERSION', 'PUBLISHED', 'CODE', 'CALLS'],
          rows.map(({ version, published, code, percent }) => [
            version,
            published,
            code,
            percent ? `${percent} %` : '-',
          ]),
        );
      });
    });

  addChangeOptions(parent.command('back'))
    .description('Give all calls to an earlier version, at once; a deployment that is under way is stopped.')
    .option('--to <version>', 'to this version (default: the one before)', parseWhole('numbers', 1, 99_999))
    .option('--json', 'answer in JSON')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ChangeOptions & { readonly to?: number }>();
      await explainFailure(shell, options, async () => {
        const { canary, region } = knownSettings(options.environment, command);
        const releases = openReleases(shell, options.environment, askService(shell, region));
        const release = await releases.read();
        const deployments = canary === 'off' ? [] : await releases.deployments();
        const to = targetOf(release, deployments, options.to);
        const changes = [
          ...deployments.map((id) => `stops the deployment ${id}, which CloudFormation then takes back`),
          `gives all calls to version ${to.version} (${to.published}, code ${to.code}), whose access rules and settings are then in force again`,
        ];
        if (!(await isConfirmed(shell, { client: undefined, secret: undefined, changes }, options, command))) return;
        for (const id of deployments) await releases.stop(id);
        await releases.moveTo(to.version, deployments.length === 0 ? release.alias.RevisionId : undefined);
        const { environment, json } = options;
        if (json) printJson(shell, { environment, version: to.version, stopped: deployments });
        else shell.stdout.write(`${ALIAS}: version ${to.version}\n`);
        if (deployments.length === 0) talk(shell, BEFORE_THE_NEXT);
      });
    });
}

const BEFORE_THE_NEXT =
  'CodeDeploy refuses the next deployment, because the alias is not where the last one left it: deploy the repair with canary: \'off\', see docs/operations.md, "Go back to an earlier version".';

interface Release {
  /** Newest first. */
  readonly versions: readonly Version[];
  readonly alias: z.output<typeof ALIAS_ANSWER>;
}

interface Version {
  readonly version: string;
  readonly published: string;
  /** The beginning of the digest of code and settings. */
  readonly code: string;
}

/** All that the commands do with the token function. */
function openReleases(shell: Shell, environment: string, ask: AskService) {
  const name = functionName(environment);
  const path = `/2015-03-31/functions/${name}`;
  const deploy = (operation: string, body: object) =>
    ask('codedeploy', operation, { target: `CodeDeploy_20141006.${operation}`, body });
  return {
    async read(): Promise<Release> {
      const alias = ALIAS_ANSWER.parse(await ask('lambda', 'GetAlias', { path: `${path}/aliases/${ALIAS}` }));
      const versions: Version[] = [];
      let query = {};
      for (let marker: string | undefined = ''; marker !== undefined; query = { Marker: marker }) {
        const page = VERSIONS_ANSWER.parse(
          await ask('lambda', 'ListVersionsByFunction', { path: `${path}/versions`, query }),
        );
        versions.push(...page.Versions.filter(({ version }) => version !== '$LATEST'));
        marker = page.NextMarker ?? undefined;
      }
      return { alias, versions: versions.toSorted((one, other) => Number(other.version) - Number(one.version)) };
    },
    /** Those that are under way. Going back must not depend on CodeDeploy's answer. */
    async deployments(): Promise<readonly string[]> {
      const body = { applicationName: name, deploymentGroupName: name, includeOnlyStatuses: UNDER_WAY };
      try {
        return DEPLOYMENTS_ANSWER.parse(await deploy('ListDeployments', body)).deployments;
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
        talk(shell, `Whether a deployment is under way, which could undo this, is unknown: ${error.detail}.`);
        return [];
      }
    },
    stop: (deploymentId: string) => deploy('StopDeployment', { deploymentId, autoRollbackEnabled: true }),
    /** Without weights, so that no other version keeps a part of the calls. */
    moveTo: (FunctionVersion: string, RevisionId: string | undefined) =>
      ask('lambda', 'UpdateAlias', {
        method: 'PUT',
        path: `${path}/aliases/${ALIAS}`,
        body: { FunctionVersion, RoutingConfig: { AdditionalVersionWeights: {} }, RevisionId },
      }),
  };
}

const UNDER_WAY = ['Created', 'Queued', 'InProgress', 'Ready'];

const ALIAS_ANSWER = z.object({
  FunctionVersion: z.string(),
  RevisionId: z.string(),
  RoutingConfig: z.object({ AdditionalVersionWeights: z.record(z.string(), z.number()).nullish() }).nullish(),
});
const VERSIONS_ANSWER = z.object({
  NextMarker: z.string().nullish(),
  Versions: z.array(
    z
      .object({ Version: z.string(), LastModified: z.string(), CodeSha256: z.string() })
      .transform((one) => ({ version: one.Version, published: one.LastModified, code: one.CodeSha256.slice(0, 12) })),
  ),
});
const DEPLOYMENTS_ANSWER = z.object({ deployments: z.array(z.string()).default([]) });

function weightsOf({ RoutingConfig }: Release['alias']): Readonly<Record<string, number>> {
  return RoutingConfig?.AdditionalVersionWeights ?? {};
}

function percentOf(version: string, alias: Release['alias']): number {
  const weights = weightsOf(alias);
  const others = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  return Math.round(100 * (version === alias.FunctionVersion ? 1 - others : (weights[version] ?? 0)));
}

/** While a canary has a part of the calls, the alias itself still names the version before it. */
function targetOf({ versions, alias }: Release, deployments: readonly string[], to: number | undefined): Version {
  const current = Number(alias.FunctionVersion);
  const isShared = deployments.length > 0 || Object.keys(weightsOf(alias)).length > 0;
  if (deployments.length > 0 && to !== undefined && to !== current) {
    throw new CommandFailure(
      'deployment-under-way',
      `The deployment ${deployments.join(', ')} moves the alias`,
      'Stop it first, with release back without --to.',
    );
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
