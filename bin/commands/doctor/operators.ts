import { IAMClient, paginateListRoles, SimulatePrincipalPolicyCommand } from '@aws-sdk/client-iam';
import { aborted } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { type DoctorStep, failed, ok, unknown } from '../../../client/commands/step.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { ALIAS, functionName, topicName } from '../../../lib/settings/names.ts';
import { queryService } from '../shared/ask-aws.ts';
import { mapConcurrently } from '../shared/checks.ts';
import { awsConfig } from '../shared/environment.ts';
import { arn } from '../shared/statements.ts';

/** Whether alarms and messages reach an operator: whether any subscription of the topic is confirmed. */
export async function examineSubscriptions(
  query: ReturnType<typeof queryService>,
  environment: Environment,
  step: string,
): Promise<DoctorStep> {
  const TopicArn = arn(environment, 'sns', topicName(environment.name));
  const xml = await query('sns', 'GetTopicAttributes', { TopicArn });
  const confirmed = /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(xml)?.[1] ?? '0';
  const detail = `Confirmed subscriptions of ${TopicArn}: ${confirmed}`;
  return confirmed === '0' ? failed(step, 'operators-unreachable', detail) : ok(step, detail);
}

/** As `examineSubscriptions`, also for an identity that may not look. */
export async function examineOperators(shell: Shell, environment: Environment): Promise<DoctorStep> {
  const step = 'operators';
  const look = examineSubscriptions(queryService(shell, environment.region), environment, step);
  return (await toldBy(look, shell)) ?? unknown(step, 'You cannot look at the topic (sns:GetTopicAttributes)');
}

/**
 * Which roles of the broker's account may invoke the function past its URL, and so claim to be any caller: as far as AWS's
 * simulation says, which knows a role's own policies and its boundary, but no service control policy with a condition.
 */
export async function examineDirectInvocation(shell: Shell, environment: Environment): Promise<DoctorStep> {
  const step = 'direct-invoke';
  const { name, account } = environment;
  const iam = new IAMClient(awsConfig(shell, { environment: name }, 'IAM'));
  const roles = await toldBy(listRoles(iam, shell.signal), shell);
  // The credentials may be those of another account.
  if (roles === undefined || roles.some((role) => !role.startsWith(arn(environment, 'iam', 'role/', '')))) {
    return unknown(step, `You cannot list the roles of account ${account} (iam:ListRoles)`);
  }
  const functionArn = arn(environment, 'lambda', `function:${functionName(name)}`);
  const others = roles.filter((role) => !role.includes(':role/aws-service-role/'));
  const answers = await mapConcurrently(others, async (role) => {
    return { role, may: await toldBy(mayInvoke(iam, role, functionArn, shell.signal), shell) };
  });
  const rolesThat = (may: boolean | undefined) => answers.filter((one) => one.may === may).map(({ role }) => role);
  const [able, untold] = [rolesThat(true), rolesThat(undefined)];
  if (able.length > 0) return unknown(step, `Unless the guard is attached, these may: ${able.join(', ')}`);
  if (untold.length > 0) {
    return unknown(step, `AWS tells nothing of ${untold.length} roles (iam:SimulatePrincipalPolicy)`);
  }
  return ok(step, `None of the ${others.length} roles of account ${account} may invoke the function past its URL`);
}

async function listRoles(client: IAMClient, abortSignal: AbortSignal): Promise<readonly string[]> {
  const roles: string[] = [];
  for await (const { Roles = [] } of paginateListRoles({ client, pageSize: 1_000 }, {}, { abortSignal })) {
    roles.push(...Roles.flatMap(({ Arn }) => Arn ?? []));
  }
  return roles;
}

/** `undefined` when the simulation decided nothing. */
async function mayInvoke(iam: IAMClient, role: string, functionArn: string, abortSignal: AbortSignal) {
  const simulation = new SimulatePrincipalPolicyCommand({
    PolicySourceArn: role,
    ActionNames: ['lambda:InvokeFunction'],
    ResourceArns: [functionArn, `${functionArn}:${ALIAS}`],
    ContextEntries: [
      { ContextKeyName: 'lambda:InvokedViaFunctionUrl', ContextKeyType: 'boolean', ContextKeyValues: ['false'] },
    ],
  });
  const { EvaluationResults: results = [] } = await iam.send(simulation, { abortSignal });
  if (results.length === 0) return undefined;
  return results.some(({ EvalDecision }) => EvalDecision === 'allowed');
}

/** AWS's answer; `undefined` when it gives none. @throws CommandFailure `aborted` */
async function toldBy<Answer>(answer: Promise<Answer>, { signal }: Shell): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch {
    if (signal.aborted) throw aborted();
    return undefined;
  }
}
