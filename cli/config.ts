import type { Command } from 'commander';
import { printJson } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import { stackName } from '../lib/settings/names.ts';
import { showPath } from '../lib/settings/schema.ts';
import { answer, type CommandOptions, operate } from './shared/operate.ts';
import { knownSettings, parseEnvironmentName, settingsFile } from './shared/settings.ts';
import { tableText } from './shared/table.ts';

/** Adds `config`, which prints the settings with which an environment would be deployed. */
export function addConfigCommand(program: Command, shell: Shell): void {
  const config = program
    .command('config')
    .description('Print the settings of an environment with the defaults; works offline, without AWS credentials.')
    .argument('[environment]', 'the environment (default: --environment)', parseEnvironmentName)
    .option('--json', 'answer in JSON')
    .option('--key-policy', 'print the statements that a key of your own (keyArn) needs in its policy');
  operate<ConfigOptions>(config, shell, [], async (options) => {
    const { keyPolicy, json } = options;
    const environment: string = config.processedArgs[0] ?? options.environment;
    const settings = knownSettings(environment, config);
    if (keyPolicy) return printJson(shell, await policyOfKey(environment, settings));
    const { environments, organisation } = settingsFile();
    const { name: _name, folder: _folder, ...members } = settings;
    const required = Object.entries(organisation);
    const all = [
      ...settingsIn(members, environments[environment], []),
      ...required.map(([key, value]) => ({ path: `organisation.${key}`, value, source: 'written' })),
    ];
    const rows = all.map(({ path, value, source }) => [path, textOf(value), source]);
    const table = tableText(['SETTING', 'VALUE', 'FROM'], rows, shell);
    answer(shell, { environment, json }, { settings: all }, table);
  });
}

interface ConfigOptions extends CommandOptions {
  readonly keyPolicy?: boolean;
}

/** Lists the settings in a value, each with its path in the form of error messages: `services.insights.tokenPath`. */
function settingsIn(value: unknown, written: unknown, steps: readonly PropertyKey[]): readonly Setting[] {
  const entries = Object.entries(membersOf(value));
  const source = written === undefined ? 'default' : 'written';
  if (entries.length === 0) return [{ path: showPath(steps), value, source }];
  return entries.flatMap(([key, inner]) => {
    const step = Array.isArray(value) ? Number(key) : key;
    return settingsIn(inner, membersOf(written)[key], [...steps, step]);
  });
}

interface Setting {
  readonly path: string;
  readonly value: unknown;
  readonly source: 'written' | 'default';
}

/** Returns the members of an object or of a list of objects. A list of names is a single value. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return {};
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return {};
  return Object.fromEntries(Object.entries(value));
}

/** Loads the CDK here only, because that takes a second. */
async function policyOfKey(environment: string, env: { readonly account: string; readonly region: string }) {
  const { App, Stack } = await import('aws-cdk-lib');
  const { keyPolicy } = await import('../lib/data/client-secrets.ts');
  const app = new App({ analyticsReporting: false, context: settingsFile().context });
  const stack = new Stack(app, stackName(environment), { env });
  return stack.resolve(keyPolicy(stack, environment));
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
