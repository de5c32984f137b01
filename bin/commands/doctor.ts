import { type Command, InvalidArgumentError } from 'commander';
import { addDoctorCommand, type DoctorOptions } from '../../client/commands/doctor.ts';
import { ask, isMissing } from '../../client/commands/reach.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { ok, type Step, unknown } from '../../client/commands/step.ts';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { examineDirectInvocation } from './doctor/direct-invoke.ts';
import { examineOperators } from './doctor/operators.ts';
import { examineSecret, examineTags } from './doctor/secret.ts';
import { isLocal, settingsOf } from './shared/environment.ts';
import type { ClientOptions } from './shared/options.ts';
import { openSecrets } from './shared/secrets.ts';

/** `doctor` as the client package has it, and what an operator alone can look at. */
export function addOperatorDoctorCommand(program: Command, shell: Shell): void {
  const functionOf = (environment: string) => `${functionName(environment)}:${ALIAS}`;
  addDoctorCommand(program, shell, { functionOf, lookFurther })
    .option(
      '--auth-url <url>',
      "the service's authUrl, to try both documented token paths there, without a credential",
      parseAuthUrl,
    )
    .option('--operator', 'look also at what an operator keeps in order, when the call succeeds');
}

interface OperatorOptions extends DoctorOptions, ClientOptions {
  readonly environment: string;
  readonly authUrl?: string;
  readonly operator?: boolean;
}

async function* lookFurther(shell: Shell, options: DoctorOptions, cause: string | undefined): AsyncGenerator<Step> {
  // `commander` gives them all to the command, its caller's and ours.
  const { authUrl, operator, ...given } = options as OperatorOptions;
  const { environment, client, service } = given;
  if (authUrl !== undefined) yield await tryTokenPaths(authUrl, shell);

  // Where else they are, only AWS_ENDPOINT_URL_SECRETS_MANAGER says.
  const areInReach = !isLocal(environment) || shell.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
  const secrets = areInReach ? openSecrets(shell, given) : undefined;
  if (cause === 'credential-missing' && client !== undefined && service !== undefined) {
    yield await examineSecret(environment, { client, service }, secrets);
  }
  // Else this would take the place of what makes the call fail.
  if (cause !== undefined || !operator) return;
  if (secrets !== undefined) yield await examineTags(secrets);
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
 * Tries both documented paths of a token endpoint with a POST that carries nothing, above all no credential: the one that
 * exists answers neither 404 nor 405.
 */
async function tryTokenPaths(authUrl: string, shell: Shell): Promise<Step> {
  const answers: { readonly path: string; readonly word: string; readonly isThere: boolean }[] = [];
  for (const path of DOCUMENTED_PATHS) {
    const answer = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', shell.signal);
    const word = 'code' in answer ? `gives no answer (${answer.code})` : `answers ${answer.status}`;
    answers.push({ path, word, isThere: !('code' in answer || isMissing(answer.status)) });
  }
  const detail = answers.map(({ path, word }) => `${path} ${word}`).join(', ');
  const [there, ...others] = answers.filter(({ isThere }) => isThere);
  if (there === undefined || others.length > 0) {
    return unknown('token-path', `${detail}: this does not tell which is right`);
  }
  return { ...ok('token-path', `${detail}: set tokenPath to ${there.path}`), tokenPath: there.path };
}

/** The two that the services' specification names, in prose and in its examples. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];
