import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { Lambda } from '@aws-sdk/client-lambda';
import { isTerminal, isYes } from '../cli/clients/confirm.ts';
import { isRefused, openClient } from '../cli/shared/ask-aws.ts';
import { findingsTable, runHealth, summaryOf } from '../cli/shared/health-run.ts';
import { CommandFailure } from '../client/commands/failure.ts';
import { note } from '../client/commands/output.ts';
import { INTERRUPTED, type Shell } from '../client/commands/shell.ts';
import { functionName, healthFunctionName, stackName } from '../lib/settings/names.ts';
import type { Environment } from '../lib/settings/settings.ts';

/**
 * Checks the account's quota, clears a failed first deployment, deploys with `runCdk` and runs health once. Returns the
 * exit code.
 */
export async function deploy(shell: Shell, environment: Environment, runCdk: () => Promise<number>): Promise<number> {
  try {
    if (!(await hasConcurrency(shell, environment))) return 1;
    if (!(await clearFailedCreation(shell, environment))) return 1;
    const exitCode = await runCdk();
    if (exitCode === 0) return await proveDeployed(shell, environment);
    note(shell, 'What to do now: docs/deploy.md, "When a deployment fails".');
    return exitCode;
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

/**
 * Unprotects the empty stack that a failed first deployment leaves behind, so that the CDK can replace it. Returns
 * false when the person at the terminal does not agree. A stack that cannot be read is left to the CDK.
 */
async function clearFailedCreation(shell: Shell, { name, region }: Environment): Promise<boolean> {
  const place = { environment: name, region };
  const cloudformation = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', shell, place);
  const StackName = stackName(name);
  const send = { abortSignal: shell.signal };
  const { Stacks: [stack] = [] } = await cloudformation.describeStacks({ StackName }, send).catch((error) => {
    if (!isRefused(error)) throw error;
    return { Stacks: [] };
  });
  if (stack?.StackStatus !== 'ROLLBACK_COMPLETE' || !stack.EnableTerminationProtection) return true;
  note(
    shell,
    `The first deployment of ${StackName} failed, and CloudFormation rolled everything back. This removes the protection from the empty stack that is left; then the CDK deletes it and creates it again.`,
  );
  if (isTerminal(shell) && !(await isYes(shell, 'Continue?'))) {
    note(shell, 'Nothing was changed.');
    return false;
  }
  await cloudformation.updateTerminationProtection({ StackName, EnableTerminationProtection: false }, send);
  return true;
}

/** Runs health once. Without a canary, nothing else calls the new version before a caller does. */
async function proveDeployed(shell: Shell, environment: Environment): Promise<number> {
  note(shell, `${stackName(environment.name)} is deployed. Running health once, which takes at most twelve minutes:`);
  const { pairs, faults } = await runHealth(shell, environment);
  if (pairs.length > 0) shell.stdout.write(findingsTable(pairs));
  note(shell, pairs.length > 0 ? summaryOf(pairs) : 'There is no client yet.');
  for (const fault of faults) note(shell, `error: ${fault}`);
  if (faults.length === 0) return 0;
  note(
    shell,
    `The version that callers get is faulty: fix it, or go back to the previous version (release back --environment ${environment.name}).`,
  );
  return 1;
}
