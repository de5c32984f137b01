import { type Command, InvalidArgumentError } from 'commander';
import { addDoctorCommand, type DoctorOptions, type EndedCall } from '../../client/commands/doctor.ts';
import type { Shell } from '../../client/commands/shell.ts';
import type { Step } from '../../client/commands/step.ts';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { examineDirectInvocation } from './doctor/direct-invoke.ts';
import { examineOperators } from './doctor/operators.ts';
import { examineSecret, examineTags } from './doctor/secret.ts';
import { tryTokenPaths } from './doctor/token-paths.ts';
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
    .option('--operator', 'look also at what an operator keeps in order, when the call succeeds')
    .addHelpText('after', HELP);
}

interface OperatorOptions extends DoctorOptions, ClientOptions {
  readonly environment: string;
  readonly authUrl?: string;
  readonly operator?: boolean;
}

async function* lookFurther(shell: Shell, { options, cause }: EndedCall): AsyncGenerator<Step> {
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

const HELP = `
Examples:
  $ npm run token-broker -- doctor --client acme --service customer-insights
  $ npm run token-broker -- doctor --client acme --service customer-insights --auth-url https://auth.example.com

Exit code: 0 nothing is wrong, 1 the cause is named, 2 wrong usage.`;
