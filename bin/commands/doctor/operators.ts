import { askAws, findCredentials } from '../../../client/commands/identity.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { failed, ok, type Step, unknown } from '../../../client/commands/step.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { topicName } from '../../../lib/settings/names.ts';
import { arn } from '../own-policies.ts';

/** Whether alarms and messages reach an operator: whether any subscription of the topic is confirmed. */
export async function examineOperators(
  shell: Shell,
  environment: Pick<Environment, 'name' | 'account' | 'region'>,
): Promise<Step> {
  const step = 'operators';
  const { name, region } = environment;
  const { credentials } = await findCredentials(shell);
  if (credentials === undefined) return unknown(step, 'There are no AWS credentials');
  const TopicArn = arn(environment, 'sns', topicName(name));
  const body = `${new URLSearchParams({ Action: 'GetTopicAttributes', TopicArn, Version: '2010-03-31' })}`;
  const { text, word } = await askAws(shell, { service: 'sns', region, credentials, body });
  const confirmed = /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(text)?.[1];
  if (confirmed === undefined) return unknown(step, `You cannot look at the topic (sns:GetTopicAttributes, ${word})`);
  const detail = `Confirmed subscriptions of ${TopicArn}: ${confirmed}`;
  return Number(confirmed) > 0 ? ok(step, detail) : failed(step, 'operators-unreachable', detail);
}
