import type { Command } from 'commander';
import { parseName } from './arguments.ts';
import { addRegionOption, addTableOption, type ClientOptions } from './client-options.ts';
import { explainFailure } from './failure.ts';
import { shortVersion } from './finding.ts';
import { printJson, printTable, talk } from './output.ts';
import { changePairs } from './pair-changes.ts';

/** `client retry`: lets rejected versions be sent again. */
export function addRetryCommand(parent: Command, signal: AbortSignal): void {
  addTableOption(addRegionOption(parent.command('retry')))
    .description('Let a rejected credential be sent again, once its service has been mended.')
    .argument('<client>', 'the client', parseName)
    .option('--service <name>', 'on this service only', parseName)
    .option('--json', 'answer in JSON')
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RetryCommandOptions>();
      const { environment, json } = options;
      await explainFailure({ ...options, client }, async () => {
        const changed = await changePairs(client, options, { command, signal }, (admin, pair) =>
          admin.clearLatches(pair),
        );
        const cleared = changed.map(({ pair, result }) => ({ service: pair.service, versions: result }));
        if (json) printJson({ environment, client, cleared });
        else printTable(['SERVICE', 'CLEARED VERSIONS'], cleared.map(row));
        talk(
          cleared.every(({ versions }) => versions.length === 0)
            ? 'Nothing was latched.'
            : 'Each of these versions may be sent again, up to three times: if it is still wrong, the service may lock the account.',
        );
      });
    });
}

interface RetryCommandOptions extends ClientOptions {
  readonly service?: string;
  readonly table?: string;
}

function row({ service, versions }: { readonly service: string; readonly versions: readonly string[] }) {
  return [service, versions.map(shortVersion).join(' ') || '-'];
}
