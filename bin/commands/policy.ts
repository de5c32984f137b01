import type { Command } from 'commander';
import { addPolicyCommand } from '../../client/commands/policy.ts';
import { parseRoleArn } from '../../lib/settings/access-rules.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { knownSettings, settingsOf } from './shared/environment.ts';

/** `policy` as the client package has it, with what the settings say of the function and the access rules. */
export function addOperatorPolicyCommand(program: Command): void {
  addPolicyCommand(program, {
    functionArn(environment, partition, command) {
      const { name, account, region } = knownSettings(environment, command);
      return `arn:${partition}:lambda:${region}:${account}:function:${functionName(name)}:${ALIAS}`;
    },
    rulesOf(arn, environment) {
      // Matched on account and name, because a caller arrives without its role's path.
      const role = JSON.stringify(parseRoleArn(arn));
      const { accessRules = [] } = settingsOf(environment) ?? {};
      return accessRules.filter((rule) => JSON.stringify(parseRoleArn(rule.role)) === role);
    },
  });
}
