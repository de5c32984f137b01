import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/signers.ts';
import { finished, runCommandLine, startCommandLine } from './command-line.ts';

describe('the command line', () => {
  it('shows its help on stdout, with every command', async () => {
    const { exitCode, stdout, stderr } = await runCommandLine(['--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: token-broker .*\n.*--environment.*\n {2}token /s);
    const listed = async (...parent: readonly string[]) => {
      const help = (await runCommandLine([...parent, '--help'])).stdout;
      return [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([\w-]+) /gm)].map(([, name]) => name).join(' ');
    };
    const others = 'health doctor audit policy sealing-key release config env service completion help';
    expect(await listed()).toBe(`client token whoami ${others}`);
    expect(await listed('client')).toBe('list show put check promote rollback disable enable retry delete help');
    const example = /Examples:\n {2}\$ npm run token-broker -- token --client acme/;
    expect((await runCommandLine(['token', '--help'])).stdout).toMatch(example);
    expect(await runCommandLine(['--version'])).toEqual({ exitCode: 0, stdout: '0.1.0\n', stderr: '' });
  });

  it.each([
    ['token acme customer-insights', /bin\/commands\/(?!command-line)|lib\/settings\/|\/client-|\/zod\//],
    ['client put acme', /commands\/(?:audit|health|doctor|config)|client\/(?:list|disable)|client-sts\//],
    ['policy arn:aws:iam::111111111111:role/billing --environment dev', /@aws-sdk\/client-/],
  ])('loads for a command only what it needs: %s', async (command, others) => {
    const args = command.split(' ');
    const hooks = `import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) { process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });`;
    const env = {
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hooks)}`,
      TOKEN_BROKER_URL: 'http://127.0.0.1:9',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:9',
    };
    const { stderr } = await finished(startCommandLine(args, env));
    const loaded = stderr.split('\n').filter((line) => line.startsWith('loads '));
    expect(loaded).toContainEqual(expect.stringMatching(new RegExp(`/${args[0]}[\\w/]*\\.ts$`)));
    expect(loaded.filter((line) => others.test(line))).toEqual([]);
  });

  it.skipIf(!runs('bash', '--version')).each([
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
    const { stdout } = await runCommandLine(['completion', shell]);
    for (const word of ['token', 'client', 'rollback', 'dry-run']) expect(stdout).toContain(word);
  });
});
