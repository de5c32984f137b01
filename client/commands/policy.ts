import { type Command, InvalidArgumentError } from 'commander';
import { roleArnFault } from '../../functions/vocabulary.ts';
import { type CallerRule, ruleText } from '../index.ts';
import { explainFailure } from './failure.ts';
import { type CallerOptions, parseFunctionArn } from './options.ts';
import { note, printJson } from './output.ts';
import type { Shell } from './shell.ts';

/** The settings of an environment, for a command line that has them. */
export interface SettingsView {
  /** Returns the broker's function with its alias. */
  readonly functionArn: (environment: string, command: Command) => string;
  readonly rulesOf: (role: string, environment: string) => readonly CallerRule[];
  /** Runs in place of the command when no role is named. */
  readonly withoutRole: (command: Command) => void;
}

/** Adds `policy`, which prints the policy that a caller's role needs in its own account. Sends nothing. */
export function addPolicyCommand(program: Command, shell: Shell, settings?: SettingsView): Command {
  return program
    .command('policy')
    .description('Print the identity policy that a role needs to call the broker; offline, without AWS credentials.')
    .argument(settings ? '[role-arn]' : '<role-arn>', 'the role: arn:aws:iam::<account>:role/<name>', parseRole)
    .option('--function-arn <arn>', "the broker's function with its alias, as its operators know it", parseFunctionArn)
    .option('--json', settings ? 'answer in JSON, with the access rules that cover the role' : 'answer in JSON')
    .action(async (role: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CallerOptions & { readonly functionArn?: string }>();
      await explainFailure(shell, options, async () => {
        if (role === undefined) return settings?.withoutRole(command);
        const { environment = '', json, functionArn } = options;
        const view = functionArn === undefined ? settings : undefined;
        const Resource = functionArn ?? view?.functionArn(environment, command);
        if (Resource === undefined) return command.error('error: which function? Give --function-arn');
        const policy = identityPolicy(Resource);
        const rules = view?.rulesOf(role, environment);
        printJson(shell, json ? { role, environment: view && environment, policy, access_rules: rules } : policy);
        const without = 'An access rule must name the role, too: whoami shows its rules.';
        note(shell, rules ? wordsAbout(rules, environment) : without);
      });
    });
}

export function parseRole(text: string): string {
  const fault = roleArnFault(text);
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
  return text;
}

/**
 * Returns the two permissions that a call of a Function URL requires, on the alias that carries the URL.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
 */
export function identityPolicy(Resource: string) {
  const allow = (Sid: string, Action: string, Condition: object) => {
    return { Sid, Effect: 'Allow', Action, Resource, Condition };
  };
  const call = { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } };
  const invoke = { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } };
  return {
    Version: '2012-10-17',
    Statement: [
      allow('CallTheFunctionUrl', 'lambda:InvokeFunctionUrl', call),
      allow('InvokeThroughTheFunctionUrl', 'lambda:InvokeFunction', invoke),
    ],
  };
}

function wordsAbout(rules: readonly CallerRule[], environment: string): string {
  const none = `No access rule of ${environment} names this role, so the broker would refuse it`;
  if (rules.length === 0) return `${none}: add one to the settings of the broker and deploy.`;
  return `The access rules of ${environment} allow it: ${rules.map(ruleText).join('; ')}.`;
}
