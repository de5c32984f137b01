import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/signers.ts';
import { runCommandLine } from './commands/command-line.ts';

describe('the command line', () => {
  it('shows its help on stdout', async () => {
    const { exitCode, stdout, stderr } = await runCommandLine(['--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: token-broker .*\n.*--environment.*\n {2}token /s);
  });

  it.each([
    ['--help', ['token', 'whoami', 'client', 'health', 'doctor', 'audit', 'policy', 'config', 'completion']],
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
    ['an unknown command', ['tokens'], /unknown command 'tokens'\n\(Did you mean token\?\)/],
    ['an unknown command behind an option', ['--environment', 'dev', 'doctr'], /'doctr'\n\(Did you mean doctor\?\)/],
    ['an unknown command about clients', ['client', 'lst'], /unknown command 'lst'\n\(Did you mean client list\?\)/],
    ['a command about clients in the wrong place', ['rollback', 'acme'], /\(Did you mean client rollback\?\)/],
    ['a command that nothing is like', ['frobnicate'], /unknown command 'frobnicate'\n\(--help/],
    ['an unknown option', ['--enviroment', 'dev'], /unknown option '--enviroment'.*Did you mean --environment/s],
    ['a bad environment', ['--environment', 'a/b', 'token'], /option '--environment <name>' is invalid\. A name has/],
  ])('answers %s with exit code 2 and nothing on stdout', async (_, args, message) => {
    const { exitCode, stdout, stderr } = await runCommandLine(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('tells its version', async () => {
    expect(await runCommandLine(['--version'])).toEqual({ exitCode: 0, stdout: '0.1.0\n', stderr: '' });
  });

  it.skipIf(!runs('bash', '--version')).each([
    ['tok', ['tok'], ['token']],
    ['client dis', ['client', 'dis'], ['disable']],
    ['client --environment dev put --cr', ['client', '--environment', 'dev', 'put', '--cr'], ['--create']],
  ])('completes "%s" in bash', async (_, typed, expected) => {
    const { stdout } = await runCommandLine(['completion', 'bash']);
    const words = ['token-broker', ...typed].map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _token_broker; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout: replies } = await promisify(execFile)('bash', ['--norc', '-c', `${stdout}\n${ask}`]);
    expect(replies.trimEnd().split('\n')).toEqual(expected);
  });

  it.each(['zsh', 'fish'])('completes every command in %s, too', async (shell) => {
    const { exitCode, stdout } = await runCommandLine(['completion', shell]);
    expect(exitCode).toBe(0);
    for (const word of ['token', 'client', 'rollback', 'dry-run']) expect(stdout).toContain(word);
  });

  it('refuses a shell that it does not know', async () => {
    expect(await runCommandLine(['completion', 'tcsh'])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});
