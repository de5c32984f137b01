import { describe, expect, it } from 'vitest';
import { runCommandLine } from './commands/command-line.ts';

describe('the command line', () => {
  it('shows its help on stdout', async () => {
    const { exitCode, stdout, stderr } = await runCommandLine(['--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: token-broker .*\n.*--environment.*\n {2}token /s);
  });

  it.each([
    ['--help', ['token', 'whoami', 'client', 'health', 'doctor', 'policy', 'config']],
    ['client --help', ['list', 'show', 'put', 'check', 'promote', 'rollback', 'disable', 'enable', 'retry', 'delete']],
  ])('lists its commands: %s', async (args, commands) => {
    const { stdout } = await runCommandLine(args.split(' '));
    const listed = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name);
    expect(listed).toEqual([...commands, 'help']);
  });

  it('shows how to ask for a token', async () => {
    const { exitCode, stdout, stderr } = await runCommandLine(['token', '--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/Examples:\n {2}\$ npm run token-broker -- token --client acme/);
  });

  it.each([
    ['no command', [], /Usage: token-broker/],
    ['no command about clients', ['client'], /Usage: token-broker client/],
    ['an unknown command', ['tokens'], /unknown command\n\(Did you mean token/],
    ['an unknown option', ['--enviroment', 'dev'], /unknown option '--enviroment'.*Did you mean --environment/s],
    ['a bad environment', ['--environment', 'a/b', 'token'], /option '--environment <name>' is invalid\. A name has/],
  ])('answers %s with exit code 2 and nothing on stdout', async (_, args, message) => {
    const { exitCode, stdout, stderr } = await runCommandLine(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
