import { type Command, Option } from 'commander';
import { explainFailure } from '../../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../../client/commands/options.ts';
import { printJson } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { SECRET_STAGES, type SecretStage } from '../../../functions/contract.ts';
import { checkMembers, checkPairs, isAccepted, printChecks } from '../shared/checks.ts';
import { provablePairs } from '../shared/client-secret.ts';
import { checkEndpoint } from '../shared/environment.ts';
import type { ClientOptions } from '../shared/options.ts';
import { findSecret, openSecrets } from '../shared/secrets.ts';

/** `client check`: does the credential work on the client's services? */
export function addCheckCommand(parent: Command, shell: Shell): void {
  addConnectionOptions(parent.command('check'))
    .description('Let the broker find out whether the credential of a client works; needs the operation check.')
    .argument('<client>', 'whose credential', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .addOption(new Option('--stage <stage>', 'which version').choices(SECRET_STAGES).default('AWSCURRENT'))
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CheckOptions>();
      const { environment, service, stage, json } = options;
      if (service === undefined) checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      const broker = connect(shell, options, command);
      await explainFailure(shell, { ...options, client }, async () => {
        const pairs = service === undefined ? await pairsOf(shell, client, options) : [{ client, service }];
        const checks = await checkPairs(broker, pairs, { stage, signal: shell.signal });
        if (json) printJson(shell, { environment, client, stage, checks: checks.map(checkMembers) });
        else printChecks(shell, checks, environment);
        if (!checks.every((check) => isAccepted(check))) shell.exitCode = 1;
      });
    });
}

interface CheckOptions extends ClientOptions, ConnectionOptions {
  readonly service?: string;
  readonly stage: SecretStage;
}

async function pairsOf(shell: Shell, client: string, options: ClientOptions): Promise<readonly Pair[]> {
  return provablePairs(shell, await findSecret(openSecrets(shell, options), client), options.environment);
}
