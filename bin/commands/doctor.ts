import { type Command, InvalidArgumentError } from 'commander';
import { addDoctorCommand, type DoctorOptions } from '../../client/commands/doctor.ts';
import { ask, isMissing } from '../../client/commands/reach.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type DoctorStep, failed, ok, unknown } from '../../client/commands/step.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { secretName } from '../../functions/contract.ts';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { examineDirectInvocation, examineOperators } from './doctor/operators.ts';
import { addStackOptions, examineStack } from './doctor/stack.ts';
import { isRefused } from './shared/ask-aws.ts';
import { versionWith } from './shared/client-secret.ts';
import { isLocal, settingsOf } from './shared/environment.ts';
import { openSecrets, type Secrets } from './shared/secrets.ts';

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
  if (settings === undefined) return;
  yield await examineOperators(shell, settings);
  yield await examineDirectInvocation(shell, settings);
}

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
  const answers: string[] = [];
  const [present, silent]: [string[], string[]] = [[], []];
  for (const path of DOCUMENTED_PATHS) {
    const answer = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', shell.signal);
    answers.push(`${path} ${'code' in answer ? `gives no answer (${answer.code})` : `answers ${answer.status}`}`);
    if ('code' in answer) silent.push(path);
    else if (!isMissing(answer.status)) present.push(path);
  }
  const detail = answers.join(', ');
  if (silent.length === answers.length) return failed('token-path', 'auth-url-unreachable', detail);
  const [tokenPath, ...others] = present;
  if (tokenPath === undefined || others.length > 0) {
    return unknown('token-path', `${detail}: this does not tell which is right`);
  }
  return { ...ok('token-path', `${detail}: set tokenPath to ${tokenPath}`), tokenPath };
}

/** The specification's examples have the first, its prose the second. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];

/** Why the broker has no credential for a client, as far as the operator's rights reach; reads no value. */
async function examineSecret(environment: string, pair: Pair, secrets: Secrets | undefined): Promise<DoctorStep> {
  const step = 'secret';
  const name = secretName(environment, pair.client);
  if (secrets === undefined) return unknown(step, `Where ${name} is stored is not set`);
  try {
    const secret = await secrets.find(pair.client);
    if (secret?.deletedAt !== undefined) return failed(step, 'secret-deleted', `${name} is marked for deletion`);
    const isThere = versionWith('AWSCURRENT', secret) !== undefined;
    if (!isThere) return { step, outcome: 'failed', detail: `There is no ${name} with a version AWSCURRENT` };
    const others = 'was it stored just now, or is the broker one of another environment?';
    return unknown(step, `${name} is there: does it name ${pair.service}, ${others}`);
  } catch (error) {
    if (!isRefused(error)) throw error;
    return unknown(step, `You cannot look at ${name} yourself: ${error.detail}`);
  }
}
