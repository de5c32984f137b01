import { expect, it } from 'vitest';
import { FINDING_ADVICE, PROBLEM_ADVICE } from '../../../functions/contract.ts';
import { runCommandLine } from './command-line.ts';

it('offers every command and option that an advice names', async () => {
  const texts = [...Object.values(FINDING_ADVICE), ...Object.values(PROBLEM_ADVICE)];
  const commands = new Set(texts.flatMap((text) => text.match(/(?<=`)(?:client|doctor|whoami)\b[^`]*/g) ?? []));
  expect(commands.size).toBeGreaterThanOrEqual(5);
  for (const command of commands) {
    const words = command.split(' ');
    const verbs = words.slice(0, words[0] === 'client' ? 2 : 1);
    const { exitCode, stdout } = await runCommandLine([...verbs, '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: token-broker ${verbs.join(' ')} `));
    for (const word of words.filter((arg) => arg.startsWith('--'))) expect(stdout).toContain(`  ${word} `);
  }
});
