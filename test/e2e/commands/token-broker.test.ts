import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { ended, runCommandLine } from './shared/command-line.ts';

const ALONE = 'token whoami serve doctor audit health policy config env service'.split(' ');

const help = async (...command: readonly string[]) => (await runCommandLine([...command, '--help'])).stdout;

describe('the command line', () => {
  it('shows its help on stdout, with every command in its group', async () => {
    const usage = /^Usage: token-broker .*\n.*--environment.*\n {2}token /s;
    expect(await runCommandLine(['--help'])).toEqual(ended(0, usage));
    const groups = (await help()).split(/\n(?=\S)/).slice(3);
    const named = groups.map((group) =>
      [...group.matchAll(/^(?: {2}(\S+) |(.*:)$)/gm)].map(([, name, title]) => name ?? title).join(' '),
    );
    expect(named).toEqual([
      'Clients: client health',
      'Calls: token whoami serve doctor audit',
      'The deployment: policy sealing-key release config',
      'This machine: env service',
      'Commands: help',
    ]);
    expect(await runCommandLine(['--version'])).toEqual(ended(0, `${packageJson.version}\n`));
  });

  it('shows an example of each command in its help', async () => {
    const below = async (...parent: readonly string[]): Promise<readonly string[][]> => {
      const [, listed = ''] = (await help(...parent)).split(/^Commands:$/m);
      return [...listed.matchAll(/^ {2}([\w-]+)/gm)]
        .map(([, name = '']) => [...parent, name])
        .filter(([name]) => name !== 'help');
    };
    const parents = ['client', 'release', 'sealing-key'];
    const leaves = [...(await Promise.all(parents.map((name) => below(name)))).flat(), ...ALONE.map((name) => [name])];
    const commands = leaves.filter((command) => command.at(-1) !== 'help');
    expect(commands).toHaveLength(12 + 2 + 2 + ALONE.length);
    for (const command of commands) {
      expect(await help(...command), command.join(' ')).toContain(`\n  $ npm run token-broker -- ${command.join(' ')}`);
    }
  });
});
