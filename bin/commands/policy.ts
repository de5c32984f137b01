import { type Command, InvalidArgumentError } from 'commander';
import type { AccessRule } from '../../functions/broker/authorize.ts';
import { parseRoleArn, roleArnFault } from '../../lib/settings/access-rules.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { knownSettings } from './shared/environment.ts';
import { explainFailure } from './shared/failure.ts';
import { printJson, talk } from './shared/output.ts';

/** `policy`: what a caller's own account must allow its role, and what the broker's account must forbid; from the settings alone. */
export function addPolicyCommand(program: Command): void {
  program
    .command('policy')
    .description('Print the identity policy that a role needs to call the broker; offline, without AWS credentials.')
    .argument('[role-arn]', 'the role: arn:aws:iam::<account>:role/<name>', parseRole)
    .option('--guard', "print the service control policy that keeps the roles of the broker's account to its URL")
    .option('--break-glass <role-arn>', 'with --guard: the role that may still invoke the function itself', parseRole)
    .option('--json', 'answer in JSON, with the access rules that cover the role')
    .action(async (role: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<PolicyOptions>();
      const { environment, json, guard, breakGlass } = options;
      if (breakGlass !== undefined && !guard) command.error('error: --break-glass is an exception to --guard');
      await explainFailure(options, async () => {
        if (guard) {
          if (role !== undefined) command.error('error: --guard is about every role: name none');
          const settings = knownSettings(environment, command);
          const policy = guardPolicy(settings, breakGlass);
          printJson(json ? { environment, account: settings.account, policy } : policy);
          talk(guardWords(settings));
          return;
        }
        if (role === undefined) return command.error("error: missing required argument 'role-arn'");
        const settings = knownSettings(environment, command);
        const policy = identityPolicy(role, settings);
        const rules = rulesOf(role, settings);
        printJson(json ? { role, environment, policy, access_rules: rules } : policy);
        talk(wordsAbout(rules, environment));
      });
    });
}

interface PolicyOptions {
  readonly environment: string;
  readonly json?: boolean;
  readonly guard?: boolean;
  readonly breakGlass?: string;
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
function identityPolicy(role: string, place: Place) {
  const Resource = `${functionArn(place, parseRoleArn(role)?.partition)}:${ALIAS}`;
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

/**
 * Forbids every role of the broker's account to invoke the function except through its URL, where AWS itself says who
 * calls; a direct event can claim any caller. A request that does not say how it came is a direct one.
 *
 * @see https://docs.aws.amazon.com/organizations/latest/userguide/orgs_manage_policies_scps.html
 */
function guardPolicy(place: Place, breakGlass: string | undefined) {
  const arn = functionArn(place);
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'InvokeOnlyThroughTheFunctionUrl',
        Effect: 'Deny',
        Action: ['lambda:InvokeFunction', 'lambda:InvokeAsync'],
        Resource: [arn, `${arn}:*`],
        Condition: {
          BoolIfExists: { 'lambda:InvokedViaFunctionUrl': 'false' },
          ...(breakGlass !== undefined && { ArnNotEquals: { 'aws:PrincipalArn': breakGlass } }),
        },
      },
    ],
  };
}

type Place = Pick<Environment, 'name' | 'account' | 'region'>;

function functionArn({ name, account, region }: Place, partition = partitionOf(region)): string {
  return `arn:${partition}:lambda:${region}:${account}:function:${functionName(name)}`;
}

function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn';
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
}

function guardWords({ account }: Place): string {
  return `Attach it to the account ${account} as a service control policy, from the management account of the organization: docs/operations.md, "Guard the function". It does not bind the management account itself.`;
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
