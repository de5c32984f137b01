import { Command } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { type Simulated, simulateDay } from './day/day.ts';
import { tableOf } from './day/table.ts';
import { type Scale, WAYS } from './day/world.ts';

/** `npm run simulate`: the table of docs/scale.md on stdout, progress on stderr. */
await new Command('simulate')
  .description('Simulates a fleet that runs the real rules of the broker, beside the same callers without it.')
  .option('--instances <n>', 'how many instances of the function there are', parseWhole('instances', 1, 10_000), 10_000)
  .option('--pairs <n>', 'how many pairs of client and service', parseWhole('pairs', 1, 10_000), 1_000)
  .option('--hours <n>', 'how long, in simulated hours', parseWhole('hours', 1, 24), 24)
  .option('--seed <n>', 'which course of events', parseWhole('numbers', 0, 99_999), 1)
  .action(run)
  .parseAsync();

async function run(scale: Scale): Promise<void> {
  const days: Simulated[] = [];
  for (const way of WAYS) {
    process.stderr.write(
      `Simulating ${scale.hours} h of ${scale.instances} instances and ${scale.pairs} pairs: ${way}.\n`,
    );
    days.push(await simulateDay(way, scale));
  }
  process.stdout.write(`${tableOf(days)}\n`);
}
