import type { Command } from 'commander';
import { printJson, talk } from '../../client/commands/output.ts';
import { addPolicyCommand, parseRole } from '../../client/commands/policy.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { parseRoleArn } from '../../lib/settings/access-rules.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import { ALIAS, functionName, partitionOf } from '../../lib/settings/names.ts';
import { OWN_POLICIES, ownPolicy } from './own-policies.ts';
import { knownSettings, settingsOf } from './shared/environment.ts';

/** The `policy` of the client package, with the settings' function and access rules, and the account's own denials. */
export function addOperatorPolicyCommand(program: Command, shell: Shell): void {
  const policy = addPolicyCommand(program, shell, {
    functionArn(environment, of, command) {
      return `${functionArn(knownSettings(environment, command), of)}:${ALIAS}`;
    },
    rulesOf(arn, environment) {
      // Matched on account and name, because a caller arrives without its role's path.
      const role = JSON.stringify(parseRoleArn(arn));
      const { accessRules = [] } = settingsOf(environment) ?? {};
      return accessRules.filter((rule) => JSON.stringify(parseRoleArn(rule.role)) === role);
    },
    withoutRole(command) {
      const options = command.optsWithGlobals<GuardOptions>();
      const { environment, guard, breakGlass, json } = options;
      const kind = KINDS.find((one) => options[one]);
      if (kind !== undefined) return printJson(shell, ownPolicy(kind, knownSettings(environment, command)));
      if (!guard) command.error("error: missing required argument 'role-arn'");
      const settings = knownSettings(environment, command);
      const { account } = settings;
      const guardedBy = guardPolicy(settings, breakGlass);
      printJson(shell, json ? { environment, account, policy: guardedBy } : guardedBy);
      const page = 'docs/operations.md, "Guard the function". It does not bind the management account itself.';
      const from = 'as a service control policy, from the management account of the organization';
      talk(shell, `Attach it to the account ${account} ${from}: ${page}`);
    },
  })
    .option('--guard', "print the service control policy that keeps the roles of the broker's account to its URL")
    .option('--break-glass <role-arn>', 'with --guard: the role that may still invoke the function itself', parseRole);
  for (const kind of KINDS) policy.option(`--${kind}`, `print the policy ${OWN_POLICIES[kind].text}`);
  policy.hook('preAction', (command) => {
    const options = command.opts<GuardOptions>();
    const chosen = [...KINDS, 'guard' as const].filter((kind) => options[kind]);
    if (chosen.length + command.args.length > 1) {
      command.error(
        'error: a role, --deploy, --execution, --operator, --emergency and --guard: name one of them alone',
      );
    }
    if (options.breakGlass !== undefined && !options.guard) {
      command.error('error: --break-glass is an exception to --guard');
    }
  });
}

const KINDS = ['deploy', 'execution', 'operator', 'emergency'] as const;

interface GuardOptions extends Readonly<Partial<Record<(typeof KINDS)[number], boolean>>> {
  readonly environment: string;
  readonly guard?: boolean;
  readonly breakGlass?: string;
  readonly json?: boolean;
}

/**
 * Forbids every role of the broker's account to invoke the function except through its URL, where AWS itself says who
 * calls; a direct event can claim any caller. A request that does not say how it came is a direct one.
 *
 * @see https://docs.aws.amazon.com/organizations/latest/userguide/orgs_manage_policies_scps.html
 */
function guardPolicy(environment: Environment, breakGlass: string | undefined) {
  const arn = functionArn(environment);
  const condition = {
    BoolIfExists: { 'lambda:InvokedViaFunctionUrl': 'false' },
    ...(breakGlass !== undefined && { ArnNotEquals: { 'aws:PrincipalArn': breakGlass } }),
  };
  const Action = ['lambda:InvokeFunction', 'lambda:InvokeAsync'];
  const guard = { Sid: 'InvokeOnlyThroughTheFunctionUrl', Effect: 'Deny', Action, Resource: [arn, `${arn}:*`] };
  return { Version: '2012-10-17', Statement: [{ ...guard, Condition: condition }] };
}

function functionArn({ name, account, region }: Environment, of = partitionOf(region)): string {
  return `arn:${of}:lambda:${region}:${account}:function:${functionName(name)}`;
}
