import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { ended, finished, runCommandLine, startCommandLine } from './shared/command-line.ts';

describe('the command line', () => {
  it('shows its help on stdout, with every command', async () => {
    const usage = /^Usage: token-broker .*\n.*--environment.*\n {2}token /s;
    expect(await runCommandLine(['--help'])).toEqual(ended(0, usage));
    const listed = async (...parent: readonly string[]) => {
      const help = (await runCommandLine([...parent, '--help'])).stdout;
      return [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([\w-]+) /gm)].map(([, name]) => name).join(' ');
    };
    const others = 'serve health doctor audit policy sealing-key release config env service help';
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
      /\/cli\/(?!token-broker|command-line|shared\/settings-option)|lib\/settings\/(?!names)|\/client-|\/zod\//,
    ],
    ['client put acme', /\/cli\/(?:audit|health|doctor|config)|clients\/(?:list|disable|delete)|client-sts\//],
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
});
