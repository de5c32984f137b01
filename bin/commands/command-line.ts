import { type Command, Option } from 'commander';
import { parseName } from '../../client/commands/options.ts';
import { createProgram, runProgram } from '../../client/commands/program.ts';
import type { Shell } from '../../client/commands/shell.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Runs what the arguments name, with the streams and the variables of the shell; gives the exit code. */
export function runCommandLine(args: readonly string[], shell: Shell): Promise<number> {
  const environment = new Option('--environment <name>', 'whose broker it is').env('TOKEN_BROKER_ENVIRONMENT');
  const program = createProgram('token-broker', shell)
    .description('Asks a token broker, and looks after one.')
    .version(packageJson.version, '--version', 'print the version of this command line')
    .addOption(environment.default('local').argParser(parseName));
  return runProgram(program, args, shell, async () => {
    const words = program.parseOptions([...args]).operands;
    await addCommands(COMMANDS, program, shell, words);
    await refuseUnknown(program, words);
  });
}

/** The commands that one file adds; only the file of the command that is asked for is loaded. */
type CommandFile = readonly [names: readonly string[], load: () => Promise<AddCommands>];

/** The words are those that are typed behind the name of the parent. */
type AddCommands = (parent: Command, shell: Shell, words: readonly string[]) => unknown;

const CLIENT_COMMANDS: readonly CommandFile[] = [
  [['list', 'show'], async () => (await import('./client/list.ts')).addListCommands],
  [['put'], async () => (await import('./client/put.ts')).addPutCommand],
  [['check'], async () => (await import('./client/check.ts')).addCheckCommand],
  [['promote', 'rollback'], async () => (await import('./client/promote.ts')).addPromoteCommands],
  [['disable', 'enable'], async () => (await import('./client/disable.ts')).addDisableCommands],
  [['retry'], async () => (await import('./client/retry.ts')).addRetryCommand],
  [['delete'], async () => (await import('./client/delete.ts')).addDeleteCommand],
];

const COMMANDS: readonly CommandFile[] = [
  [['token'], async () => (await import('../../client/commands/token.ts')).addTokenCommand],
  [['whoami'], async () => (await import('../../client/commands/whoami.ts')).addWhoamiCommand],
  [['client'], async () => addClientCommands],
  [['health'], async () => (await import('./health.ts')).addHealthCommand],
  [['doctor'], async () => (await import('./doctor.ts')).addOperatorDoctorCommand],
  [['audit'], async () => (await import('./audit.ts')).addAuditCommand],
  [['policy'], async () => (await import('./policy.ts')).addOperatorPolicyCommand],
  [['sealing-key'], async () => (await import('./sealing-key.ts')).addSealingKeyCommands],
  [['release'], async () => (await import('./release.ts')).addReleaseCommands],
  [['config'], async () => (await import('./config.ts')).addConfigCommand],
  [['env'], async () => (await import('./env.ts')).addEnvCommand],
  [['service'], async () => (await import('./service.ts')).addServiceCommand],
  [['completion'], async () => (await import('./completion.ts')).addCompletionCommand],
];

/** Adds the one command that is named, else all of them: to list or to complete them, or to find the nearest. */
async function addCommands(files: readonly CommandFile[], ...[parent, shell, words]: Parameters<AddCommands>) {
  const [name = '', ...rest] = words;
  const named = files.filter(([names]) => name !== 'completion' && names.includes(name));
  for (const [, load] of named.length > 0 ? named : files) await (await load())(parent, shell, rest);
}

/** `client`: what an operator does with the credentials of clients. */
async function addClientCommands(...[parent, shell, words]: Parameters<AddCommands>): Promise<void> {
  const client = parent
    .command('client')
    .description("Look after the clients' credentials.")
    .addHelpText('after', '\ndocs/operations.md tells which of them to use when.');
  await addCommands(CLIENT_COMMANDS, client, shell, words);
}

/** Wrong usage for a command that is not there, with those that a person may have meant, also below `client`. */
async function refuseUnknown(program: Command, [first, second]: readonly string[]): Promise<void> {
  const all = COMMANDS.flatMap(([names]) => names);
  const ofClient = CLIENT_COMMANDS.flatMap(([names]) => names);
  const isKnown = first === undefined || first === 'help' || (all.includes(first) && first !== 'client');
  if (isKnown || (first === 'client' && [undefined, 'help', ...ofClient].includes(second))) return;

  const { nearestNames } = await import('./shared/client-secret.ts');
  const word = first === 'client' ? (second ?? '') : first;
  const places = [...(first === 'client' ? [] : all), ...ofClient];
  const near = nearestNames(word, places).map((name) => (ofClient.includes(name) ? `client ${name}` : name));
  const hint = near.length === 0 ? '' : `\n(Did you mean ${near.join(' or ')}?)`;
  program.error(`error: unknown command '${word}'${hint}`);
}
