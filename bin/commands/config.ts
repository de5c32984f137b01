import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { parseName } from '../../client/commands/options.ts';
import { printJson, printTable } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { environments } from '../../lib/environments.ts';
import { type Environment, parseEnvironment } from '../../lib/settings/environment.ts';
import { type ListedSetting, listSettings } from '../../lib/settings/listing.ts';
import { stackName } from '../../lib/settings/names.ts';
import { exampleConfig } from '../local/config.ts';
import { type CommandOptions, isLocal, knownSettings, operate } from './shared/environment.ts';

/** `config`: with which settings an environment would be deployed. */
export function addConfigCommand(program: Command, shell: Shell): void {
  program
    .command('config')
    .description('Print all settings of an environment, its defaults too; offline, without AWS credentials.')
    .argument('[environment]', 'which one (default: --environment)', parseName)
    .option('--changed', 'only what differs from the defaults')
    .option('--json', 'answer in JSON')
    .option('--key-policy', 'print the statements that a key of your own (keyArn) needs in its policy')
    .action(
      operate<ConfigOptions>(shell, [], async (options, command) => {
        const { changed, keyPolicy, json } = options;
        const environment: string = command.processedArgs[0] ?? options.environment;
        const form = isLocal(environment) ? LOCAL_FORM : environments[environment];
        const settings = isLocal(environment)
          ? parseEnvironment(environment, LOCAL_FORM)
          : knownSettings(environment, command);
        if (keyPolicy) return printJson(shell, await policyOfKey(environment, settings));
        const defaults = defaultsOf(settings);
        const differs = ({ path, value, source }: ListedSetting) =>
          source === 'written' && !(defaults.has(path) && isDeepStrictEqual(value, defaults.get(path)));
        const listed = listSettings(form, settings).filter(
          (setting) => isUsed(environment, setting.path) && (!changed || differs(setting)),
        );
        if (json) return printJson(shell, { environment, settings: listed });
        const rows = listed.map(({ path, value, source }) => [path, textOf(value), source]);
        printTable(shell, ['SETTING', 'VALUE', 'FROM'], rows);
      }),
    );
}

interface ConfigOptions extends CommandOptions {
  readonly changed?: boolean;
  readonly keyPolicy?: boolean;
}

/** By their paths, for an environment with the same services and rules that leaves to its defaults what it can. */
function defaultsOf({ name, account, region, accessRules, services }: Environment): ReadonlyMap<string, unknown> {
  const addresses = Object.entries(services).map(([service, { authUrl }]) => [service, { authUrl }]);
  const form = { account, region, accessRules, services: Object.fromEntries(addresses) };
  const left = listSettings(form, parseEnvironment(name, form)).filter(({ source }) => source === 'default');
  return new Map(left.map(({ path, value }) => [path, value]));
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

/** What `npm start` runs with: made-up services, whose addresses it prints. */
const { services, accessRules } = exampleConfig(() => 'https://printed-by-npm-start.example.com');
const LOCAL_FORM = { account: '111111111111', region: 'us-east-1', services, accessRules };

/** On this machine most settings of a stack do nothing. */
function isUsed(environment: string, path: string): boolean {
  return !isLocal(environment) || /^(account|region|services|accessRules|health)\b/.test(path);
}

function textOf(value: unknown): string {
  if (value === undefined) return '-';
  if (Array.isArray(value) && value.length > 0) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
