import { CodeDeploy, type DeploymentStatus } from '@aws-sdk/client-codedeploy';
import { type FunctionConfiguration, Lambda, paginateListVersionsByFunction } from '@aws-sdk/client-lambda';
import type { Command } from 'commander';
import { CommandFailure } from '../client/commands/failure.ts';
import { parseWhole } from '../client/commands/options.ts';
import { note, timeText } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import { causeWord } from '../functions/aws/calls.ts';
import { ALIAS, functionName } from '../lib/settings/names.ts';
import type { Environment } from '../lib/settings/settings.ts';
import { addChangeOptions, type ChangeOptions, isConfirmed } from './clients/confirm.ts';
import { isRefused, openClient } from './shared/ask-aws.ts';
import { answer, operate } from './shared/operate.ts';
import { knownSettings } from './shared/settings.ts';
import { tableText } from './shared/table.ts';

/** Adds `release list` and `release back`, which list the token function's versions and go back to a version. */
export function addReleaseCommands(program: Command, shell: Shell): void {
  const parent = program
    .command('release')
    .description('List the versions of the token function, and go back to an earlier version.');

  const list = parent
    .command('list')
    .description('List the versions, newest first, and their share of the calls.')
    .option('--json', 'answer in JSON');
  operate(list, shell, [], async (options) => {
    const release = await openReleases(shell, knownSettings(options.environment, list)).read();
    const shown = release.versions.map((version) => ({ ...version, percent: percentOf(version.version, release) }));
    const rows = shown.map(({ version, published, code, percent }) => {
      return [version, published, code, percent ? `${percent} %` : '-'];
    });
    const table = tableText(['VERSION', 'PUBLISHED', 'CODE', 'CALLS'], rows, shell);
    answer(shell, options, { versions: shown }, table);
  });

  const back = addChangeOptions(parent.command('back'))
    .description('Send all calls to an earlier version at once; stops a deployment that is under way.')
    .option('--to <version>', 'to this version (default: the previous version)', parseWhole('numbers', 1, 99_999))
    .option('--json', 'answer in JSON');
  operate<ChangeOptions & { readonly to?: number }>(back, shell, [], async (options) => {
    const settings = knownSettings(options.environment, back);
    const releases = openReleases(shell, settings);
    const release = await releases.read();
    const deployments = settings.canary === 'off' ? [] : await releases.deployments();
    const { version, published, code } = targetOf(release, deployments, options.to);
    const changes = [
      ...deployments.map((id) => `stops the deployment ${id}, which CloudFormation then rolls back`),
      `sends all calls to version ${version} (${published}, code ${code}), whose access rules and settings then apply again`,
      ...(Object.values(settings.services).some(({ clientHeaders }) => clientHeaders.length > 0) ? [NO_HEADERS] : []),
    ];
    if (!(await isConfirmed(shell, changes, options, back))) return;
    for (const id of deployments) await releases.stop(id);
    await releases.moveTo(version, deployments.length === 0 ? release.alias.RevisionId : undefined);
    answer(shell, options, { version, stopped: deployments }, `${ALIAS}: version ${version}\n`);
    if (deployments.length === 0 && settings.canary !== 'off') note(shell, beforeTheNext(version));
  });
}

const NO_HEADERS =
  'a version of 1.1.0 sends no clientHeaders: a service that needs them may reject the credentials of all its clients';

const beforeTheNext = (version: string) =>
  `Deploy the repair in this order: 1. deploy it with canary: 'off', because CodeDeploy refuses an alias that was moved after the last deployment; 2. read the result of the health run at its end (if it failed: release back --to ${version}); 3. set the canary again and deploy once more. See docs/runbook.md, "Go back to an earlier version".`;

type Release = Awaited<ReturnType<ReturnType<typeof openReleases>['read']>>;

/** Opens the token function's releases. */
function openReleases(shell: Shell, { name: environment, region }: Environment) {
  const lambda = openClient((config) => new Lambda(config), 'LAMBDA', shell, { environment, region }, aliasMoved);
  const codedeploy = openClient((config) => new CodeDeploy(config), 'CODEDEPLOY', shell, { environment, region });
  const FunctionName = functionName(environment);
  const send = { abortSignal: shell.signal };
  return {
    /** Reads the alias and all versions, newest first. */
    async read() {
      const alias = await lambda.getAlias({ FunctionName, Name: ALIAS }, send);
      const versions: ReturnType<typeof readVersion>[] = [];
      for await (const page of paginateListVersionsByFunction({ client: lambda }, { FunctionName }, send)) {
        versions.push(...(page.Versions ?? []).map(readVersion).filter(({ version }) => version !== '$LATEST'));
      }
      versions.sort((a, b) => Number(b.version) - Number(a.version));
      return { alias, weights: alias.RoutingConfig?.AdditionalVersionWeights ?? {}, versions };
    },
    /** Lists the deployments under way. Without CodeDeploy's answer the list is empty: going back must not need it. */
    async deployments(): Promise<readonly string[]> {
      const includeOnlyStatuses: DeploymentStatus[] = ['Created', 'Queued', 'InProgress', 'Ready'];
      const group = { applicationName: FunctionName, deploymentGroupName: FunctionName, includeOnlyStatuses };
      try {
        return (await codedeploy.listDeployments(group, send)).deployments ?? [];
      } catch (error) {
        if (!isRefused(error)) throw error;
        note(shell, `Whether a deployment is under way, which could undo this, is unknown: ${error.detail}.`);
        return [];
      }
    },
    stop: (deploymentId: string) => codedeploy.stopDeployment({ deploymentId, autoRollbackEnabled: true }, send),
    /** Removes the weights too, so that no other version keeps a part of the calls. */
    async moveTo(FunctionVersion: string, RevisionId: string | undefined): Promise<void> {
      const RoutingConfig = { AdditionalVersionWeights: {} };
      const change = { FunctionName, Name: ALIAS, FunctionVersion, RoutingConfig, RevisionId };
      await lambda.updateAlias(change, send).catch(async (error: unknown) => {
        // If the answer was lost, the alias is moved, and AWS refuses the SDK's second attempt.
        const { alias, weights } = await this.read();
        if (alias.FunctionVersion !== FunctionVersion || Object.keys(weights).length > 0) throw error;
      });
    },
  };
}

/** Explains that the alias is no longer as it was read. */
function aliasMoved(error: unknown): CommandFailure | undefined {
  if (causeWord(error) !== 'PreconditionFailedException') return undefined;
  const detail = 'Another operator or a deployment has moved the alias in the meantime';
  return new CommandFailure('alias-moved', detail, 'See release list, then decide again.');
}

/** Reads a version. `code` is the beginning of the digest of code and settings. */
function readVersion({ Version: version = '', LastModified = '', CodeSha256 = '' }: FunctionConfiguration) {
  return { version, published: timeText(Date.parse(LastModified)), code: CodeSha256.slice(0, 12) };
}

function percentOf(version: string, { alias, weights }: Release): number {
  const others = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  return Math.round(100 * (version === alias.FunctionVersion ? 1 - others : (weights[version] ?? 0)));
}

/**
 * Chooses the version to go back to. During a canary, the alias still names the previous version. An alias below the
 * newest version was moved back before, so the version before it is no default.
 */
function targetOf({ alias, versions, weights }: Release, deployments: readonly string[], to: number | undefined) {
  const current = Number(alias.FunctionVersion);
  const isShared = deployments.length > 0 || Object.keys(weights).length > 0;
  if (deployments.length > 0 && to !== undefined && to !== current) {
    const detail = `The deployment ${deployments.join(', ')} moves the alias`;
    throw new CommandFailure('deployment-under-way', detail, 'Stop it first, with release back without --to.');
  }
  if (to === undefined && !isShared && Number(versions[0]?.version) > current) {
    const detail = `The alias is at version ${current} already, and version ${versions[0]?.version} exists`;
    throw new CommandFailure('version-ambiguous', detail, 'See release list, then name the version with --to.');
  }
  const target = versions.find(({ version }) =>
    to === undefined ? Number(version) < current || (isShared && Number(version) === current) : Number(version) === to,
  );
  if (target !== undefined) return target;
  throw new CommandFailure(
    'version-missing',
    to === undefined ? `There is no version before ${current}` : `There is no version ${to}`,
    'See release list; without an earlier version, deploy the previous code, or stop the broker.',
  );
}
