import type { Command } from 'commander';
import { Option } from 'commander';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import type { SecretStage } from '../../functions/contract.ts';
import { parseName } from './arguments.ts';
import { checkMembers, checkPairs, findingOf, type PairCheck } from './checks.ts';
import { type ClientOptions, provablePairs } from './client-options.ts';
import { addConnectionOptions, type ConnectionOptions, connect } from './connect.ts';
import { checkEndpoint } from './environment.ts';
import { CommandFailure, explainFailure } from './failure.ts';
import { printChecks } from './finding.ts';
import { printJson } from './output.ts';
import { openSecrets } from './secrets.ts';

/** `client check`: does the credential work on the client's services? */
export function addCheckCommand(parent: Command, signal: AbortSignal): void {
  addConnectionOptions(parent.command('check'))
    .description('Let the broker find out whether the credential of a client works; needs the operation check.')
    .argument('<client>', 'whose credential', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .addOption(new Option('--stage <stage>', 'which version').choices(STAGES).default('AWSCURRENT'))
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<CheckCommandOptions>();
      const { environment, service, stage, json } = options;
      if (service === undefined) checkEndpoint(options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      const broker = connect(options, command);
      await explainFailure({ ...options, client }, async () => {
        const pairs = service === undefined ? await pairsOf(client, options, signal) : [{ client, service }];
        const checks = await checkPairs(broker, pairs, { stage, signal });
        if (json) printJson({ environment, client, stage, checks: checks.map(checkMembers) });
        else printChecks(checks, environment);
        if (!checks.every(isAccepted)) process.exitCode = 1;
      });
    });
}

const STAGES: readonly SecretStage[] = ['AWSCURRENT', 'AWSPENDING', 'AWSPREVIOUS'];

interface CheckCommandOptions extends ClientOptions, ConnectionOptions {
  readonly region?: string;
  readonly service?: string;
  readonly stage: SecretStage;
}

async function pairsOf(client: string, options: ClientOptions, signal: AbortSignal): Promise<readonly Pair[]> {
  const secret = await openSecrets(options, signal).find(client);
  if (secret === undefined) throw noSuchClient(client);
  return provablePairs(secret, options.environment);
}

export function noSuchClient(client: string): CommandFailure {
  return new CommandFailure(
    'secret-missing',
    `There is no client "${client}" in this environment`,
    'client list shows which there are; client put makes one.',
  );
}

function isAccepted(check: PairCheck): boolean {
  return findingOf(check) === 'accepted';
}
