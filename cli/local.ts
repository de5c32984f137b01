import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { aborted, CommandFailure, terminalCommand } from '../client/commands/failure.ts';
import { parseName } from '../client/commands/options.ts';
import { note, printLine } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import { causeWord } from '../functions/aws/calls.ts';
import { LOCAL_ENVIRONMENT } from '../lib/settings/names.ts';
import { readPort } from '../local/config.ts';
import { INCIDENTS, TABLE_INCIDENTS } from '../local/incidents.ts';
import { exportLine, powershellLines, type ShellFile, shellFile, unsetLines } from '../local/shell.ts';
import { type CommandOptions, operate } from './shared/operate.ts';
import { checkService } from './shared/settings.ts';

/** Adds `env`, which prints the variables that make a terminal a caller of the broker of `npm start`. */
export function addEnvCommand(program: Command, shell: Shell): void {
  const env = program
    .command('env')
    .description(
      'Print, for eval, what makes a terminal a caller of the local broker; without a name, list its callers.',
    )
    .argument('[caller]', 'operator (a caller that may check), or the role name of a caller')
    .option('--unset', 'print the command that removes the variables')
    .option('--powershell', 'print it for PowerShell, to be piped to Invoke-Expression');
  operate<LocalOptions>(env, shell, [], async ({ client: name, unset, powershell }) => {
    if (unset) {
      for (const line of unsetLines(powershell)) printLine(shell, line);
      return note(shell, NOT_RESTORED);
    }
    const { callers } = readShellFile(portOf(shell, env));
    const names = Object.keys(callers);
    if (name === undefined) {
      for (const caller of names) printLine(shell, caller);
      return;
    }
    const variables = Object.hasOwn(callers, name) ? callers[name] : undefined;
    if (variables === undefined) {
      return env.error(`error: the local broker has no such caller: it has ${names.join(', ')}`);
    }
    for (const line of powershell ? powershellLines(variables) : [exportLine(variables)]) printLine(shell, line);
  });
}

const NOT_RESTORED =
  'Variables that the terminal had before, such as AWS_PROFILE and AWS_REGION, are not restored: set them again, or open another terminal.';

interface LocalOptions extends CommandOptions {
  /** The argument. */
  readonly client?: string;
  readonly unset?: boolean;
  readonly powershell?: boolean;
}

function portOf({ env }: Shell, command: Command): number {
  try {
    return readPort(env.PORT);
  } catch {
    return command.error('error: PORT is not the port of a local broker');
  }
}

/** Reads the file that a running broker keeps for its port. The process id shows whether the file is stale. */
function readShellFile(port: number): ShellFile {
  try {
    const left: ShellFile = JSON.parse(readFileSync(shellFile(port), 'utf8'));
    process.kill(left.pid, 0);
    return left;
  } catch {
    throw new CommandFailure(
      'broker-not-running',
      `No local broker of this folder runs on port ${port}`,
      'Start it with npm start; if it listens on another port, set PORT to that port.',
    );
  }
}

/** Adds `service`, which rehearses an incident of a service, or of the broker's table, on this machine. */
export function addServiceCommand(program: Command, shell: Shell): void {
  const command = program
    .command('service')
    .description("Make a service of npm start, or the broker's table, fail, to rehearse an incident, or work again.")
    .argument('[service]', 'the service; without it, the table', parseName);
  const flags = Object.entries({ ...TABLE_INCIDENTS, ...INCIDENTS }).map(([mode, { says }]) => {
    return new Option(`--${mode}`, says);
  });
  for (const flag of flags) command.addOption(flag);
  operate<LocalOptions>(command, shell, [], async ({ environment, client: service }) => {
    const incidents: Readonly<Record<string, { readonly says: string }>> = service ? INCIDENTS : TABLE_INCIDENTS;
    const chosen = flags.filter((flag) => command.getOptionValue(flag.attributeName()));
    const [mode = '', ...others] = chosen.map((flag) => flag.name());
    const incident = incidents[mode];
    if (incident === undefined || others.length > 0) {
      const named = Object.keys(incidents).map((name) => `--${name}`);
      return command.error(`error: choose one of ${named.join(', ')} for ${service ?? 'the table, or name a service'}`);
    }
    if (environment !== LOCAL_ENVIRONMENT) {
      return command.error(`error: only a service of npm start can be made to fail, not a service of "${environment}"`);
    }
    checkService(shell, service, environment, command);
    const stage = service ?? 'table';
    await orderLocalBroker(shell, '/incident', { service: stage, name: mode });
    note(shell, `${stage}: ${incident.says}`);
  });
}

/** Sends an order to the page of the local broker that the variables name. Rejects any address but this machine's. */
export async function orderLocalBroker(
  { env, signal }: Shell,
  path: '/schedule' | '/incident',
  form: object = {},
): Promise<void> {
  const advice = path === '/schedule' ? `${ADVICE} In AWS, health without --run checks now.` : ADVICE;
  const text = env.TOKEN_BROKER_CONTROL_URL ?? '';
  const url = URL.canParse(text) ? new URL(path, text) : undefined;
  if (url?.protocol !== 'http:' || !/^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname)) {
    throw new CommandFailure('control-unknown', 'TOKEN_BROKER_CONTROL_URL names no local broker', advice);
  }
  // The page takes orders of its own origin only.
  const headers = { origin: url.origin, 'content-type': 'application/json' };
  const request = { method: 'POST', headers, body: JSON.stringify(form), redirect: 'manual', signal } as const;
  const { status } = await fetch(url, request).catch((error) => {
    if (signal.aborted) throw aborted();
    const word = causeWord(error.cause ?? error);
    throw new CommandFailure('control-unreachable', `Nothing answers at ${url.origin} (${word})`, advice);
  });
  if (status === 200) return;
  throw new CommandFailure('control-failed', `The local broker answered ${status}`, advice);
}

const ADVICE = `npm start runs a local broker, and ${terminalCommand('operator')} sets its variables.`;
