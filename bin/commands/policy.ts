import { type Command, InvalidArgumentError } from 'commander';
import type { AccessRule } from '../../functions/broker/authorize.ts';
import { parseRoleArn, roleArnFault } from '../../lib/settings/access-rules.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { knownSettings } from './shared/environment.ts';
import { explainFailure } from './shared/failure.ts';
import { printJson, talk } from './shared/output.ts';

/** `policy`: what a caller's own account must allow its role, from the settings alone. */
export function addPolicyCommand(program: Command): void {
  program
    .command('policy')
    .description('Print the identity policy that a role needs to call the broker; offline, without AWS credentials.')
    .argument('<role-arn>', 'the role: arn:aws:iam::<account>:role/<name>', parseRole)
    .option('--json', 'answer in JSON, with the access rules that cover the role')
    .action(async (role: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<{ readonly environment: string; readonly json?: boolean }>();
      await explainFailure(options, async () => {
        const { environment, json } = options;
        const settings = knownSettings(environment, command);
        const policy = identityPolicy(role, settings);
        const rules = rulesOf(role, settings);
        printJson(json ? { role, environment, policy, access_rules: rules } : policy);
        talk(wordsAbout(rules, environment));
      });
    });
}

function parseRole(text: string): string {
  const fault = roleArnFault(text);
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
  return text;
}

/**
 * Both permissions that calling a Function URL takes, on the alias that carries the URL.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
 */
function identityPolicy(role: string, { name, account, region }: Pick<Environment, 'name' | 'account' | 'region'>) {
  const partition = parseRoleArn(role)?.partition ?? 'aws';
  const Resource = `arn:${partition}:lambda:${region}:${account}:function:${functionName(name)}:${ALIAS}`;
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'CallTheFunctionUrl',
        Effect: 'Allow',
        Action: 'lambda:InvokeFunctionUrl',
        Resource,
        Condition: { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } },
      },
      {
        Sid: 'InvokeThroughTheFunctionUrl',
        Effect: 'Allow',
        Action: 'lambda:InvokeFunction',
        Resource,
        Condition: { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } },
      },
    ],
  };
}

/** The rules for a role: matched on its account and name, because a caller arrives without its role's path. */
export function rulesOf(arn: string, { accessRules }: Pick<Environment, 'accessRules'>): readonly AccessRule[] {
  const role = JSON.stringify(parseRoleArn(arn));
  return accessRules.filter((rule) => JSON.stringify(parseRoleArn(rule.role)) === role);
}

function wordsAbout(rules: readonly AccessRule[], environment: string): string {
  if (rules.length === 0) {
    return `No access rule of ${environment} names this role, so the broker would refuse it: add one to lib/environments.ts and deploy.`;
  }
  return `The access rules of ${environment} let it: ${rulesText(rules)}.`;
}

/** What rules allow, in a few words. */
export function rulesText(rules: readonly AccessRule[]): string {
  const list = (names: readonly string[] | 'all') => (names === 'all' ? 'all' : names.join(', '));
  const words = rules.map(
    ({ clients, services, operations }) => `${list(operations)} for ${list(clients)} on ${list(services)}`,
  );
  return words.join('; ');
}
