import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };

// Before anything else is loaded: reading TypeScript anew costs each call more than all its work. In a folder of this
// project, because code that is kept in a common one could be exchanged by another user of the machine.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/token-broker', import.meta.url)));
const { Option } = await import('commander');
const { parseName } = await import('../client/commands/options.ts');
const { createProgram, interruption, runProgram } = await import('../client/commands/program.ts');

const program = createProgram('token-broker')
  .description('Asks a token broker, and looks after one.')
  .version(packageJson.version, '--version', 'print the version of this command line')
  .addOption(
    new Option('--environment <name>', 'whose broker it is')
      .env('TOKEN_BROKER_ENVIRONMENT')
      .default('local')
      .argParser(parseName),
  );
const signal = interruption();

/** Commands that one file adds; only the file of the command that is asked for is loaded. */
interface CommandFile {
  readonly names: readonly string[];
  readonly addTo: (parent: Command) => Promise<void>;
}

const CLIENT_COMMANDS: readonly CommandFile[] = [
  {
    names: ['list', 'show'],
    addTo: async (parent) => (await import('./commands/client/list.ts')).addListCommands(parent, signal),
  },
  {
    names: ['put'],
    addTo: async (parent) => (await import('./commands/client/put.ts')).addPutCommand(parent, signal),
  },
  {
    names: ['check'],
    addTo: async (parent) => (await import('./commands/client/check.ts')).addCheckCommand(parent, signal),
  },
  {
    names: ['promote', 'rollback'],
    addTo: async (parent) => (await import('./commands/client/promote.ts')).addPromoteCommands(parent, signal),
  },
  {
    names: ['disable', 'enable'],
    addTo: async (parent) => (await import('./commands/client/disable.ts')).addDisableCommands(parent, signal),
  },
  {
    names: ['retry'],
    addTo: async (parent) => (await import('./commands/client/retry.ts')).addRetryCommand(parent, signal),
  },
  {
    names: ['delete'],
    addTo: async (parent) => (await import('./commands/client/delete.ts')).addDeleteCommand(parent, signal),
  },
];

const COMMANDS: readonly CommandFile[] = [
  {
    names: ['token'],
    addTo: async (parent) => (await import('../client/commands/token.ts')).addTokenCommand(parent, signal),
  },
  {
    names: ['whoami'],
    addTo: async (parent) => (await import('../client/commands/whoami.ts')).addWhoamiCommand(parent, signal),
  },
  { names: ['client'], addTo: addClientCommands },
  {
    names: ['health'],
    addTo: async (parent) => (await import('./commands/health.ts')).addHealthCommand(parent, signal),
  },
  {
    names: ['doctor'],
    addTo: async (parent) => (await import('./commands/doctor.ts')).addOperatorDoctorCommand(parent, signal),
  },
  {
    names: ['audit'],
    addTo: async (parent) => (await import('./commands/audit.ts')).addAuditCommand(parent, signal),
  },
  {
    names: ['policy'],
    addTo: async (parent) => (await import('./commands/policy.ts')).addOperatorPolicyCommand(parent),
  },
  {
    names: ['sealing-key'],
    addTo: async (parent) => (await import('./commands/sealing-key.ts')).addSealingKeyCommands(parent, signal),
  },
  {
    names: ['release'],
    addTo: async (parent) => (await import('./commands/release.ts')).addReleaseCommands(parent, signal),
  },
  { names: ['config'], addTo: async (parent) => (await import('./commands/config.ts')).addConfigCommand(parent) },
  {
    names: ['completion'],
    addTo: async (parent) => (await import('./commands/completion.ts')).addCompletionCommand(parent),
  },
];

let words: readonly string[] = [];
await runProgram(program, async () => {
  words = program.parseOptions(process.argv.slice(2)).operands;
  await addCommands(program, COMMANDS, words[0]);
  await refuseUnknown();
});

/** Adds the one command that is named, else all of them: to list or to complete them, or to find the nearest. */
async function addCommands(parent: Command, files: readonly CommandFile[], name: string | undefined): Promise<void> {
  const named = files.filter(({ names }) => name !== undefined && name !== 'completion' && names.includes(name));
  for (const { addTo } of named.length > 0 ? named : files) await addTo(parent);
}

/** `client`: what an operator does with the credentials of clients. */
async function addClientCommands(parent: Command): Promise<void> {
  const client = parent
    .command('client')
    .description("Look after the clients' credentials.")
    .addHelpText('after', '\ndocs/operations.md tells which of them to use when.');
  await addCommands(client, CLIENT_COMMANDS, words[0] === 'client' ? words[1] : undefined);
}

/** Wrong usage for a command that is not there, with those that a person may have meant, also below `client`. */
async function refuseUnknown(): Promise<void> {
  const [first, second] = words;
  const all = COMMANDS.flatMap(({ names }) => names);
  const ofClient = CLIENT_COMMANDS.flatMap(({ names }) => names);
  const isKnown = first === undefined || first === 'help' || (all.includes(first) && first !== 'client');
  if (isKnown || (first === 'client' && [undefined, 'help', ...ofClient].includes(second))) return;

  const { nearestNames } = await import('./commands/shared/client-secret.ts');
  const word = first === 'client' ? (second ?? '') : first;
  const places = [...(first === 'client' ? [] : all), ...ofClient];
  const near = nearestNames(word, places).map((name) => (ofClient.includes(name) ? `client ${name}` : name));
  const hint = near.length === 0 ? '' : `\n(Did you mean ${near.join(' or ')}?)`;
  program.error(`error: unknown command '${word}'${hint}`);
}
