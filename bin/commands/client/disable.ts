import type { Command } from 'commander';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { parseName } from '../../../client/commands/options.ts';
import { printJson, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { isRecord, parseJsonObject } from '../../../functions/broker/json.ts';
import { secretName } from '../../../functions/contract.ts';
import { tableName, tokenRoleName } from '../../../lib/settings/names.ts';
import { addAwsOptions, type ClientOptions, operate } from '../shared/environment.ts';
import { changePairs, pairsOfClient } from '../shared/pair-changes.ts';
import { openSecrets, type Secrets } from '../shared/secrets.ts';
import { addChangeOptions, type ChangeOptions, findStoppable, isConfirmed } from './confirm.ts';

/** `client disable` and `client enable`: the emergency stop, and its end. */
export function addDisableCommands(parent: Command, shell: Shell): void {
  for (const verb of ['disable', 'enable'] as const) {
    addChangeOptions(addAwsOptions(parent.command(verb)))
      .description(WORDS[verb].description)
      .argument('<client>', 'the client', parseName)
      .option('--service <name>', 'on this service only: its flag alone, the secret stays as it is', parseName)
      .option('--even-if-missing', 'also a client without a secret, to stop one in advance')
      .action(
        operate<DisableOptions>(shell, ['DYNAMODB', 'SECRETS_MANAGER'], async (options, command) => {
          const { environment, client, service, json } = options;
          const pairs = pairsOfClient(shell, options);
          const services = pairs.map((pair) => pair.service);
          const secrets = openSecrets(shell, options);
          const secret = await findStoppable(shell, secrets, options);
          const found = { ...options, isDeleted: secret?.deletedAt !== undefined };
          if (!(await isConfirmed(shell, plannedChanges(verb, services, found), options, command, secret))) return;
          const setFlags = () => changePairs(shell, pairs, options, (admin, pair) => admin[verb](pair));
          const isDenied = await change[service === undefined ? verb : 'flags'](shell, setFlags, secrets, found);
          const told = { environment, client, services, disabled: verb === 'disable', within_seconds: 60 };
          if (json) printJson(shell, { ...told, secret_denied: isDenied });
          else shell.stdout.write(`${client} is ${verb}d on ${services.join(', ')}\n`);
          talk(shell, WORDS[verb].effect.replaceAll('<client>', client));
          if (service !== undefined) talk(shell, WORDS[verb].flagAlone.replaceAll('<client>', client));
          else if (verb === 'disable' && !isDenied) talk(shell, secretState(isDenied, found));
        }),
      );
  }
}

interface DisableOptions extends ClientOptions, ChangeOptions {
  readonly service?: string;
  readonly evenIfMissing?: boolean;
}

interface Found extends DisableOptions {
  /** A secret that is marked for deletion cannot be read by any instance, nor get a policy. */
  readonly isDeleted: boolean;
}

function plannedChanges(verb: 'disable' | 'enable', services: readonly string[], found: Found) {
  const { environment, client, service, evenIfMissing, isDeleted } = found;
  const flag = `the flag of ${client} on ${services.join(', ')}, in the table ${tableName(environment)}`;
  const [name, role] = [secretName(environment, client), tokenRoleName(environment)];
  const condition = evenIfMissing ? ', if there is one' : '';
  const [flags, secret] =
    verb === 'disable'
      ? [`sets ${flag}`, `denies the secret ${name} to the role ${role}${condition}`]
      : [`takes away ${flag}`, `lets the role ${role} read the secret ${name} again${condition}`];
  return service !== undefined || (verb === 'disable' && isDeleted) ? [flags] : [flags, secret];
}

/** Each change; tells whether the secret's policy then denies the broker the credential. */
const change = {
  /** Leaves the secret as it is. */
  async flags(_: Shell, setFlags: SetFlags): Promise<undefined> {
    await setFlags();
  },

  /** The flags first, which stop the fleet; then the secret's policy, even if a flag failed: each works alone. */
  async disable(shell: Shell, setFlags: SetFlags, secrets: Secrets, found: Found): Promise<boolean> {
    const { client } = found;
    const [flags] = await Promise.allSettled([setFlags()]);
    const [denial] = await Promise.allSettled([denyBroker(secrets, found).catch(sendToEmergency('disable'))]);
    if (flags.status === 'fulfilled' && denial.status === 'fulfilled') return denial.value;
    talk(
      shell,
      flags.status === 'fulfilled'
        ? `The flag is set: within 60 s no instance of the function that can read the table issues a token of ${client}.`
        : `The flag is not set on every service: there the broker may go on issuing tokens of ${client}.`,
    );
    talk(shell, secretState(denial.status === 'fulfilled' ? denial.value : undefined, found));
    throw [flags, denial].find((part) => part.status === 'rejected')?.reason;
  },

  /** The secret's policy first: while it denies the broker, clearing the flags ends nothing. */
  async enable(shell: Shell, setFlags: SetFlags, secrets: Secrets, { client }: ClientOptions): Promise<false> {
    let state = `${client} is still disabled: no flag was taken away.`;
    try {
      await allowBroker(secrets, client).catch(sendToEmergency('enable'));
      state = `The broker may read the secret again, but where the flag could not be taken away ${client} is still disabled.`;
      await setFlags();
      return false;
    } catch (error) {
      talk(shell, state);
      throw error;
    }
  },
};

/** Explains a denial: the emergency role alone writes the policies of secrets, so that no operator can let itself read. */
function sendToEmergency(verb: 'disable' | 'enable') {
  return (error: unknown): never => {
    if (!(error instanceof CommandFailure && error.type === 'aws-access-denied')) throw error;
    const command = `client ${verb} <client> --environment <environment>`;
    const advice = `The emergency role may (policy --emergency), the operator may not. As that role: ${command}`;
    throw new CommandFailure(error.type, error.detail, advice);
  };
}

type SetFlags = () => Promise<unknown>;

/** How far the stop reaches beyond the table; `undefined` when the policy could not be changed. */
function secretState(isDenied: boolean | undefined, { environment, client, isDeleted }: Found): string {
  const name = secretName(environment, client);
  const [none, then] = isDeleted
    ? [`The secret ${name} is marked for deletion`, 'it is restored']
    : [`There is no secret ${name} to deny`, 'it has one'];
  if (isDenied)
    return `The secret is denied to the broker: no instance of the function can use the credential of ${client} any more.`;
  return isDenied === undefined
    ? `The secret is not denied to the broker: an instance of the function that is alone, because it cannot read the table, does not heed the flag and may go on issuing tokens of ${client}.`
    : `${none}: disable ${client} again when ${then}, because the flag does not hold for an instance of the function that cannot read the table.`;
}

/**
 * Denies the token function's role the value of a client's secret, so that IAM stops an instance that is alone, too.
 * Other statements stay as they are. False when the client has no secret that could be read.
 */
async function denyBroker(secrets: Secrets, { client, environment, isDeleted }: Found): Promise<boolean> {
  const found = isDeleted ? undefined : await secrets.readPolicy(client);
  if (found === undefined) return false;
  const { rest, others } = parsePolicy(found.policy);
  // A secret lies in the account of its stack, and so does the role, whose name the stack fixes.
  const [, partition, , , account] = found.arn.split(':');
  const denial = {
    Sid: SID,
    Effect: 'Deny',
    // AWS stores a role principal by its id, and a role made anew would not be denied.
    Principal: '*',
    Action: 'secretsmanager:GetSecretValue',
    Resource: '*',
    Condition: {
      ArnEquals: { 'aws:PrincipalArn': `arn:${partition}:iam::${account}:role/${tokenRoleName(environment)}` },
    },
  };
  await secrets.writePolicy(client, JSON.stringify({ ...rest, Statement: [...others, denial] }));
  return true;
}

/** Ends the denial. */
async function allowBroker(secrets: Secrets, client: string): Promise<void> {
  const found = await secrets.readPolicy(client);
  const { rest, others, isDenied } = parsePolicy(found?.policy);
  if (!isDenied) return;
  await secrets.writePolicy(client, others.length === 0 ? undefined : JSON.stringify({ ...rest, Statement: others }));
}

const SID = 'TokenBrokerDisabled';

/** Splits a policy: its frame, the statements of others, and whether ours is there. */
function parsePolicy(policy = '{"Version":"2012-10-17"}') {
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

const WORDS = {
  disable: {
    description: 'Emergency stop: no token of the client is issued any more, cached ones included.',
    effect:
      'Within 60 s no caller is issued a token of <client>. Tokens that callers hold already live on until they expire: only the services can revoke them. client enable <client> ends it.',
    flagAlone:
      'Only the flag of this service is set: it does not hold for an instance of the function that cannot read the table. client disable <client> without --service does.',
  },
  enable: {
    description: 'End the emergency stop.',
    effect: 'Within 60 s tokens of <client> are issued again.',
    flagAlone:
      'Only the flag of this service is taken away: when the whole client was disabled, client enable <client> without --service ends that.',
  },
} as const;
