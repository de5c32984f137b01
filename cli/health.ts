import { type Command, Option } from 'commander';
import { isFailure } from '../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseWhole } from '../client/commands/options.ts';
import { note, timeText } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import { orderLocalBroker } from './local.ts';
import { askForChecks, checkMembers, findingOf, mapConcurrently, type PairCheck } from './shared/checks.ts';
import { checkedPairs, noteCredentials } from './shared/client-secret.ts';
import { findingsTable, summaryOf } from './shared/health-run.ts';
import { answer, type CommandOptions, checkEndpoints, operate, pause } from './shared/operate.ts';
import { openSecrets } from './shared/secrets.ts';

/** Adds `health`, which checks every credential now. */
export function addHealthCommand(program: Command, shell: Shell): void {
  const watched = new Option('--watch [seconds]', 'repeat it, every 60 s if you name no time, until Ctrl-C').preset(
    '60',
  );
  const health = addConnectionOptions(program.command('health'))
    .description('Check every credential and show a table of clients and services; needs the operation check.')
    .option('--run', 'let the local broker run its schedule first')
    .addOption(watched.argParser(parseWhole('seconds', 1, 3_600)).conflicts(['json', 'run']));
  operate<HealthOptions>(health, shell, [], async (options) => {
    const { environment, run } = options;
    if (run) await orderLocalBroker(shell, '/schedule');
    checkEndpoints(shell, options, ['SECRETS_MANAGER'], health);
    const broker = connect(shell, options, health);
    const secrets = openSecrets(shell, options);
    const look = async () => {
      const clients = (await secrets.list()).filter(({ deletedAt }) => deletedAt === undefined);
      const pairs = clients.flatMap((client) => checkedPairs(shell, client, environment));
      return { clients, checks: await askForChecks(shell, broker, pairs) };
    };
    if (options.watch !== undefined) {
      const shown = (pairs: ReturnType<typeof findingsOf>) => `${summaryOf(pairs)}\n${findingsTable(pairs, shell)}`;
      return watch(shell, async () => shown(findingsOf((await look()).checks)), options);
    }
    const { clients, checks } = await look();
    const found = findingsOf(checks);
    answer(shell, options, { checks: checks.map((check) => checkMembers(check)) }, findingsTable(found, shell));
    note(shell, summaryOf(found));
    // An empty list is usually a mistake, although all of its checks succeed.
    if (checks.length === 0) note(shell, NOTHING);
    // A disabled client was stopped intentionally.
    const isWell = found.every(({ finding }) => ['accepted', 'disabled'].includes(finding));
    if (checks.length === 0 || !isWell) shell.exitCode = 1;
    noteCredentials(shell, await mapConcurrently(clients, secrets.dated), environment);
  });
}

interface HealthOptions extends ConnectionOptions, CommandOptions {
  readonly run?: boolean;
  /** Seconds between two rounds. */
  readonly watch?: number;
}

/**
 * Repeats `look` and shows its text until Ctrl-C, or until the output has no reader any more (`| grep -m1 accepted`). A
 * failure of the first round ends the command, others are shown.
 */
async function watch(shell: Shell, look: () => Promise<string>, { environment, watch: seconds = 0 }: HealthOptions) {
  const unread = new AbortController();
  shell.stdout.once('error', () => unread.abort());
  const signal = AbortSignal.any([shell.signal, unread.signal]);
  for (let round = 1; !unread.signal.aborted; round += 1) {
    try {
      const shown = await look();
      shell.stdout.write(`${shell.stdout.isTTY ? CLEAR : ''}${environment}  ${timeText(Date.now())}  ${shown}`);
    } catch (error) {
      if (round === 1 || !isFailure(error) || error.type === 'aborted') throw error;
      note(shell, `error: ${error.message}`);
    }
    await pause({ signal }, seconds * 1_000).catch((error) => {
      if (!unread.signal.aborted) throw error;
    });
  }
}

/** Moves the cursor to the top left of the terminal, and clears the screen below. */
const CLEAR = '\u001b[H\u001b[J';

const NOTHING = 'There is nothing to check: is this the right environment, and does it have a client?';

function findingsOf(checks: readonly PairCheck[]) {
  return checks.map((check) => ({ client: check.client, service: check.service, finding: findingOf(check) }));
}
