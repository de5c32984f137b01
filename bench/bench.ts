import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { parseWhole } from '../client/commands/options.ts';
import { exampleSettings } from '../test/support/example.ts';
import { bundleAsStack } from '../test/support/stack/stack-bundle.ts';
import { type ColdStart, KINDS, type KindName, measureColdStart, startOnce, type World } from './cold-start.ts';
import { type Round, reportOf } from './figures.ts';
import { startStandIns, TABLES } from './stand-ins.ts';

/** The programs, each in a folder of its name. */
const ENTRIES = {
  broker: 'functions/token.ts',
  calls: 'bench/references/calls.ts',
  sdk: 'bench/references/sdk.ts',
  instance: 'test/support/processes/lambda-process-main.ts',
  'memory-hits': 'bench/memory-hits.ts',
};

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
    await makeBundles(folder, standIns.variables.AUTH_URL);
    const { size: bundleBytes } = await stat(join(folder, 'broker/index.mjs'));
    const rounds = await measureRounds({ folder, standIns }, counts.rounds);
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
    await standIns.close();
    await rm(folder, { recursive: true });
  }
}

/** Bundles the token function and the programs of the bench as the stack does. */
async function makeBundles(folder: string, authUrl: string): Promise<void> {
  for (const [name, entry] of Object.entries(ENTRIES)) {
    // The SDK starts faster as CommonJS.
    const [file, format] = name === 'sdk' ? (['index.js', 'cjs'] as const) : ['index.mjs'];
    const { outputFiles } = await bundleAsStack(entry, format);
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, file), outputFiles[0]?.contents ?? '');
  }
  await writeFile(join(folder, 'settings.json'), JSON.stringify(exampleSettings({}, { authUrl })));
}

async function measureRounds(world: World, count: number): Promise<readonly Round[]> {
  // The table keeps this token until the end.
  await startOnce(world, { ...KINDS[0], table: TABLES.keeping });
  const rounds: Round[] = [];
  for (let n = 0; n <= count; n += 1) {
    process.stderr.write(`Round ${n} of ${count}.\n`);
    // Begins each round with another kind, so that other work affects all of them.
    const first = n % KINDS.length;
    const round = {} as Record<KindName, ColdStart>;
    for (const kind of [...KINDS.slice(first), ...KINDS.slice(0, first)]) {
      round[kind.name] = await measureColdStart(world, kind);
    }
    rounds.push(round);
  }
  // In the first round files come from the disk.
  return rounds.slice(1);
}
