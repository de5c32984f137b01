import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { Lambda } from '@aws-sdk/client-lambda';
import { isTerminal, isYes } from '../cli/clients/confirm.ts';
import { isDenied, isRefused, openClient } from '../cli/shared/ask-aws.ts';
import { findingsTable, runHealth, summaryOf } from '../cli/shared/health-run.ts';
import { CommandFailure } from '../client/commands/failure.ts';
import { note } from '../client/commands/output.ts';
import { INTERRUPTED, type Shell } from '../client/commands/shell.ts';
import { ALIAS, functionName, healthFunctionName, SETTINGS_VARIABLE, stackName } from '../lib/settings/names.ts';
import type { Environment } from '../lib/settings/settings.ts';

/**
 * Checks the account's quota and the stack, clears a failed first deployment, deploys with `runCdk` and runs health
 * once. Returns the exit code.
 */
export function deploy(shell: Shell, environment: Environment, runCdk: () => Promise<number>): Promise<number> {
  return explained(shell, async () => {
    if (!(await hasConcurrency(shell, environment))) return 1;
    const opened = await openStack(shell, environment);
    if (!isUpdatable(shell, environment, opened.status) || !(await clearFailedCreation(shell, opened))) return 1;
    const isFirst = /^$|^ROLLBACK_|^REVIEW_|^CREATE_FAILED$/.test(opened.status);
    if (!isFirst && !(await hasProvisionedInstances(shell, environment, opened))) return 2;
    const exitCode = await runCdk();
    if (exitCode === 0) return await proveDeployed(shell, environment, isFirst);
    note(shell, shell.signal.aborted ? GOES_ON : 'What to do now: docs/deploy.md, "When a deployment fails".');
    return shell.signal.aborted ? INTERRUPTED : exitCode;
  });
}

const GOES_ON = 'CloudFormation goes on: wait for its end, or run aws cloudformation cancel-update-stack.';

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

/** Concurrent executions that Lambda keeps for functions without reserved concurrency. */
const UNRESERVED = 100;

/** Returns false for an account in which the deployment would fail half-way, because too few executions are free. */
async function hasConcurrency(shell: Shell, environment: Environment): Promise<boolean> {
  const { name, account, region, reservedConcurrency, healthConcurrency } = environment;
  const needed = [reservedConcurrency, healthConcurrency].reduce<number>((sum, n) => sum + (n === 'none' ? 0 : n), 0);
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
    noteUnchecked(shell, `The quota L-B99A9384 of at least ${needed + UNRESERVED} free executions was`, error);
    return true;
  }
}

function noteUnchecked(shell: Shell, subject: string, error: CommandFailure): void {
  const rights = isDenied(error) ? ': policy --deploy prints the rights for it' : '';
  note(shell, `${subject} not checked (${error.message})${rights}.`);
}

type OpenedStack = Awaited<ReturnType<typeof openStack>>;

/** Opens CloudFormation. The status is empty before the first deployment, and `unseen` where AWS does not show it. */
async function openStack(shell: Shell, { name, region }: Environment) {
  const place = { environment: name, region };
  const cloudformation = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', shell, place);
  const [StackName, send] = [stackName(name), { abortSignal: shell.signal }];
  const { Stacks: [stack] = [] } = await cloudformation.describeStacks({ StackName }, send).catch((error) => {
    if (!isRefused(error)) throw error;
    // CloudFormation refuses only a name that no stack has.
    return error.type === 'aws-refused' ? { Stacks: [{ StackStatus: '', EnableTerminationProtection: false }] } : {};
  });
  const { StackStatus: status = 'unseen', EnableTerminationProtection: isProtected } = stack ?? {};
  return { cloudformation, StackName, send, status: `${status}`, isProtected };
}

/** Returns false for a stack whose deployment CloudFormation would refuse, and prints what to do first. */
function isUpdatable(shell: Shell, { name }: Environment, status: string): boolean {
  // The CDK itself replaces a stack that was never created, and continues after `--no-rollback`.
  if (/^$|^unseen$|_COMPLETE$|^REVIEW_IN_PROGRESS$|^(?:CREATE|ROLLBACK|UPDATE)_FAILED$/.test(status)) return true;
  const file = shell.env[SETTINGS_VARIABLE];
  const settings = file === undefined ? '' : ` --settings ${file}`;
  const run = (verb: string) => `npm run cdk -- ${verb} ${stackName(name)}${settings}`;
  const advice: Readonly<Record<string, string>> = {
    UPDATE_ROLLBACK_FAILED: `Finish its rollback first: ${run('rollback')}. Where a resource fails again, add --orphan <logical id>, which the events of the stack name.`,
    DELETE_FAILED: `Finish its deletion first: ${run('destroy --exclusively')}.`,
  };
  const other = status.endsWith('_IN_PROGRESS')
    ? 'Wait until that has ended, then deploy again.'
    : 'Its events say why.';
  const refused = `${stackName(name)} is in ${status}, in which CloudFormation accepts no deployment: nothing was done.`;
  note(shell, `error: ${refused} ${advice[status] ?? other}`);
  return false;
}

/**
 * Unprotects the stack that a failed first deployment leaves behind, so that the CDK can replace it. Returns false when
 * the person at the terminal does not agree.
 */
async function clearFailedCreation(shell: Shell, opened: OpenedStack): Promise<boolean> {
  const { cloudformation, StackName, send, status, isProtected } = opened;
  if (!status.startsWith('ROLLBACK_') || !isProtected) return true;
  note(
    shell,
    `The first deployment of ${StackName} failed, and CloudFormation rolled it back. This removes the protection from the stack that is left; then the CDK deletes it and creates it again.`,
  );
  if (isTerminal(shell) && !(await isYes(shell, 'Continue?'))) {
    note(shell, 'Nothing was changed.');
    return false;
  }
  await cloudformation.updateTerminationProtection({ StackName, EnableTerminationProtection: false }, send);
  return true;
}

/**
 * Returns false if the provisioned instances of the deployed template are gone. CloudFormation then fails to update the
 * alias.
 *
 * @see serverless/serverless#10897
 */
async function hasProvisionedInstances(shell: Shell, environment: Environment, opened: OpenedStack) {
  const { name, region, provisionedConcurrency } = environment;
  const { cloudformation, StackName, send } = opened;
  const lambda = openClient((config) => new Lambda(config), 'LAMBDA', shell, { environment: name, region });
  const FunctionName = functionName(name);
  try {
    const { TemplateBody = '' } = await cloudformation.getTemplate({ StackName }, send);
    const [, deployed = '0'] = /"ProvisionedConcurrentExecutions": *"?(\d+)/.exec(TemplateBody) ?? [];
    if (Number(deployed) !== provisionedConcurrency) {
      const change = `provisionedConcurrency changes from ${deployed} to ${provisionedConcurrency}`;
      note(shell, `${change}: deploy it alone, with canary: 'off'. Together with a new version it may get stuck.`);
    }
    if (deployed === '0' || provisionedConcurrency === 0) return true;
    await lambda.getProvisionedConcurrencyConfig({ FunctionName, Qualifier: ALIAS }, send);
    return true;
  } catch (error) {
    if (!isRefused(error)) throw error;
    if (error.type !== 'aws-not-found') {
      noteUnchecked(shell, 'The provisioned instances were', error);
      return true;
    }
    const gone = `error: the provisioned instances of ${name} were deleted by hand, so CloudFormation would fail`;
    const reserved = await lambda.getFunctionConcurrency({ FunctionName }, send).catch(() => undefined);
    if (reserved?.ReservedConcurrentExecutions === 0) {
      note(shell, `${gone}, and the broker was stopped: nothing was done. ${STOPPED}`);
      return false;
    }
    note(shell, `${gone}: nothing was done. Put them back, and deploy again:`);
    const put = `aws lambda put-provisioned-concurrency-config --function-name ${FunctionName} --qualifier ${ALIAS}`;
    note(shell, `${put} --provisioned-concurrent-executions ${provisionedConcurrency} --region ${region}`);
    return false;
  }
}

/** Lambda provisions no instance of a function without concurrency. */
const STOPPED = 'docs/runbook.md, "Stop the broker", step 3, says how to turn it on, or how to keep it off and deploy.';

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
