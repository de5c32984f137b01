import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startOwnBroker } from '../../support/processes/local-broker.ts';
import { blocks, README } from '../../support/readme.ts';
import { execute, ROOT } from '../commands/shared/command-line.ts';

/** What each block of docs/ten-minutes.md shows, the exit code of its last command, and whether a minute passes first. */
const STEPS: readonly (readonly [shows: RegExp, exitCode?: number, isLater?: boolean])[] = [
  [/^$/],
  [/^fingerprint +[0-9a-f]{16}$/m],
  [/^acme: version \S+ is AWSCURRENT$/m],
  [/rejected.*is discarded/s, 0, true],
  [/is AWSCURRENT/],
  [/^fingerprint +[0-9a-f]{16}$/m],
  [/^acme +unreachable/m, 1, true],
  [/^acme +customer-insights /m],
  [/^fingerprint .*^fingerprint /ms],
  [/table-unavailable/, 1],
  [/./],
  [/acme is disabled/],
  [/client-disabled/, 1, true],
  [/is AWSCURRENT.*is discarded.*acme is enabled.*accepted/s],
  [/ issued /],
  [/acme has its secret/],
];

it('each command of docs/ten-minutes.md does what the page says, one after the other', async () => {
  const broker = await startOwnBroker();
  const shell = blocks('sh', readFileSync(join(ROOT, 'docs/ten-minutes.md'), 'utf8'));
  expect(shell).toHaveLength(STEPS.length);
  const { port } = new URL(broker.url);
  // In the folder of the project, as the operator. A failure ends only the last command of a block.
  const run = (block: string) => execute(['bash', '-c', `${FASTER}\n${block}`], { PORT: port });
  const { stdout: variables } = await run('tb env operator');
  for (const [index, [shows, exitCode = 0, isLater = false]] of STEPS.entries()) {
    if (isLater) broker.passMinute();
    const told = await run(`${variables}\n${shell[index]}`);
    const [output, expected] = [told.stdout + told.stderr, expect.stringMatching(shows)];
    expect([shell[index], told.exitCode, output]).toEqual([shell[index], exitCode, expected]);
  }
});

/** The function that README.md defines; in place of npm, which needs half a second for each command. */
const [TB = ''] = /^tb\(\) \{.*\}$/m.exec(README) ?? [];
const FASTER = TB.replace('npm run --silent token-broker --', `"${process.execPath}" cli/token-broker.ts`);
