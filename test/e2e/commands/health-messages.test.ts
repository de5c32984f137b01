import { expect, it } from 'vitest';
import { messageOf } from '../../../functions/broker/health/messages.ts';
import { everyObservation } from '../../support/health-observations.ts';
import { runCommandLine } from './command-line.ts';

it('offers every command and option that a message to the operators names', async () => {
  const texts = everyObservation({ client: 'acme', service: 'customer-insights' }).map(
    ([, observation]) => messageOf('dev', observation, undefined).text,
  );
  const commands = texts.flatMap((text) =>
    [...text.matchAll(/^ {2}npm run token-broker -- (.+)$/gm)].map(([, args]) => args),
  );
  expect(new Set(commands).size).toBeGreaterThanOrEqual(5);
  for (const command of new Set(commands)) {
    const args = `${command}`.split(' ');
    const { exitCode, stdout } = await runCommandLine([...args, '--help']);
    expect(exitCode).toBe(0);
    for (const word of args.filter((arg) => arg.startsWith('--'))) expect(stdout).toContain(`  ${word} `);
    const verbs = args.slice(0, args[0] === 'client' ? 2 : 1).join(' ');
    expect(stdout).toMatch(new RegExp(`^Usage: token-broker ${verbs} `));
  }
});
