import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { note, printJson } from '../client/commands/output.ts';
import { addPolicyCommand, parseRole } from '../client/commands/policy.ts';
import type { Shell } from '../client/commands/shell.ts';
import { NAME_PATTERN } from '../functions/vocabulary.ts';
import { parseRoleArn } from '../lib/settings/access-rules.ts';
import type { Environment } from '../lib/settings/settings.ts';
import { BOUNDARY, DEFAULT_QUALIFIER, QUALIFIER } from '../lib/settings/settings-file.ts';
import { MAX_CHARACTERS, OWN_POLICIES, ownPolicies } from './policy/own-policies.ts';
import { arn, type Bootstrap, resourcesOf } from './policy/statements.ts';
import { knownSettings, settingsFile, settingsOf } from './shared/settings.ts';

/** Adds the client package's `policy` with the settings' access rules, the roles' own policies and the guard. */
export function addOperatorPolicyCommand(program: Command, shell: Shell): void {
  const policy = addPolicyCommand(program, shell, {
    functionArn: (environment, command) => resourcesOf(knownSettings(environment, command)).alias,
    rulesOf(arn, environment) {
      // Compares account and name, because AWS reports a caller without its role's path.
      const role = JSON.stringify(parseRoleArn(arn));
      const { accessRules = [] } = settingsOf(environment) ?? {};
      return accessRules.filter((rule) => JSON.stringify(parseRoleArn(rule.role)) === role);
    },
    withoutRole(command) {
      const options = command.optsWithGlobals<ChosenOptions>();
      const { environment, guard, breakGlass, deployTrust, clients, json } = options;
      const kind = KINDS.find((kind) => options[kind]);
      if (kind === undefined && deployTrust === undefined && !guard) {
        return command.error("error: missing required argument 'role-arn'");
      }
      const settings = knownSettings(environment, command);
      if (kind !== undefined) return printOwnPolicies(shell, kind, settings, bootstrapOf(settings), clients);
      if (deployTrust !== undefined) return printJson(shell, deployTrustPolicy(settings, deployTrust));
      const { account } = settings;
      const guardedBy = guardPolicy(settings, breakGlass);
      printJson(shell, json ? { environment, account, policy: guardedBy } : guardedBy);
      const page = 'docs/deploy.md, "Guard the function". It does not bind the management account itself.';
      const from = 'as a service control policy, from the management account of the organization';
      note(shell, `Attach it to the account ${account} ${from}: ${page}`);
    },
  });
  for (const [kind, [, text]] of Object.entries(OWN_POLICIES)) {
    const flag = `--${kind.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
    policy.option(flag, `print the policy ${text}`);
  }
  const trust = "print the trust policy that lets GitHub's workflow of this environment assume the role that deploys";
  policy
    .option('--deploy-trust <owner/repository>', trust, parseRepository)
    .option('--clients <names>', 'with --operator: only these clients, such as acme,retail-*', parseClients)
    .option('--guard', "print the service control policy that keeps the roles of the broker's account to its URL")
    .option('--break-glass <role-arn>', 'with --guard: the role that may still invoke the function itself', parseRole)
    .hook('preAction', (command) => {
      const options = command.opts<ChosenOptions>();
      const choices = command.options.filter((option) => CHOICES.some((choice) => choice === option.attributeName()));
      if (CHOICES.filter((choice) => options[choice]).length + command.args.length > 1) {
        command.error(`error: a role, ${choices.map(({ long }) => long).join(', ')}: name only one of them`);
      }
      if (options.breakGlass !== undefined && !options.guard) {
        command.error('error: --break-glass is an exception to --guard');
      }
      if (options.clients !== undefined && !options.operator) command.error('error: --clients narrows --operator');
    });
}

type Kind = keyof typeof OWN_POLICIES;
const KINDS = Object.keys(OWN_POLICIES) as Kind[];
const CHOICES = [...KINDS, 'deployTrust', 'guard'] as const;

interface ChosenOptions extends Readonly<Partial<Record<Kind, boolean>>> {
  readonly environment: string;
  readonly deployTrust?: string;
  readonly guard?: boolean;
  readonly breakGlass?: string;
  readonly clients?: readonly string[];
  readonly json?: boolean;
}

/** Prints the policy of a role of the environment, as two policies where it is too long, and its limits. */
export function printOwnPolicies(
  shell: Pick<Shell, 'stdout' | 'stderr'>,
  kind: Kind,
  settings: Environment,
  bootstrap: Bootstrap,
  clients?: readonly string[],
): void {
  const policies = ownPolicies(kind, settings, bootstrap, clients);
  const [policy = {}] = policies;
  printJson(shell, policies.length > 1 ? { policies } : policy);
  if (policies.length > 1) {
    const room = `a managed policy has at most ${MAX_CHARACTERS} characters`;
    note(shell, `These are ${policies.length} policies, because ${room}: store each, and attach all to the role.`);
  }
  const page = 'docs/deploy.md, "Who deploys"';
  if (kind.startsWith('boundary')) note(shell, `Store it, or change your own, before npm run bootstrap (${page}).`);
  if (kind !== 'execution') return;
  note(
    shell,
    bootstrap.boundary === undefined
      ? `The settings require no permissions boundary: a role with this policy is an administrator in two steps (${page}).`
      : `It creates no role without the required permissions boundary, ${bootstrap.boundary}.`,
  );
}

/**
 * Returns the qualifier of the bootstrap, and the permissions boundary of every role of the stack, if the organisation
 * or `cdk.json` requires it. The default qualifier is the CDK's own.
 *
 * @see https://docs.aws.amazon.com/cdk/v2/guide/customize-permissions-boundaries.html
 */
export function bootstrapOf(environment: Environment, context: object = settingsFile().context): Bootstrap {
  const { [BOUNDARY]: boundary, [QUALIFIER]: qualifier } = contextSchema.parse(context);
  const { name, arn: whole = name && arn(environment, 'iam', `policy/${name}`, '') } = boundary;
  const values: Readonly<Record<string, string>> = {
    'AWS::AccountId': environment.account,
    'AWS::Region': environment.region,
    Qualifier: qualifier,
  };
  const filled = whole?.replace(/\$\{([\w:]+)\}/g, (placeholder, key: string) => values[key] ?? placeholder);
  return { qualifier, boundary: filled };
}

const contextSchema = z.object({
  [BOUNDARY]: z.object({ name: z.string().optional(), arn: z.string().optional() }).default({}),
  [QUALIFIER]: z.string().default(DEFAULT_QUALIFIER),
});

/**
 * Lets the workflow of one repository assume the role, only in the GitHub environment of the same name, whose reviewers
 * then protect the role. No wildcards, because these would admit other branches and repositories.
 *
 * @see https://docs.github.com/en/actions/reference/security/oidc
 */
function deployTrustPolicy(environment: Environment, repository: string) {
  const issuer = 'token.actions.githubusercontent.com';
  const [aud, sub] = ['sts.amazonaws.com', `repo:${repository}:environment:${environment.name}`];
  const trust = {
    Sid: 'DeployFromGitHub',
    Effect: 'Allow',
    Principal: { Federated: arn(environment, 'iam', `oidc-provider/${issuer}`, '') },
    Action: 'sts:AssumeRoleWithWebIdentity',
    Condition: { StringEquals: { [`${issuer}:aud`]: aud, [`${issuer}:sub`]: sub } },
  };
  return { Version: '2012-10-17', Statement: [trust] };
}

function parseRepository(text: string): string {
  if (!REPOSITORY.test(text)) {
    throw new InvalidArgumentError('It must be <owner>/<repository> or <owner>@<id>/<repository>@<id>, as on GitHub.');
  }
  return text;
}

/** GitHub's subject of a repository. Those made, renamed or transferred since 2026-07-15 have both ids. */
const REPOSITORY = /^[\w.-]+(?:\/[\w.-]+|@\d+\/[\w.-]+@\d+)$/;

/** Parses names of clients with commas between them. A name may end in `*`, but `*` alone is no name. */
function parseClients(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => NAME_PATTERN.test(name.replace(/\*$/, '')))) return names;
  throw new InvalidArgumentError('It must be names of clients with commas between them. A name may end in *.');
}

/**
 * Denies direct invocations to every role of the broker's account. A direct event can claim any caller, while AWS
 * itself identifies the caller of the URL. A request without the context key counts as direct.
 *
 * @see https://docs.aws.amazon.com/organizations/latest/userguide/orgs_manage_policies_scps.html
 */
function guardPolicy(environment: Environment, breakGlass: string | undefined) {
  const guard = {
    Sid: 'InvokeOnlyThroughTheFunctionUrl',
    Effect: 'Deny',
    Action: ['lambda:InvokeFunction', 'lambda:InvokeAsync'],
    Resource: resourcesOf(environment).functions,
    Condition: {
      BoolIfExists: { 'lambda:InvokedViaFunctionUrl': 'false' },
      ...(breakGlass !== undefined && { ArnNotEquals: { 'aws:PrincipalArn': breakGlass } }),
    },
  };
  return { Version: '2012-10-17', Statement: [guard] };
}
