import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { runs } from '../../support/aws/signers.ts';
import { ended, finished, runCommandLine, startCommandLine } from './shared/command-line.ts';

describe('the command line', () => {
  it('shows its help on stdout, with every command', async () => {
    const usage = /^Usage: token-broker .*\n.*--environment.*\n {2}token /s;
    expect(await runCommandLine(['--help'])).toEqual(ended(0, usage));
    const listed = async (...parent: readonly string[]) => {
      const help = (await runCommandLine([...parent, '--help'])).stdout;
      return [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([\w-]+) /gm)].map(([, name]) => name).join(' ');
    };
    const others = 'serve health doctor audit policy sealing-key release config env service completion help';
    expect(await listed()).toBe(`client token whoami ${others}`);
    const ofClient = 'list show put check promote rollback disable enable retry discard delete restore help';
    expect(await listed('client')).toBe(ofClient);
    const example = /Examples:\n {2}\$ npm run token-broker -- token --client acme/;
    expect((await runCommandLine(['token', '--help'])).stdout).toMatch(example);
    expect(await runCommandLine(['--version'])).toEqual(ended(0, `${packageJson.version}\n`));
  });

  it.each([
    [
      'token acme customer-insights',
      /bin\/commands\/(?!command-line|shared\/settings-option)|lib\/settings\/(?!names)|\/client-|\/zod\//,
    ],
    ['client put acme', /bin\/commands\/(?:audit|health|doctor|config)|clients\/(?:list|disable|delete)|client-sts\//],
    ['policy arn:aws:iam::111111111111:role/billing --environment dev', /@aws-sdk\/client-/],
  ])('loads for a command only what it needs: %s', async (command, others) => {
    const args = command.split(' ');
    const hooks = `import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) { process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });`;
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(hooks)}`;
    const nowhere = 'http://127.0.0.1:9';
    const env = { NODE_OPTIONS, TOKEN_BROKER_URL: nowhere, AWS_ENDPOINT_URL_SECRETS_MANAGER: nowhere };
    const { stderr } = await finished(startCommandLine(args, env));
    const loaded = stderr.split('\n').filter((line) => line.startsWith('loads '));
    expect(loaded).toContainEqual(expect.stringMatching(new RegExp(`/${args[0]}[\\w/]*\\.ts$`)));
    expect(loaded.filter((line) => others.test(line))).toEqual([]);
  });

  it.for(['bash', 'zsh', 'fish'] as const)('completes commands and options in %s', async (shell, { skip }) => {
    const { stdout } = await runCommandLine(['completion', shell]);
    for (const word of ['token', 'client', 'rollback', 'dry-run']) expect(stdout).toContain(word);
    skip(!runs(shell, '--version'), `${shell} is not installed`);
    const { options, begin, complete } = SHELLS[shell];
    const program = begin + stdout + Object.keys(COMPLETED).map(complete).join('\n');
    const { stdout: completed } = await promisify(execFile)(shell, [...options, '-c', program]);
    expect(completed.trimEnd().split('\n')).toEqual(Object.values(COMPLETED));
  });
});

/** What a person types, and the words that complete it. */
const COMPLETED = {
  'client disa': 'disable',
  '--environment dev he': 'health',
  'client --environment dev put --cr': '--create',
  'client check acme --stage AWSP': 'AWSPENDING AWSPREVIOUS',
  '--environment sta': 'staging',
  'config pr': 'prod',
  'audit acme --outcome rej': 'rejected',
  'client retry --service merch': 'merchant-payment-cleansing',
};

/** How a shell without a terminal prints a line of completions. zsh itself selects the words that fit. */
const SHELLS = {
  bash: {
    options: ['--norc'],
    begin: '',
    complete: (typed: string) => `${words(typed)}; _token_broker; echo "\${COMPREPLY[*]}"`,
  },
  zsh: {
    options: ['-f'],
    begin: 'autoload -Uz compinit && compinit -D -u\n',
    complete: (typed: string) =>
      `${words(typed)}; emulate sh -c _token_broker; print -- \${(M)COMPREPLY:#${typed.split(' ').at(-1)}*}`,
  },
  fish: {
    options: ['--no-config'],
    begin: '',
    complete: (typed: string) => `echo (complete -C 'token-broker ${typed}')`,
  },
};

function words(typed: string): string {
  return `COMP_WORDS=(token-broker ${typed}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))`;
}
