import type { Command } from 'commander';
import { CommandFailure, withNames } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { note, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { isRecord, parseJsonObject } from '../../functions/broker/json.ts';
import { secretName } from '../../functions/vocabulary.ts';
import { tableName, tokenRoleName } from '../../lib/settings/names.ts';
import { isDenied } from '../shared/ask-aws.ts';
import { answer, type ClientOptions, operate } from '../shared/operate.ts';
import { openSecrets, type Secrets } from '../shared/secrets.ts';
import { addChangeCommand, type ChangeOptions, findStoppable, isConfirmed } from './confirm.ts';
import { changePairs, pairsOfClient } from './pair-changes.ts';

/** Adds `client disable`, the emergency stop, and `client enable`, which ends it. */
export function addDisableCommands(parent: Command, shell: Shell): void {
  for (const verb of ['disable', 'enable'] as const) {
    const command = addChangeCommand(parent, verb)
      .description(WORDS[verb].description)
      .option('--service <name>', 'on this service only: sets its flag, does not change the secret', parseName)
      .option('--even-if-missing', WORDS[verb].evenIfMissing);
    operate<DisableOptions>(command, shell, ['DYNAMODB', 'SECRETS_MANAGER'], async (options) => {
      const { client, service } = options;
      const pairs = pairsOfClient(shell, options);
      const services = pairs.map((pair) => pair.service);
      const secrets = openSecrets(shell, options);
      const secret = await findStoppable(shell, secrets, options);
      const found = { ...options, isDeleted: secret?.deletedAt !== undefined };
      if (!(await isConfirmed(shell, plannedChanges(verb, services, found), options, command, secret))) return;
      const setFlags = async () => {
        const noteWait = (ms: number) => note(shell, `${STILL_UNDER_WAY}: waiting ${Math.ceil(ms / 1_000)} s.`);
        const before = await changePairs<number | undefined>(shell, pairs, options, (admin, pair) =>
          admin[verb](pair, noteWait),
        );
        const since = before.flatMap((time) => time ?? []);
        if (since.length > 0) note(shell, `It was disabled before, since ${timeText(Math.min(...since))}.`);
      };
      const change = { disable, enable }[verb];
      const secret_denied = service === undefined ? await change(shell, setFlags, secrets, found) : undefined;
      if (service !== undefined) await setFlags();
      const members = { services, disabled: verb === 'disable', within_seconds: 60, secret_denied };
      answer(shell, options, members, `${client} is ${verb}d on ${services.join(', ')}\n`);
      note(shell, withNames(WORDS[verb].effect, options));
      if (service !== undefined) note(shell, withNames(WORDS[verb].flagAlone, options));
      else if (verb === 'disable' && !secret_denied) note(shell, secretState(false, found));
    });
  }
}

const STILL_UNDER_WAY = 'A token request from before the stop may still be under way';

interface DisableOptions extends ClientOptions, ChangeOptions {
  readonly service?: string;
  readonly evenIfMissing?: boolean;
}

interface Found extends DisableOptions {
  /** No instance can read a secret that is marked for deletion, and it cannot get a policy. */
  readonly isDeleted: boolean;
}

function plannedChanges(verb: 'disable' | 'enable', services: readonly string[], found: Found) {
  const { environment, client, service, evenIfMissing, isDeleted } = found;
  const flag = `the flag of ${client} on ${services.join(', ')}, in the table ${tableName(environment)}`;
  const [name, role] = [secretName(environment, client), tokenRoleName(environment)];
  const condition = evenIfMissing ? ', if it exists' : '';
  const [flags, secret] =
    verb === 'disable'
      ? [`sets ${flag}`, `denies the secret ${name} to the role ${role}${condition}`]
      : [
          `removes ${flag}, with the token from before the stop`,
          `lets the role ${role} read the secret ${name} again${condition}`,
        ];
  return service !== undefined || (verb === 'disable' && isDeleted) ? [flags] : [flags, secret];
}

/**
 * Sets the flags, which stop the fleet, and the secret's policy at the same time. Neither waits for the other or for
 * its failure. Returns whether the policy denies the broker the credential.
 */
async function disable(shell: Shell, setFlags: SetFlags, secrets: Secrets, found: Found): Promise<boolean> {
  const denying = denyBroker(secrets, found).catch(sendToEmergency('disable'));
  const [flags, denial] = await Promise.allSettled([setFlags(), denying]);
  if (flags.status === 'fulfilled' && denial.status === 'fulfilled') return denial.value;
  note(shell, withNames(flags.status === 'fulfilled' ? FLAGS_SET : FLAG_MISSING, found));
  note(shell, secretState(denial.status === 'fulfilled' ? denial.value : undefined, found));
  throw [flags, denial].find((part) => part.status === 'rejected')?.reason;
}

const FLAGS_SET =
  'The flag is set: within 60 s no instance of the function that can read the table issues a token of <client>.';
const FLAG_MISSING = 'The flag may be missing on a service: there the broker may continue to issue tokens of <client>.';

/** Changes the secret's policy first: while it denies the broker, clearing the flags has no effect. */
async function enable(shell: Shell, setFlags: SetFlags, secrets: Secrets, { client }: Found): Promise<false> {
  const failAfter = (state: string) => (error: unknown) => {
    note(shell, `${client} ${state}. client show ${client} shows what is disabled.`);
    throw error;
  };
  await allowBroker(secrets, client).catch(sendToEmergency('enable')).catch(failAfter('keeps its flags'));
  await setFlags().catch(failAfter('may be enabled in part: its secret can be read, and a flag may be left'));
  return false;
}

/** Explains a denial: only the emergency role writes secrets' policies, so that no operator can grant itself reads. */
function sendToEmergency(verb: 'disable' | 'enable') {
  return (error: unknown): never => {
    if (!isDenied(error)) throw error;
    const command = `client ${verb} <client> --environment <environment>`;
    const advice = `The emergency role may do this (policy --emergency), the operator may not. As that role: ${command}`;
    throw new CommandFailure(error.type, error.detail, advice);
  };
}

type SetFlags = () => Promise<unknown>;

/** Explains whether the secret is denied. `isDenied` is `undefined` when AWS did not confirm the change. */
function secretState(isDenied: boolean | undefined, { environment, client, isDeleted }: Found): string {
  if (isDenied) return `The secret is denied to the broker: no instance of the function can use it.`;
  const unread =
    'an instance of the function that cannot read the table does not see the flag and may continue to issue tokens that it remembers';
  if (isDenied === undefined) return `AWS has not confirmed that the secret is denied. Unless it is, ${unread}.`;
  const state = isDeleted ? 'is marked for deletion' : 'is missing';
  return `The secret ${secretName(environment, client)} ${state}: disable ${client} again when it exists, because ${unread}.`;
}

/**
 * Denies the token function's role the value of a client's secret, so that IAM stops an instance without the table,
 * too. Keeps other statements. Returns false when the client has no readable secret.
 */
async function denyBroker(secrets: Secrets, { client, environment, isDeleted }: Found): Promise<boolean> {
  const found = isDeleted ? undefined : await secrets.readPolicy(client);
  if (found === undefined) return false;
  const { rest, others } = parsePolicy(found.policy);
  // The secret and the role are in the account of the stack, and the stack fixes the role's name.
  const [, partition, , , account] = found.arn.split(':');
  const role = `arn:${partition}:iam::${account}:role/${tokenRoleName(environment)}`;
  const denial = {
    Sid: SID,
    Effect: 'Deny',
    // AWS stores a role principal by its id, so a role that is created again would not be denied.
    Principal: '*',
    Action: 'secretsmanager:GetSecretValue',
    Resource: '*',
    Condition: { ArnEquals: { 'aws:PrincipalArn': role } },
  };
  await secrets.writePolicy(client, JSON.stringify({ ...rest, Statement: [...others, denial] }));
  return true;
}

/** Removes the denial. */
async function allowBroker(secrets: Secrets, client: string): Promise<void> {
  const found = await secrets.readPolicy(client);
  const { rest, others, isDenied } = parsePolicy(found?.policy);
  if (!isDenied) return;
  await secrets.writePolicy(client, others.length === 0 ? undefined : JSON.stringify({ ...rest, Statement: others }));
}

const SID = 'TokenBrokerDisabled';

/** Splits a policy into its other members, the statements of others, and whether ours is present. */
export function parsePolicy(policy = '{"Version":"2012-10-17"}') {
  const document = parseJsonObject(policy);
  if (document === undefined) throw new TypeError('AWS keeps no policy that is not a JSON object');
  const { Statement, ...rest } = document;
  const statements = [Statement ?? []].flat();
  const others = statements.filter((statement) => !isRecord(statement) || statement.Sid !== SID);
  return { rest, others, isDenied: others.length < statements.length };
}

const WORDS = {
  disable: {
    description: 'Emergency stop: the broker issues no more tokens of the client, not even cached tokens.',
    evenIfMissing: 'also a client without a secret, to stop it in advance; a mistyped name stops the wrong client',
    effect:
      'Within 60 s no caller is issued a token of <client>. Tokens that callers already have stay valid until they expire: only the services can revoke them. client enable <client> ends it.',
    flagAlone:
      'Only the flag of this service is set: it does not stop an instance of the function that cannot read the table. client disable <client> without --service does.',
  },
  enable: {
    description: 'End the emergency stop.',
    evenIfMissing: 'also a client without a secret, which was stopped in advance',
    effect: 'Within 60 s tokens of <client> are issued again, no token from before the stop.',
    flagAlone:
      'Only the flag of this service is removed: if the whole client was disabled, client enable <client> without --service ends that.',
  },
} as const;
