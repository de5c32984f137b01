import type { Command } from 'commander';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { environments } from '../../lib/environments.ts';
import { listSettings } from '../../lib/settings/listing.ts';
import { stackName } from '../../lib/settings/names.ts';
import { knownSettings } from './shared/environment.ts';
import { explainFailure } from './shared/failure.ts';
import { parseName } from './shared/options.ts';
import { printJson, printTable } from './shared/output.ts';

/** `config`: with which settings an environment would be deployed. */
export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('Print all settings of an environment, its defaults too; offline, without AWS credentials.')
    .argument('[environment]', 'which one (default: --environment)', parseName)
    .option('--json', 'answer in JSON')
    .option('--key-policy', 'print the statements that a key of your own (keyArn) needs in its policy')
    .action(async (named: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const environment = named ?? options.environment;
      await explainFailure({ ...options, environment }, async () => {
        const { name: _name, ...settings } = knownSettings(environment, command);
        if (options.keyPolicy) return printJson(await policyOfKey(environment, settings));
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

interface Options {
  readonly environment: string;
  readonly json?: boolean;
  readonly keyPolicy?: boolean;
}

/** Loaded here alone, because the CDK takes a second to load. */
async function policyOfKey(environment: string, env: { readonly account: string; readonly region: string }) {
  const [{ App, Stack }, { keyPolicy }] = await Promise.all([
    import('aws-cdk-lib'),
    import('../../lib/data/client-secrets.ts'),
  ]);
  const app = new App({ analyticsReporting: false, context: cdkJson.context });
  const stack = new Stack(app, stackName(environment), { env });
  return stack.resolve(keyPolicy(stack, environment));
}

function textOf(value: unknown): string {
  if (value === undefined) return '-';
  return Array.isArray(value) && value.length > 0
    ? value.join(', ')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
}
