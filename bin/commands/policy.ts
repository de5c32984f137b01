import { type Command, InvalidArgumentError } from 'commander';
import type { AccessRule } from '../../functions/broker/authorize.ts';
import { parseRoleArn, roleArnFault } from '../../lib/settings/access-rules.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { OWN_POLICIES, ownPolicy } from './own-policies.ts';
import { knownSettings } from './shared/environment.ts';
import { explainFailure } from './shared/failure.ts';
import { printJson, talk } from './shared/output.ts';

/** `policy`: what a caller's own account must allow its role, from the settings alone. */
export function addPolicyCommand(program: Command): void {
  program
    .command('policy')
    .description(
      'Print the identity policy that a role needs to call the broker, or another one of its environment; offline, without AWS credentials.',
    )
    .argument('[role-arn]', 'the role: arn:aws:iam::<account>:role/<name>', parseRole)
    .option('--deploy', `the policy ${OWN_POLICIES.deploy}`)
    .option('--execution', `the policy ${OWN_POLICIES.execution}`)
    .option('--operator', `the policy ${OWN_POLICIES.operator}`)
    .option('--break-glass', `the policy ${OWN_POLICIES.breakGlass}`)
    .option('--json', 'answer in JSON, with the access rules that cover the role')
    .action(async (role: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const kinds = KINDS.filter((kind) => options[kind]);
      const [kind] = kinds;
      if (kinds.length + (role === undefined ? 0 : 1) !== 1) {
        command.error(
          'error: name the role that calls the broker, or one of the options --deploy, --execution, --operator, --break-glass',
        );
      }
      await explainFailure(options, async () => {
        const { environment, json } = options;
        const settings = knownSettings(environment, command);
        if (kind !== undefined) return printJson(ownPolicy(kind, settings));
        if (role === undefined) return;
        const policy = identityPolicy(role, settings);
        const rules = rulesOf(role, settings);
        printJson(json ? { role, environment, policy, access_rules: rules } : policy);
        talk(wordsAbout(rules, environment));
      });
    });
}

interface Options extends Readonly<Partial<Record<keyof typeof OWN_POLICIES, boolean>>> {
  readonly environment: string;
  readonly json?: boolean;
}

const KINDS = [
  'deploy',
  'execution',
  'operator',
  'breakGlass',
] as const satisfies readonly (keyof typeof OWN_POLICIES)[];

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
