import type { Command } from 'commander';
import { explainFailure } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { printJson, printTable } from '../../client/commands/output.ts';
import { environments } from '../../lib/environments.ts';
import { listSettings } from '../../lib/settings/listing.ts';
import { knownSettings } from './shared/environment.ts';

/** `config`: with which settings an environment would be deployed. */
export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('Print all settings of an environment, its defaults too; offline, without AWS credentials.')
    .argument('[environment]', 'which one (default: --environment)', parseName)
    .option('--json', 'answer in JSON')
    .action(async (named: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<{ readonly environment: string; readonly json?: boolean }>();
      const environment = named ?? options.environment;
      await explainFailure({ ...options, environment }, async () => {
        const { name: _name, ...settings } = knownSettings(environment, command);
        const listed = listSettings(environments[environment], { name: environment, ...settings });
        if (options.json) {
          const defaults = listed.filter(({ source }) => source === 'default').map(({ path }) => path);
          printJson({ environment, settings, defaults });
          return;
        }
        printTable(
          ['SETTING', 'VALUE', 'FROM'],
          listed.map(({ path, value, source }) => [path, textOf(value), source]),
        );
      });
    });
}

function textOf(value: unknown): string {
  if (value === undefined) return '-';
  return Array.isArray(value) && value.length > 0
    ? value.join(', ')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
}
