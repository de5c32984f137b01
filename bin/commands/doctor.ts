import { type Command, InvalidArgumentError } from 'commander';
import { authUrlFault } from '../../lib/settings/auth-url.ts';
import { parseName } from './arguments.ts';
import type { ClientOptions } from './client-options.ts';
import { addConnectionOptions, type ConnectionOptions } from './connect.ts';
import { CAUSES, type Cause, type Step } from './doctor/causes.ts';
import { examine } from './doctor/examination.ts';
import { examineTags } from './doctor/secret.ts';
import { isLocal } from './environment.ts';
import { explainFailure } from './failure.ts';
import { printJson, printLine, talk } from './output.ts';
import { openSecrets } from './secrets.ts';

/** `doctor`: why does my call fail? */
export function addDoctorCommand(program: Command, signal: AbortSignal): void {
  addConnectionOptions(program.command('doctor'))
    .description('Find out why a call to the broker fails, as your AWS identity.')
    .option('--client <name>', 'the client of the call', parseName)
    .option('--service <name>', 'the service of the call', parseName)
    .option(
      '--auth-url <url>',
      "the service's authUrl, to try both documented token paths there, without a credential",
      parseAuthUrl,
    )
    .option('--operator', 'look also at what an operator keeps in order, when the call succeeds')
    .option('--json', 'answer in JSON')
    .addHelpText('after', HELP)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<DoctorOptions>();
      const { environment, client, service, operator, json } = options;
      if ((client === undefined) !== (service === undefined)) {
        command.error('error: a call has a client and a service: give both, or neither');
      }
      const pair = client !== undefined && service !== undefined ? { client, service } : undefined;
      const areSecretsInReach = !isLocal(environment) || process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
      await explainFailure(options, async () => {
        const secrets = areSecretsInReach ? openSecrets(options, signal) : undefined;
        const steps: Step[] = [];
        const tell = (step: Step) => {
          steps.push(step);
          if (!json) printLine(`${WORDS[step.outcome]}  ${step.step.padEnd(15)}  ${step.detail}`);
        };
        for await (const step of examine({ ...options, pair, secrets }, signal)) tell(step);
        // Else this would take the place of what makes the call fail.
        if (operator && secrets !== undefined && causeOf(steps) === undefined) tell(await examineTags(secrets));
        conclude(steps, options);
      });
    });
}

interface DoctorOptions extends ClientOptions, ConnectionOptions {
  readonly region?: string;
  readonly client?: string;
  readonly service?: string;
  readonly authUrl?: string;
  readonly operator?: boolean;
}

const WORDS = { ok: 'ok    ', failed: 'FAILED', unknown: '?     ' } as const;

function conclude(steps: readonly Step[], { environment, json }: DoctorOptions): void {
  const cause = causeOf(steps);
  const advice = cause && CAUSES[cause];
  if (json) printJson({ environment, ok: cause === undefined, cause, advice, steps });
  talk(advice === undefined ? 'Nothing is wrong.' : `${cause}: ${advice}`);
  if (cause !== undefined) process.exitCode = 1;
}

function causeOf(steps: readonly Step[]): Cause | undefined {
  return steps.findLast((step) => step.cause !== undefined)?.cause;
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
