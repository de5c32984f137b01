import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { EVENT } from '../test/support/cold-start/exchange.ts';
import { makeBundles } from './bundles.ts';
import { type ColdStart, KINDS, type KindName, measureColdStart, startBundle, type World } from './cold-start.ts';
import { type Round, reportOf } from './figures.ts';
import { startStandIns, TABLES } from './stand-ins.ts';

/** `npm run bench`: the table on stdout, progress on stderr. Exits with 0 within the limits, 1 failed, 3 above. */
await new Command('bench')
  .description('Measures the token function as `cdk synth` bundles it, beside references. Takes some 2 minutes.')
  .option('--rounds <n>', 'how many cold starts of each kind', parseWhole('rounds', 1, 500), 80)
  .option('--hits <n>', 'how many answers from memory', parseWhole('numbers', 1, 3_000), 1_000)
  .action(run)
  .parseAsync();

async function run(counts: Readonly<{ rounds: number; hits: number }>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'token-broker-bench-'));
  const standIns = await startStandIns(folder);
  try {
    const bundles = await makeBundles(folder, standIns.authUrl);
    const { size: bundleBytes } = await stat(join(folder, 'broker/index.mjs'));
    const rounds = await measureRounds({ bundles, standIns }, counts.rounds);
    const hits: number[] = [];
    // Node compiles the same code in several ways.
    for (let n = 0; n < 10; n += 1) {
      const program = [join(folder, 'memory-hits/index.mjs'), `${counts.hits}`];
      hits.push(Number((await promisify(execFile)(process.execPath, program)).stdout));
    }
    const { report, isAbove } = reportOf({ bundleBytes, rounds, hits });
    process.stdout.write(`${report}\n`);
    if (isAbove) process.exitCode = 3;
  } finally {
    standIns.close();
    await rm(folder, { recursive: true });
  }
}

async function measureRounds(world: World, count: number): Promise<readonly Round[]> {
  // The table keeps this token until the end.
  const first = await startBundle(world, 'broker', TABLES.keeping);
  await first.invoke(EVENT);
  await first.close();
  const rounds: Round[] = [];
  for (let n = 0; n <= count; n += 1) {
    process.stderr.write(`Round ${n} of ${count}.\n`);
    rounds.push(await measureRound(world, n));
  }
  // In the first round files come from the disk.
  return rounds.slice(1);
}

/** Measures each kind, and begins each round with another kind, so that other work affects all of them. */
async function measureRound(world: World, n: number): Promise<Round> {
  const names = Object.keys(KINDS) as KindName[];
  const round: Partial<Record<KindName, ColdStart>> = {};
  for (const name of [...names.slice(n % names.length), ...names.slice(0, n % names.length)]) {
    round[name] = await measureColdStart(world, name);
  }
  return round as Round;
}
