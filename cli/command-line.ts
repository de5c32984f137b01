import { type Command, InvalidArgumentError, Option } from 'commander';
import { explainFailure } from '../client/commands/failure.ts';
import { readPair } from '../client/commands/options.ts';
import { createProgram, runProgram } from '../client/commands/program.ts';
import type { Shell } from '../client/commands/shell.ts';
import { SETTINGS_VARIABLE } from '../lib/settings/names.ts';
import packageJson from '../package.json' with { type: 'json' };

/** Runs the named command with the streams and variables of the shell. Returns the exit code. */
export async function runCommandLine(words: readonly string[], shell: Shell): Promise<number> {
  // The `help` of `commander` finds no command below `client`.
  const args = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
  const environment = new Option('--environment <name>', 'which broker').env('TOKEN_BROKER_ENVIRONMENT');
  const program = createProgram('token-broker', shell)
    .description('Use and operate a token broker.')
    .version(packageJson.version, '--version', 'print the version of this command line')
    .addOption(environment.default('local'))
    // `useSettings` takes it out of the arguments first: the CDK's process must read the same file.
    .option('--settings <file>', `the settings of the broker (env: ${SETTINGS_VARIABLE})`, () => {
      throw new InvalidArgumentError('It must name one file.');
    })
    .addHelpText('afterAll', ({ command }) => exampleOf(command));
  // Most commands of the client package use no environment: read the settings only if an environment is named.
  program.hook('preAction', async (_, command) => {
    const { environment } = command.optsWithGlobals();
    const source = program.getOptionValueSource('environment');
    if (source === 'default') return;
    const { checkEnvironment, checkService } = await import('./shared/settings.ts');
    checkEnvironment(environment, source, command);
    if (!/^(token|doctor)$/.test(command.name())) return;
    checkService(shell, readPair(command).service, environment, command);
  });
  const addCommands = async () => {
    const client = program
      .command('client')
      .helpGroup('Clients:')
      .description("Manage the clients' credentials.")
      .addHelpText(
        'after',
        `
latch: a service rejected this version, so it is sent at most twice more; client retry ends it.
hold: a service answered this version with an error, so it waits for up to an hour.
pause: a service failed, so nothing is sent for the pair for up to five minutes.
docs/runbook.md says when to use which command.`,
      );
    const operands = program.parseOptions([...args]).operands.slice(0, 2);
    const typed = (operands[0] === 'client' ? operands : operands.slice(0, 1)).join(' ');
    const named = COMMANDS.filter(([names]) => names.includes(typed));
    // Help and an unknown command need all commands.
    for (const [[name], load, group] of named.length > 0 ? named : COMMANDS) {
      (await load())(name.startsWith('client ') ? client : program, shell);
      if (group !== undefined) program.commands.at(-1)?.helpGroup(group);
    }
    if (!/^(help|client|client help)?$/.test(typed) && named.length === 0) await refuse(program, typed);
  };
  let exitCode = 1;
  // The settings may be wrong already when an option is parsed.
  await explainFailure(shell, {}, async () => {
    exitCode = await runProgram(program, args, shell, addCommands);
  });
  return exitCode;
}

type AddCommands = (parent: Command, shell: Shell) => unknown;

type Loaded = readonly [names: readonly [string, ...string[]], load: () => Promise<AddCommands>, group?: string];

/** The commands of each file, and their group in the help. Only the file of the named command is loaded. */
const COMMANDS: readonly Loaded[] = [
  [['token'], async () => (await import('../client/commands/token.ts')).addTokenCommand, 'Calls:'],
  [['whoami'], async () => (await import('../client/commands/whoami.ts')).addWhoamiCommand, 'Calls:'],
  [['serve'], async () => (await import('../client/commands/serve.ts')).addServeCommand, 'Calls:'],
  [['client list', 'client show'], async () => (await import('./clients/list.ts')).addListCommands],
  [['client put'], async () => (await import('./clients/put.ts')).addPutCommand],
  [
    ['client check', 'client promote', 'client rollback'],
    async () => (await import('./clients/versions.ts')).addVersionCommands,
  ],
  [['client disable', 'client enable'], async () => (await import('./clients/disable.ts')).addDisableCommands],
  [['client retry'], async () => (await import('./clients/retry.ts')).addRetryCommand],
  [
    ['client discard', 'client delete', 'client restore'],
    async () => (await import('./clients/versions.ts')).addDeletionCommands,
  ],
  [['health'], async () => (await import('./health.ts')).addHealthCommand, 'Clients:'],
  [['doctor'], async () => (await import('./doctor.ts')).addOperatorDoctorCommand, 'Calls:'],
  [['audit'], async () => (await import('./audit.ts')).addAuditCommand, 'Calls:'],
  [['policy'], async () => (await import('./policy.ts')).addOperatorPolicyCommand, 'The deployment:'],
  [['sealing-key'], async () => (await import('./sealing-key.ts')).addSealingKeyCommands, 'The deployment:'],
  [['release'], async () => (await import('./release.ts')).addReleaseCommands, 'The deployment:'],
  [['config'], async () => (await import('./config.ts')).addConfigCommand, 'The deployment:'],
  [['env'], async () => (await import('./local.ts')).addEnvCommand, 'This machine:'],
  [['service'], async () => (await import('./local.ts')).addServiceCommand, 'This machine:'],
];

/** A value of each argument, for the examples. */
const VALUES: Readonly<Record<string, string>> = {
  client: 'acme',
  service: 'customer-insights',
  caller: 'operator',
  environment: 'prod',
  'role-arn': 'arn:aws:iam::444444444444:role/reporting --environment prod',
};

/** The options in the examples of some commands. */
const OPTIONS: Readonly<Record<string, string>> = {
  audit: '--since 1d',
  service: '--down',
  'client put': '--expires 2099-03-01',
  'client discard': '--previous',
};

/** Returns the example in the help of a command that has no commands below it. */
function exampleOf(command: Command): string {
  const parent = command.parent?.parent ? `${command.parent.name()} ` : '';
  const name = `${parent}${command.name()}`;
  // The command token has examples of its own.
  if (command.commands.length > 0 || name === 'token') return '';
  const words = command.registeredArguments.map((argument) => VALUES[argument.name()]);
  return `\nExample:\n  $ ${['npm run token-broker --', name, ...words, OPTIONS[name]].filter(Boolean).join(' ')}`;
}

/** Fails as wrong usage, and suggests the commands nearest to the typed word, also below `client`. */
async function refuse(program: Command, typed: string): Promise<void> {
  const { nearestNames } = await import('./shared/client-secret.ts');
  const lastOf = (name: string) => name.slice(name.indexOf(' ') + 1);
  const all = COMMANDS.flatMap(([names]) => names);
  const names = [...new Set(all.flatMap((name) => [name.split(' ', 1)[0] ?? name, name]))];
  const near = nearestNames(lastOf(typed), names.map(lastOf));
  const meant = names.filter((name) => near.includes(lastOf(name))).join(' or ');
  program.error(`error: unknown command '${lastOf(typed)}'${meant === '' ? '' : `\n(Did you mean ${meant}?)`}`);
}
