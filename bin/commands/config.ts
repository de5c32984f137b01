import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { explainFailure } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { printJson, printTable } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { environments } from '../../lib/environments.ts';
import { type Environment, parseEnvironment } from '../../lib/settings/environment.ts';
import { type ListedSetting, listSettings } from '../../lib/settings/listing.ts';
import { stackName } from '../../lib/settings/names.ts';
import { exampleConfig } from '../local/config.ts';
import { isLocal, knownSettings } from './shared/environment.ts';

/** `config`: with which settings an environment would be deployed. */
export function addConfigCommand(program: Command, shell: Shell): void {
  program
    .command('config')
    .description('Print all settings of an environment, its defaults too; offline, without AWS credentials.')
    .argument('[environment]', 'which one (default: --environment)', parseName)
    .option('--changed', 'only what differs from the defaults')
    .option('--json', 'answer in JSON')
    .option('--key-policy', 'print the statements that a key of your own (keyArn) needs in its policy')
    .action(async (named: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<{
        readonly environment: string;
        readonly changed?: boolean;
        readonly keyPolicy?: boolean;
        readonly json?: boolean;
      }>();
      const environment = named ?? options.environment;
      await explainFailure(shell, { ...options, environment }, async () => {
        const form = isLocal(environment) ? LOCAL_FORM : environments[environment];
        const { name: _name, ...settings } = isLocal(environment)
          ? parseEnvironment(environment, LOCAL_FORM)
          : knownSettings(environment, command);
        if (options.keyPolicy) return printJson(shell, await policyOfKey(environment, settings));
        const all = listSettings(form, { name: environment, ...settings }).flatMap((setting) =>
          isLocal(environment) ? (asStarted(setting) ?? []) : [setting],
        );
        const listed = options.changed ? changedOf(all, environment, settings) : all;
        if (options.json) {
          const defaults = listed.filter(({ source }) => source === 'default').map(({ path }) => path);
          printJson(
            shell,
            isLocal(environment) || options.changed
              ? { environment, settings: Object.fromEntries(listed.map(({ path, value }) => [path, value])) }
              : { environment, settings, defaults },
          );
          return;
        }
        printTable(
          shell,
          ['SETTING', 'VALUE', 'FROM'],
          listed.map(({ path, value, source }) => [path, textOf(value), source]),
        );
      });
    });
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

/** What `npm start` runs with: made-up services, whose address it prints. */
const { services, accessRules } = exampleConfig(() => 'https://stand-in.example.com');
const LOCAL_FORM = { account: '111111111111', region: 'us-east-1', services, accessRules };

/** What of a setting matters on this machine; `undefined` when nothing does. */
function asStarted(setting: ListedSetting): ListedSetting | undefined {
  if (setting.path.endsWith('.authUrl')) return { ...setting, value: 'as npm start prints it' };
  return /^(account|region|services|accessRules|health)\b/.test(setting.path) ? setting : undefined;
}

/** The settings that are written, and not just the default once more. */
function changedOf(listed: readonly ListedSetting[], name: string, settings: Omit<Environment, 'name'>) {
  const { account, region, accessRules } = settings;
  const services = Object.entries(settings.services).map(([service, { authUrl }]) => [service, { authUrl }]);
  const least = { account, region, accessRules, services: Object.fromEntries(services) };
  const defaults = new Map(
    listSettings(least, parseEnvironment(name, least)).flatMap(({ path, value, source }) =>
      source === 'default' ? [[path, value] as const] : [],
    ),
  );
  return listed.filter(
    ({ path, value, source }) => source === 'written' && !isDeepStrictEqual(value, defaults.get(path)),
  );
}

function textOf(value: unknown): string {
  if (value === undefined) return '-';
  return Array.isArray(value) && value.length > 0
    ? value.join(', ')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
}
