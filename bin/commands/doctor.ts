import { type Command, InvalidArgumentError } from 'commander';
import { addDoctorCommand, type DoctorOptions } from '../../client/commands/doctor.ts';
import { ask, isMissing } from '../../client/commands/reach.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type DoctorStep, failed, ok, unknown } from '../../client/commands/step.ts';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import type { StackOptions } from './doctor/world.ts';
import { knownSettings } from './shared/environment.ts';

/** The `doctor` of the client package, the steps that only an operator can take, and `doctor --stack`. */
export function addOperatorDoctorCommand(program: Command, shell: Shell): void {
  const functionOf = (environment: string) => `${functionName(environment)}:${ALIAS}`;
  addDoctorCommand(program, shell, { functionOf, lookFurther })
    .option(
      '--auth-url <url>',
      "the service's authUrl, to try both documented token paths there, without a credential",
      parseAuthUrl,
    )
    .option('--stack', 'prove what only a deployed stack can show, and change nothing')
    .option('--report <file.md>', 'with --stack: write the lines, dated, as Markdown')
    .option('--profile-deploy <name>', 'with --stack: an AWS profile of the role that deploys')
    .option('--profile-emergency <name>', 'with --stack: an AWS profile of the role for emergencies')
    .option('--guarded', 'with --stack: prove that a direct invocation is denied')
    .option(
      '--profile-direct <name>',
      'with --guarded: an AWS profile whose own policies allow to invoke the function',
    );
}

// `commander` gives a command all its options: those of the client package, and those that are added here.
type OperatorOptions = StackOptions & { readonly authUrl?: string };

async function* lookFurther(
  shell: Shell,
  given: DoctorOptions,
  steps: readonly DoctorStep[],
  command: Command,
): AsyncGenerator<DoctorStep> {
  const options = given as OperatorOptions;
  const { authUrl, stack } = options;
  if (authUrl !== undefined) yield await tryTokenPaths(authUrl, shell);
  if (!stack) return;
  const settings = knownSettings(options.environment, command);
  // Imported only here, because its clients of AWS take a second to load.
  const { examineStack } = await import('./doctor/stack.ts');
  yield* examineStack(shell, settings, options, steps);
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
