import { setImmediate } from 'node:timers/promises';
import { Command, CommanderError, Option } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { note, printJson } from '../client/commands/output.ts';
import { type Simulated, simulateDay } from './day/day.ts';
import { tableOf } from './day/table.ts';
import { type Scale, WAYS } from './day/world.ts';

/** `npm run simulate`: data on stdout, progress on stderr. Exits with 0 done, 1 failed, 2 wrong usage, 130 Ctrl-C. */
const program = new Command('simulate')
  .description('Simulates a fleet that runs the real rules of the broker, beside the same callers without it.')
  .option('--instances <n>', 'how many instances of the function there are', parseWhole('instances', 1, 10_000), 10_000)
  .option('--pairs <n>', 'how many pairs of client and service', parseWhole('pairs', 1, 10_000), 1_000)
  .option('--hours <n>', 'how long, in simulated hours', parseWhole('hours', 1, 24), 24)
  .option('--seed <n>', 'which course of events', parseWhole('numbers', 0, 99_999), 1)
  .addOption(new Option('--calm', 'no service ever fails').default(false).conflicts('faults'))
  .option('--faults', 'the lasting faults and the operators of the tests as well, one every four minutes', false)
  .option('--json', 'answer in JSON', false)
  .showHelpAfterError('(--help shows how)')
  .exitOverride()
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run({ json, ...scale }: Scale & { readonly json: boolean }): Promise<void> {
  let isInterrupted = false;
  process.once('SIGINT', () => {
    isInterrupted = true;
  });
  const days: Simulated[] = [];
  for (const way of WAYS) {
    if (isInterrupted) break;
    note(process, `Simulating ${scale.hours} h of ${scale.instances} instances and ${scale.pairs} pairs: ${way}.`);
    // A signal is heard between two simulated minutes.
    days.push(await simulateDay(way, scale, () => setImmediate().then(() => isInterrupted)));
  }
  if (json) printJson(process, { interrupted: isInterrupted, days: days.map(({ waitsMs: _, ...day }) => day) });
  else process.stdout.write(`${tableOf(days)}\n`);
  if (!isInterrupted) return;
  note(process, 'Interrupted: this is what was known by then.');
  process.exitCode = 130;
}
