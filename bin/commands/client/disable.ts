import type { Command } from 'commander';
import { CommandFailure, explainFailure } from '../../../client/commands/failure.ts';
import { parseName } from '../../../client/commands/options.ts';
import { printJson, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { isRecord, parseJsonObject } from '../../../functions/broker/json.ts';
import { secretName } from '../../../functions/contract.ts';
import { tableName, tokenRoleName } from '../../../lib/settings/names.ts';
import { checkEndpoint, checkService } from '../shared/environment.ts';
import { addRegionOption } from '../shared/options.ts';
import { changePairs, pairsOfClient } from '../shared/pair-changes.ts';
import { openSecrets, type Secrets } from '../shared/secrets.ts';
import { addChangeOptions, type ChangeOptions, findStoppable, isConfirmed } from './confirm.ts';

/** `client disable` and `client enable`: the emergency stop, and its end. */
export function addDisableCommands(parent: Command, shell: Shell): void {
  for (const verb of ['disable', 'enable'] as const) {
    const { description, change, effect, flagAlone } = VERBS[verb];
    addChangeOptions(addRegionOption(parent.command(verb)))
      .description(description)
      .argument('<client>', 'the client', parseName)
      .option('--service <name>', 'on this service only: its flag alone, the secret stays as it is', parseName)
      .option('--even-if-missing', 'also a client without a secret, to stop one in advance')
      .option('--json', 'answer in JSON')
      .action(async (client: string, _: unknown, command: Command) => {
        const options = command.optsWithGlobals<DisableOptions>();
        const { environment, service, json } = options;
        checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_DYNAMODB', command);
        checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
        await explainFailure(shell, { ...options, client }, async () => {
          checkService(shell, service, environment, command);
          const changes = plannedChanges(shell, verb, client, options);
          const secret = await findStoppable(shell, openSecrets(shell, options), client, options);
          if (!(await isConfirmed(shell, { client, secret, changes }, options, command))) return;
          const changed =
            service === undefined
              ? await change(shell, client, options)
              : { services: await setFlags(shell, verb, client, options) };
          const { services, isDenied } = changed;
          const told = { environment, client, services, disabled: verb === 'disable', within_seconds: 60 };
          if (json) printJson(shell, { ...told, secret_denied: isDenied });
          else shell.stdout.write(`${client} is ${verb}d on ${services.join(', ')}\n`);
          talk(shell, effect.replaceAll('<client>', client));
          if (service !== undefined) talk(shell, flagAlone.replaceAll('<client>', client));
          else if (verb === 'disable' && !isDenied) talk(shell, secretState(isDenied, told));
        });
      });
  }
}

interface DisableOptions extends ChangeOptions {
  readonly service?: string;
  readonly evenIfMissing?: boolean;
}

function plannedChanges(
  shell: Shell,
  verb: 'disable' | 'enable',
  client: string,
  options: DisableOptions,
): readonly string[] {
  const { environment, service, evenIfMissing } = options;
  const services = pairsOfClient(shell, client, options)
    .map((pair) => pair.service)
    .join(', ');
  const flag = `the flag of ${client} on ${services}, in the table ${tableName(environment)}`;
  const [name, role] = [secretName(environment, client), tokenRoleName(environment)];
  const condition = evenIfMissing ? ', if there is one' : '';
  const [flags, secret] =
    verb === 'disable'
      ? [`sets ${flag}`, `denies the secret ${name} to the role ${role}${condition}`]
      : [`takes away ${flag}`, `lets the role ${role} read the secret ${name} again${condition}`];
  return service === undefined ? [flags, secret] : [flags];
}

interface Changed {
  readonly services: readonly string[];
  /** Whether the secret's policy denies the broker the credential; absent when the secret was left as it is. */
  readonly isDenied?: boolean;
}

/** The flags first, which stop the fleet; then the secret, even when a flag failed: each of them holds by itself. */
async function disable(shell: Shell, client: string, options: DisableOptions): Promise<Changed> {
  const [flags] = await Promise.allSettled([setFlags(shell, 'disable', client, options)]);
  const [denial] = await Promise.allSettled([denyBroker(openSecrets(shell, options), { ...options, client })]);
  if (flags.status === 'fulfilled' && denial.status === 'fulfilled') {
    return { services: flags.value, isDenied: denial.value };
  }
  talk(
    shell,
    flags.status === 'fulfilled'
      ? `The flag is set: within 60 s no environment that can read the table issues a token of ${client}.`
      : `The flag is not set on every service: there the broker may go on issuing tokens of ${client}.`,
  );
  talk(shell, secretState(denial.status === 'fulfilled' ? denial.value : undefined, { ...options, client }));
  throw [flags, denial].flatMap((part) => (part.status === 'rejected' ? [part.reason] : []))[0];
}

/** The secret first: flags that are taken away while it is denied would only look like the end of the stop. */
async function enable(shell: Shell, client: string, options: DisableOptions): Promise<Changed> {
  await allowBroker(openSecrets(shell, options), client).catch((error: unknown) => {
    talk(shell, `${client} is still disabled: no flag was taken away.`);
    throw error;
  });
  const services = await setFlags(shell, 'enable', client, options).catch((error: unknown) => {
    talk(
      shell,
      `The broker may read the secret again, but where the flag could not be taken away ${client} is still disabled.`,
    );
    throw error;
  });
  return { services, isDenied: false };
}

async function setFlags(shell: Shell, verb: 'disable' | 'enable', client: string, options: DisableOptions) {
  const changed = await changePairs(shell, pairsOfClient(shell, client, options), options, (admin, pair) =>
    admin[verb](pair),
  );
  return changed.map(({ pair }) => pair.service);
}

/** How far the stop reaches beyond the table; `undefined` when the policy could not be changed. */
function secretState(isDenied: boolean | undefined, { environment, client }: Named): string {
  switch (isDenied) {
    case true:
      return `The secret is denied to the broker: no environment can use the credential of ${client} any more.`;
    case false:
      return `There is no secret ${secretName(environment, client)} to deny: disable ${client} again when it has one, because the flag does not hold for an environment that cannot read the table.`;
    default:
      return `The secret is not denied to the broker: an environment that cannot read the table may go on issuing tokens of ${client}.`;
  }
}

interface Named {
  readonly environment: string;
  readonly client: string;
}

/**
 * Denies the token function's role the value of a client's secret, so that IAM stops what no longer reads the table.
 * Other statements stay as they are. False when the client has no secret.
 */
async function denyBroker(secrets: Secrets, { client, environment }: Named): Promise<boolean> {
  const found = await secrets.readPolicy(client);
  if (found === undefined) return false;
  const { rest, others } = parsePolicy(found.policy);
  const Statement = [...others, denialOf(roleArn(found.arn, environment))];
  await secrets.writePolicy(client, JSON.stringify({ ...rest, Statement }));
  return true;
}

/** Ends the denial. */
async function allowBroker(secrets: Secrets, client: string): Promise<void> {
  const found = await secrets.readPolicy(client);
  const { rest, others, isDenied } = parsePolicy(found?.policy);
  if (!isDenied) return;
  await secrets.writePolicy(client, others.length === 0 ? undefined : JSON.stringify({ ...rest, Statement: others }));
}

/** A secret lies in the account of its stack, and so does the role, whose name the stack fixes. */
function roleArn(secretArn: string, environment: string): string {
  const [, partition, , , account] = secretArn.split(':');
  return `arn:${partition}:iam::${account}:role/${tokenRoleName(environment)}`;
}

const SID = 'TokenBrokerDisabled';

/** A role that is named as principal is stored by its id, and a role made anew would not be denied. */
function denialOf(role: string) {
  return {
    Sid: SID,
    Effect: 'Deny',
    Principal: '*',
    Action: 'secretsmanager:GetSecretValue',
    Resource: '*',
    Condition: { ArnEquals: { 'aws:PrincipalArn': role } },
  };
}

/** A policy without its statements, the statements of others, and whether ours is there. */
function parsePolicy(policy: string | undefined) {
  if (policy === undefined) return { rest: { Version: '2012-10-17' }, others: [], isDenied: false };
  const document = parseJsonObject(policy);
  if (document === undefined) {
    throw new CommandFailure(
      'secret-policy-unreadable',
      "The secret's resource policy is not a JSON object",
      'Look at it with aws secretsmanager get-resource-policy, and correct it first.',
    );
  }
  const { Statement, ...rest } = document;
  const statements = [Statement ?? []].flat();
  const others = statements.filter((statement) => !isRecord(statement) || statement.Sid !== SID);
  return { rest, others, isDenied: others.length < statements.length };
}

const VERBS = {
  disable: {
    change: disable,
    description: 'Emergency stop: no token of the client is issued any more, cached ones included.',
    effect:
      'Within 60 s no caller is issued a token of <client>. Tokens that callers hold already live on until they expire: only the services can revoke them. client enable <client> ends it.',
    flagAlone:
      'Only the flag of this service is set: it does not hold for an environment that cannot read the table. client disable <client> without --service does.',
  },
  enable: {
    change: enable,
    description: 'End the emergency stop.',
    effect: 'Within 60 s tokens of <client> are issued again.',
    flagAlone:
      'Only the flag of this service is taken away: when the whole client was disabled, client enable <client> without --service ends that.',
  },
} as const;
