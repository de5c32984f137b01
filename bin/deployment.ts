import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { Lambda } from '@aws-sdk/client-lambda';
import { isTerminal, isYes } from '../cli/clients/confirm.ts';
import { isRefused, openClient } from '../cli/shared/ask-aws.ts';
import { findingsTable, runHealth, summaryOf } from '../cli/shared/health-run.ts';
import { CommandFailure } from '../client/commands/failure.ts';
import { note } from '../client/commands/output.ts';
import { INTERRUPTED, type Shell } from '../client/commands/shell.ts';
import { causeWord } from '../functions/aws/calls.ts';
import { ALIAS, functionName, healthFunctionName, SETTINGS_VARIABLE, stackName } from '../lib/settings/names.ts';
import type { Environment } from '../lib/settings/settings.ts';

/**
 * Checks the account's quota and the stack, clears a failed first deployment, deploys with `runCdk` and runs health
 * once. Returns the exit code.
 */
export function deploy(shell: Shell, environment: Environment, runCdk: () => Promise<number>): Promise<number> {
  return explained(shell, async () => {
    if (!(await hasConcurrency(shell, environment))) return 1;
    const { status, isProtected } = await readStack(shell, environment);
    const obstacle = obstacleOf(shell, environment, status);
    if (obstacle !== undefined) {
      note(shell, `error: ${obstacle}`);
      return 1;
    }
    const isFirst = status !== undefined && /^$|^ROLLBACK_|^REVIEW_|^CREATE_FAILED$/.test(status);
    if (isProtected && /^ROLLBACK_/.test(`${status}`) && !(await clearFailedCreation(shell, environment))) return 1;
    if (!isFirst && !(await hasProvisionedInstances(shell, environment))) return 2;
    const exitCode = await runCdk();
    if (exitCode === 0) return await proveDeployed(shell, environment, isFirst);
    note(shell, 'What to do now: docs/deploy.md, "When a deployment fails".');
    return exitCode;
  });
}

/** Returns the exit code of `work`, or that of its failure, which it prints. */
export async function explained(shell: Shell, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    note(shell, `error: ${error.message}`);
    note(shell, error.advice);
    return error.type === 'aborted' ? INTERRUPTED : 1;
  }
}

function reservedBy({ reservedConcurrency, healthConcurrency }: Environment): number {
  return [reservedConcurrency, healthConcurrency].reduce<number>((sum, n) => sum + (n === 'none' ? 0 : n), 0);
}

/** Concurrent executions that Lambda keeps for functions without reserved concurrency. */
const UNRESERVED = 100;

/** Returns false for an account in which the deployment would fail half-way, because too few executions are free. */
async function hasConcurrency(shell: Shell, environment: Environment): Promise<boolean> {
  const { name, account, region } = environment;
  const needed = reservedBy(environment);
  if (needed === 0) return true;
  const lambda = openClient((config) => new Lambda(config), 'LAMBDA', shell, { environment: name, region });
  const send = { abortSignal: shell.signal };
  // Before the first deployment there is no function.
  const reservedToday = (FunctionName: string) =>
    lambda.getFunctionConcurrency({ FunctionName }, send).then(
      ({ ReservedConcurrentExecutions = 0 }) => ReservedConcurrentExecutions,
      (error) => (isRefused(error) && error.type === 'aws-not-found' ? 0 : Promise.reject(error)),
    );
  try {
    const { AccountLimit } = await lambda.getAccountSettings({}, send);
    const own = await Promise.all([functionName(name), healthFunctionName(name)].map(reservedToday));
    const free = (AccountLimit?.UnreservedConcurrentExecutions ?? 0) + own.reduce((sum, reserved) => sum + reserved);
    if (free >= UNRESERVED + needed) return true;
    note(
      shell,
      `error: ${name} reserves ${needed} concurrent executions, and Lambda keeps ${UNRESERVED} unreserved, but account ${account} has only ${free} in ${region} that other functions do not reserve: nothing was done. Have the quota L-B99A9384 raised, or set reservedConcurrency and healthConcurrency to 'none'.`,
    );
    return false;
  } catch (error) {
    if (!isRefused(error)) throw error;
    const quota = `The quota L-B99A9384 of at least ${needed + UNRESERVED} free executions was not checked`;
    note(shell, `${quota} (${error.message}): policy --deploy prints the rights for it.`);
    return true;
  }
}

/** Opens CloudFormation in the region of the environment. A missing stack is a type of failure of its own. */
function openCloudFormation(shell: Shell, { name, region }: Environment): CloudFormation {
  const missing = (error: unknown) =>
    causeWord(error) === 'ValidationError' ? new CommandFailure(MISSING, 'There is no stack', 'Deploy.') : undefined;
  const place = { environment: name, region };
  return openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', shell, place, missing);
}

const MISSING = 'stack-missing';

/** Returns the status `''` before the first deployment. The CDK decides about a stack that AWS does not show. */
async function readStack(shell: Shell, environment: Environment) {
  const cloudformation = openCloudFormation(shell, environment);
  const StackName = stackName(environment.name);
  try {
    const { Stacks: [stack] = [] } = await cloudformation.describeStacks({ StackName }, { abortSignal: shell.signal });
    return { status: stack?.StackStatus, isProtected: stack?.EnableTerminationProtection ?? false };
  } catch (error) {
    if (!isRefused(error)) throw error;
    return { status: error.type === MISSING ? '' : undefined, isProtected: false };
  }
}

/** Returns why CloudFormation would refuse a deployment of a stack with this status, and what to do first. */
function obstacleOf({ env }: Shell, { name }: Environment, status = ''): string | undefined {
  // The CDK itself replaces a stack that was never created, and continues after `--no-rollback`.
  if (/^$|_COMPLETE$|^REVIEW_IN_PROGRESS$|^(?:CREATE|ROLLBACK|UPDATE)_FAILED$/.test(status)) return undefined;
  const refused = `${stackName(name)} is in ${status}, in which CloudFormation accepts no deployment: nothing was done.`;
  if (status.endsWith('_IN_PROGRESS')) return `${refused} Wait until that has ended, then deploy again.`;
  const settings = env[SETTINGS_VARIABLE] === undefined ? '' : `, with ${SETTINGS_VARIABLE}=${env[SETTINGS_VARIABLE]}`;
  const run = (verb: string) => `npm run cdk -- ${verb} ${stackName(name)}${settings}`;
  if (status === 'UPDATE_ROLLBACK_FAILED') {
    return `${refused} Finish its rollback first: ${run('rollback')}. Where a resource fails again, add --orphan <logical id>, which the events of the stack name.`;
  }
  return `${refused} Its events say why.${status === 'DELETE_FAILED' ? ` Finish its deletion first: ${run('destroy --exclusively')}.` : ''}`;
}

/**
 * Unprotects the stack that a failed first deployment leaves behind, so that the CDK can replace it. Returns false when
 * the person at the terminal does not agree.
 */
async function clearFailedCreation(shell: Shell, environment: Environment): Promise<boolean> {
  const StackName = stackName(environment.name);
  note(
    shell,
    `The first deployment of ${StackName} failed, and CloudFormation rolled it back. This removes the protection from the stack that is left; then the CDK deletes it and creates it again.`,
  );
  if (isTerminal(shell) && !(await isYes(shell, 'Continue?'))) {
    note(shell, 'Nothing was changed.');
    return false;
  }
  const unprotected = { StackName, EnableTerminationProtection: false };
  await openCloudFormation(shell, environment).updateTerminationProtection(unprotected, { abortSignal: shell.signal });
  return true;
}

/**
 * Returns false if the provisioned instances of the deployed template are gone. CloudFormation then fails to update the
 * alias.
 *
 * @see serverless/serverless#10897
 */
async function hasProvisionedInstances(shell: Shell, environment: Environment): Promise<boolean> {
  const { name, region, canary, provisionedConcurrency: wanted } = environment;
  if (wanted === 0) return true;
  const send = { abortSignal: shell.signal };
  const alias = { FunctionName: functionName(name), Qualifier: ALIAS };
  try {
    const cloudformation = openCloudFormation(shell, environment);
    const { TemplateBody = '' } = await cloudformation.getTemplate({ StackName: stackName(name) }, send);
    const deployed = Number(/"ProvisionedConcurrentExecutions": *(\d+)/.exec(TemplateBody)?.[1] ?? 0);
    if (deployed !== wanted && canary !== 'off') note(shell, `${MIXED} (docs/deploy.md, "Settings").`);
    if (deployed === 0) return true;
    const lambda = openClient((config) => new Lambda(config), 'LAMBDA', shell, { environment: name, region });
    await lambda.getProvisionedConcurrencyConfig(alias, send);
    return true;
  } catch (error) {
    if (!isRefused(error)) throw error;
    if (error.type !== 'aws-not-found') {
      const rights = 'policy --deploy prints the rights for it';
      note(shell, `The provisioned instances were not checked (${error.message}): ${rights}.`);
      return true;
    }
    note(
      shell,
      `error: the provisioned instances of ${name} were deleted by hand, so CloudFormation would fail: nothing was done. Put them back, and deploy again:`,
    );
    const put = `aws lambda put-provisioned-concurrency-config --function-name ${alias.FunctionName} --qualifier ${ALIAS}`;
    note(shell, `${put} --provisioned-concurrent-executions ${wanted} --region ${region}`);
    return false;
  }
}

const MIXED = "provisionedConcurrency changes: deploy that alone, with canary: 'off'";

/** Runs health once. Without a canary, nothing else calls the new version before a caller does. */
async function proveDeployed(shell: Shell, environment: Environment, isFirst: boolean): Promise<number> {
  note(shell, `${stackName(environment.name)} is deployed. Running health once, which takes at most twelve minutes:`);
  const { pairs, faults } = await runHealth(shell, environment);
  if (pairs.length > 0) shell.stdout.write(findingsTable(pairs));
  note(shell, pairs.length > 0 ? summaryOf(pairs) : 'There is no client yet.');
  for (const fault of faults) note(shell, `error: ${fault}`);
  if (faults.length === 0) return 0;
  const back = `, or go back to the previous version (release back --environment ${environment.name})`;
  note(shell, `The version that callers get is faulty: fix it${isFirst ? ', and deploy again' : back}.`);
  return 1;
}
