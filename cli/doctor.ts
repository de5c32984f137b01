import { type Command, InvalidArgumentError, Option } from 'commander';
import { ask, isMissing } from '../client/commands/doctor/reach.ts';
import { type DoctorStep, failed, ok, unknown } from '../client/commands/doctor/step.ts';
import { addDoctorCommand, type DoctorOptions } from '../client/commands/doctor.ts';
import type { Shell } from '../client/commands/shell.ts';
import { serviceUrlFault } from '../functions/service-url.ts';
import type { StackOptions } from './doctor/world.ts';
import { knownSettings, settingsOf } from './shared/settings.ts';

/** Adds the client package's `doctor` with the steps that only an operator can take, and `doctor --stack`. */
export function addOperatorDoctorCommand(program: Command, shell: Shell): void {
  addDoctorCommand(program, shell, lookFurther)
    .option(
      '--auth-url <url>',
      "the service's authUrl, to try both documented token paths there, without a credential",
      parseAuthUrl,
    )
    .option('--stack', 'prove what only a deployed stack can show; changes nothing')
    .addOption(ofStack('--profile-deploy <name>', 'an AWS profile of the role that deploys'))
    .addOption(ofStack('--profile-emergency <name>', 'an AWS profile of the role for emergencies'))
    .addOption(ofStack('--guarded', 'prove that a direct invocation is denied'))
    .addOption(
      ofStack('--profile-direct <name>', 'an AWS profile whose own policies allow a direct invocation', 'guarded'),
    )
    .hook('preAction', (_, command) => {
      const { stack, environment } = command.optsWithGlobals<OperatorOptions>();
      if (stack) knownSettings(environment, command);
    });
}

function ofStack(flags: string, description: string, ...further: readonly string[]): Option {
  const implied = ['stack', ...further];
  const text = `${description}; implies ${implied.map((name) => `--${name}`).join(' and ')}`;
  return new Option(flags, text).implies(Object.fromEntries(implied.map((name) => [name, true])));
}

// `commander` passes all options to the action: those of the client package, and those added here.
type OperatorOptions = StackOptions & { readonly authUrl?: string };

async function* lookFurther(shell: Shell, given: DoctorOptions, steps: readonly DoctorStep[]) {
  const options = given as OperatorOptions;
  const { authUrl, stack } = options;
  if (authUrl !== undefined) yield await tryTokenPaths(authUrl, shell);
  const settings = stack ? settingsOf(options.environment) : undefined;
  if (settings === undefined) return;
  // Imported here only, because its AWS clients take a second to load.
  const { examineStack } = await import('./doctor/stack.ts');
  yield* examineStack(shell, settings, options, steps);
}

function parseAuthUrl(text: string): string {
  const fault = serviceUrlFault(text, { allowLoopback: true });
  if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
  return text;
}

/** Sends an empty POST without a credential to both documented paths. An existing path answers neither 404 nor 405. */
async function tryTokenPaths(authUrl: string, shell: Shell): Promise<DoctorStep> {
  const answers: string[] = [];
  const [present, silent]: [string[], string[]] = [[], []];
  for (const path of DOCUMENTED_PATHS) {
    const answer = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', shell.signal);
    answers.push(`${path} ${'code' in answer ? `does not answer (${answer.code})` : `answers ${answer.status}`}`);
    if ('code' in answer) silent.push(path);
    else if (!isMissing(answer.status)) present.push(path);
  }
  const detail = answers.join(', ');
  if (silent.length === answers.length) return failed('token-path', 'auth-url-unreachable', detail);
  const [tokenPath, ...others] = present;
  if (tokenPath === undefined || others.length > 0) {
    return unknown('token-path', `${detail}: this does not show which is right`);
  }
  return { ...ok('token-path', `${detail}: set tokenPath to ${tokenPath}`), tokenPath };
}

/** The specification's examples use the first path, its prose the second. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];
