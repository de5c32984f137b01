import { type Command, InvalidArgumentError } from 'commander';
import { addDoctorCommand, type DoctorOptions } from '../../client/commands/doctor.ts';
import { askAws, findCredentials } from '../../client/commands/identity.ts';
import { ask, isMissing } from '../../client/commands/reach.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type DoctorStep, failed, ok, unknown } from '../../client/commands/step.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { secretName } from '../../functions/contract.ts';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import type { Environment } from '../../lib/settings/environment.ts';
import { ALIAS, functionName, topicName } from '../../lib/settings/names.ts';
import { addStackOptions, examineStack } from './doctor/stack.ts';
import { isRefused } from './shared/ask-aws.ts';
import { mapConcurrently } from './shared/checks.ts';
import { versionWith } from './shared/client-secret.ts';
import { isLocal, settingsOf } from './shared/environment.ts';
import { openSecrets, type Secrets } from './shared/secrets.ts';
import { arn } from './shared/statements.ts';

/** The `doctor` of the client package, and the steps that only an operator can take. */
export function addOperatorDoctorCommand(program: Command, shell: Shell): void {
  const functionOf = (environment: string) => `${functionName(environment)}:${ALIAS}`;
  const doctor = addDoctorCommand(program, shell, { functionOf, lookFurther, instead: examineStack });
  addStackOptions(doctor)
    .option(
      '--auth-url <url>',
      "the service's authUrl, to try both documented token paths there, without a credential",
      parseAuthUrl,
    )
    .option('--operator', 'look also at what an operator keeps in order, when the call succeeds');
}

interface OperatorOptions extends DoctorOptions {
  readonly environment: string;
  readonly authUrl?: string;
  readonly operator?: boolean;
}

async function* lookFurther(
  shell: Shell,
  options: DoctorOptions,
  cause: string | undefined,
): AsyncGenerator<DoctorStep> {
  // `commander` gives a command all its options: those of the client package, and those that are added here.
  const { authUrl, operator, ...given } = options as OperatorOptions;
  const { environment, client, service } = given;
  if (authUrl !== undefined) yield await tryTokenPaths(authUrl, shell);

  // The secrets of a local broker are where AWS_ENDPOINT_URL_SECRETS_MANAGER says, and nowhere else.
  const areInReach = !isLocal(environment) || shell.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
  const secrets = areInReach ? openSecrets(shell, given) : undefined;
  if (cause === 'credential-missing' && client !== undefined && service !== undefined) {
    yield await examineSecret(environment, { client, service }, secrets);
  }
  // No step below can be the cause of a failed call.
  if (cause !== undefined || !operator) return;
  const settings = settingsOf(environment);
  const { credentials } = await findCredentials(shell);
  // Without credentials the call has failed.
  if (settings === undefined || credentials === undefined) return;
  const query: Query = (service, members) => {
    const { region, Version } = QUERIED[service];
    const body = `${new URLSearchParams({ ...members, Version })}`;
    return askAws(shell, { service, region: region ?? settings.region, credentials, body });
  };
  yield await examineOperators(query, settings);
  yield await examineDirectInvocation(query, settings);
}

type Query = (service: keyof typeof QUERIED, members: Readonly<Record<string, string>>) => ReturnType<typeof askAws>;

/** The two services that speak AWS's query protocol. */
const QUERIED = {
  iam: { region: 'us-east-1', Version: '2010-05-08' },
  sns: { region: undefined, Version: '2010-03-31' },
} as const;

function parseAuthUrl(text: string): string {
  const fault = authUrlFault(text, { allowLoopback: true });
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
  return text;
}

/**
 * Sends an empty POST, without a credential, to both documented paths of a token endpoint: the path that
 * exists answers neither 404 nor 405.
 */
async function tryTokenPaths(authUrl: string, shell: Shell): Promise<DoctorStep> {
  const answers: Readonly<{ path: string; word: string; isSilent: boolean; isThere: boolean }>[] = [];
  for (const path of DOCUMENTED_PATHS) {
    const answer = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', shell.signal);
    const word = 'code' in answer ? `gives no answer (${answer.code})` : `answers ${answer.status}`;
    const isSilent = 'code' in answer;
    answers.push({ path, word, isSilent, isThere: !isSilent && !isMissing(answer.status) });
  }
  const detail = answers.map(({ path, word }) => `${path} ${word}`).join(', ');
  if (answers.every(({ isSilent }) => isSilent)) return failed('token-path', 'auth-url-unreachable', detail);
  const [there, ...others] = answers.filter(({ isThere }) => isThere);
  if (there === undefined || others.length > 0) {
    return unknown('token-path', `${detail}: this does not tell which is right`);
  }
  return { ...ok('token-path', `${detail}: set tokenPath to ${there.path}`), tokenPath: there.path };
}

/** The specification's examples have the first, its prose the second. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];

/** Why the broker has no credential for a client, as far as the operator's rights reach; reads no value. */
async function examineSecret(environment: string, pair: Pair, secrets: Secrets | undefined): Promise<DoctorStep> {
  const step = 'secret';
  const name = secretName(environment, pair.client);
  if (secrets === undefined) return unknown(step, `Where ${name} is stored is not set`);
  return asFarAsAllowed(step, `look at ${name} yourself`, async () => {
    const secret = await secrets.find(pair.client);
    if (secret?.deletedAt !== undefined) return failed(step, 'secret-deleted', `${name} is marked for deletion`);
    const isThere = versionWith('AWSCURRENT', secret) !== undefined;
    if (!isThere) return { step, outcome: 'failed', detail: `There is no ${name} with a version AWSCURRENT` };
    const others = 'was it stored just now, or is the broker one of another environment?';
    return unknown(step, `${name} is there: does it name ${pair.service}, ${others}`);
  });
}

async function asFarAsAllowed(step: string, what: string, examine: () => Promise<DoctorStep>): Promise<DoctorStep> {
  try {
    return await examine();
  } catch (error) {
    if (!isRefused(error)) throw error;
    return unknown(step, `You cannot ${what}: ${error.detail}`);
  }
}

type Place = Pick<Environment, 'name' | 'account' | 'region'>;

/** Whether alarms and messages reach an operator: whether any subscription of the topic is confirmed. */
async function examineOperators(query: Query, environment: Place): Promise<DoctorStep> {
  const step = 'operators';
  const TopicArn = arn(environment, 'sns', topicName(environment.name));
  const { text, word } = await query('sns', { Action: 'GetTopicAttributes', TopicArn });
  const confirmed = /<key>SubscriptionsConfirmed<\/key>\s*<value>(\d+)<\/value>/.exec(text)?.[1];
  if (confirmed === undefined) return unknown(step, `You cannot look at the topic (sns:GetTopicAttributes, ${word})`);
  const detail = `Confirmed subscriptions of ${TopicArn}: ${confirmed}`;
  return Number(confirmed) > 0 ? ok(step, detail) : failed(step, 'operators-unreachable', detail);
}

/**
 * Which roles of the broker's account may invoke the function past its URL, and so claim to be any caller: as far as AWS's
 * simulation says, which knows a role's own policies and its boundary, but no service control policy with a condition.
 */
async function examineDirectInvocation(query: Query, environment: Place): Promise<DoctorStep> {
  const step = 'direct-invoke';
  const { name, account } = environment;
  const roles = await listRoles(query, account);
  if (roles === undefined) return unknown(step, `You cannot list the roles of account ${account} (iam:ListRoles)`);

  const functionArn = arn(environment, 'lambda', `function:${functionName(name)}`);
  const answers = await mapConcurrently(roles, async (role) => ({
    role,
    may: await mayInvoke(query, role, functionArn),
  }));
  const rolesThat = (may: boolean | undefined) => answers.filter((one) => one.may === may).map(({ role }) => role);
  const [able, untold] = [rolesThat(true), rolesThat(undefined)];
  if (able.length > 0) return unknown(step, `Unless the guard is attached, these may: ${able.join(', ')}`);
  if (untold.length > 0) {
    return unknown(step, `AWS tells nothing of ${untold.length} roles (iam:SimulatePrincipalPolicy)`);
  }
  return ok(step, `None of the ${roles.length} roles of account ${account} may invoke the function past its URL`);
}

/** The ARNs of the roles of the account, without those of AWS's own services; `undefined` when IAM does not tell. */
async function listRoles(query: Query, account: string): Promise<readonly string[] | undefined> {
  const roles: string[] = [];
  let marker: string | undefined;
  do {
    const page = { MaxItems: '1000', ...(marker && { Marker: marker }) };
    const { status, text } = await query('iam', { Action: 'ListRoles', ...page });
    const found = [...text.matchAll(/<Arn>(arn:[a-z-]+:iam::(\d{12}):role\/[!-;=-~]{1,600})<\/Arn>/g)];
    if (status !== 200 || found.some(([, , of]) => of !== account)) return undefined;
    roles.push(...found.map(([, role = '']) => role));
    marker = /<Marker>([!-;=-~]+)<\/Marker>/.exec(text)?.[1];
  } while (marker !== undefined);
  return roles.filter((role) => !role.includes(':role/aws-service-role/'));
}

async function mayInvoke(query: Query, role: string, functionArn: string): Promise<boolean | undefined> {
  const { status, text } = await query('iam', {
    Action: 'SimulatePrincipalPolicy',
    PolicySourceArn: role,
    'ActionNames.member.1': 'lambda:InvokeFunction',
    'ResourceArns.member.1': functionArn,
    'ResourceArns.member.2': `${functionArn}:${ALIAS}`,
    'ContextEntries.member.1.ContextKeyName': 'lambda:InvokedViaFunctionUrl',
    'ContextEntries.member.1.ContextKeyType': 'boolean',
    'ContextEntries.member.1.ContextKeyValues.member.1': 'false',
  });
  const decisions = [...text.matchAll(/<EvalDecision>(\w+)<\/EvalDecision>/g)].map(([, decision]) => decision);
  return status !== 200 || decisions.length === 0 ? undefined : decisions.includes('allowed');
}
