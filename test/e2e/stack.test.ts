import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, globSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { synthesise } from '../support/stack/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { refused, startAws } from './commands/shared/aws-operations.ts';
import { answering, ended, finished, ISOLATED, runProgram } from './commands/shared/command-line.ts';

const BILLING = 'arn:aws:iam::111111111111:role/billing';
const REPORTING = 'arn:aws:iam::222222222222:role/reporting';

describe('npm run deploy, diff and bootstrap', () => {
  it.each([
    ['deploy', 'deploy TokenBroker-dev --exclusively --require-approval never'],
    ['diff', 'diff TokenBroker-dev --exclusively'],
    ['bootstrap', 'bootstrap aws://111111111111/eu-west-1'],
    // The CDK refuses the option twice. @see linz/topo-workflows#282, aws/aws-cdk#22032
    ['deploy', 'deploy TokenBroker-dev --exclusively --require-approval=never', '--require-approval=never'],
  ])(
    '%s one environment with the CDK in its account, and show how',
    { timeout: 60_000 },
    async (verb, command, ...more) => {
      const { env } = await signedInTo('111111111111');
      const { exitCode, stdout, stderr } = await run([verb, 'dev', ...more, '--help'], env);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 0,
        stderr: expect.stringContaining(`> cdk ${command} --help\n`),
      });
      expect(stdout).toMatch(new RegExp(`^cdk ${verb} `));
    },
  );

  it.each([['AKIDEXAMPLE'], ['AKIDOTHER', '--profile=other']])(
    'do nothing when the account is a foreign one, that of the key %s',
    async (key, ...args) => {
      const { env, calls } = await signedInTo('333333333333');
      const file = inFile('[other]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = x');
      const foreign =
        'You are signed in to the account 333333333333, but dev belongs to 111111111111: nothing was done.';
      const told = await run(['deploy', 'dev', ...args], { ...env, AWS_SHARED_CREDENTIALS_FILE: file });
      // Before it, the SDK warns of a profile beside the keys in variables.
      expect(told).toEqual(ended(1, '', new RegExp(`(?:^|\n)error: ${foreign}\n$`)));
      expect(calls).toMatchObject([{ operation: 'GetCallerIdentity', key }]);
    },
  );

  it('go on when AWS does not say in seconds whose account it is', { timeout: 60_000 }, async () => {
    const { url } = await answering(() => undefined);
    const { exitCode, stderr } = await run(['diff', 'dev', '--help'], { ...ISOLATED, AWS_ENDPOINT_URL_STS: url });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '> cdk diff TokenBroker-dev --exclusively --help\n' });
  });

  it.each([
    // @see aws/aws-cdk#1599, aws/aws-cdk#15481
    ['the session has ended', 'ExpiredToken', /^error: .* credentials have expired: .*\. Sign in again\. Nothing /],
    // @see aws/aws-cli#7216
    ['the role of the profile is denied', 'AccessDenied', /^error: AWS does not let you .* Nothing was done\.\n$/],
  ])('do nothing when %s, and name no missing right', async (_, word, said) => {
    const { url } = await startAws(() => refused(word, 403, 'User: x is not authorized to perform: sts:AssumeRole'));
    expect(await run(['deploy', 'dev'], { ...ISOLATED, AWS_ENDPOINT_URL_STS: url })).toEqual(ended(1, '', said));
  });

  // @see aws-samples/aws-genai-llm-chatbot#445
  it('take --method=prepare-change-set for a look, which needs no credentials', async () => {
    const env = { HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true' };
    const { stderr } = await run(['deploy', 'dev', '--method=prepare-change-set', '--app', 'false'], env);
    expect(stderr).toMatch(/^> cdk deploy TokenBroker-dev /);
  });

  const USAGE = 'npm run bootstrap|diff|deploy -- <environment>, one of dev, staging, prod';
  const MISTYPED = "error: unknown option '--setings' (Did you mean --settings?)\n";

  it.each<[what: string, args: string, exitCode: number, said: string | RegExp, env?: NodeJS.ProcessEnv]>([
    // @see aws/aws-cdk#32312, a profile with MFA
    ['without credentials', 'bootstrap dev', 1, /^error: No usable AWS .*export-credentials .* Nothing was done\.\n$/],
    ['without credentials for --method=direct', 'deploy dev --method=direct', 1, /^error: No usable .* Nothing was/],
    ['in an unknown environment', 'deploy toString', 2, `error: there is no environment "toString": ${USAGE}\n`],
    ['with --settings of no file', 'diff dev --settings --method=direct', 2, 'error: --settings must name one file\n'],
    [
      'with an empty variable for it',
      'deploy dev',
      1,
      /^error: TOKEN_BROKER_ENVIRONMENTS_FILE: The name .* is empty: /,
      { TOKEN_BROKER_ENVIRONMENTS_FILE: '' },
    ],
    ['with a mistyped --settings', 'diff dev --setings other.ts', 2, MISTYPED],
    ['with a mistyped --settings for the CDK itself', 'cdk --setings other.ts synth', 2, MISTYPED],
  ])('do nothing %s', async (_, args, exitCode, stderr, env = {}) => {
    expect(await run(args.split(' '), { HOME: '/nonexistent', ...env })).toEqual(ended(exitCode, '', stderr));
  });

  it('let `npm run cdk` take --settings, which the CDK itself would ignore', async () => {
    const { exitCode, stderr } = await run(['cdk', '--version', '--settings', 'environments.mts', '--strict'], {});
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '> cdk --version --strict\n' });
  });

  /** @see aws/copilot-cli#5050 */
  it('find the CDK of a workspace of npm, which has its packages in a folder further up', async () => {
    const [root, broker] = [temporaryFolder(), 'packages/broker'];
    symlinkSync(path.resolve('node_modules'), path.join(root, 'node_modules'));
    for (const part of ['bin', 'cdk.json', 'cli', 'client', 'functions', 'lib', 'package.json'])
      cpSync(part, path.join(root, broker, part), { recursive: true });
    const program = path.join(root, broker, 'bin/stack.ts');
    const { exitCode, stderr } = await finished(spawn(process.execPath, [program, 'cdk', '--version']));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '> cdk --version\n' });
  });

  /** @see hashicorp/terraform-cdk#158 */
  it('say how the packages are installed that NODE_ENV=production leaves out', () => {
    const program = path.join(temporaryFolder(), 'require-node.mjs');
    copyFileSync('bin/require-node.js', program);
    const { status, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'Packages are missing: run "npm ci --include=dev".\n' });
  });

  it('hand SIGTERM, which a cancelled job sends, to the CDK', async () => {
    const app = `${process.execPath} -e "console.error('begun'); setTimeout(() => {}, 20000)"`;
    const child = spawn(process.execPath, ['bin/stack.ts', 'cdk', 'list', '--app', app]);
    child.stderr.on('data', (text) => /^begun$/m.test(text) && child.kill());
    expect(await finished(child)).toMatchObject({ exitCode: 1, stdout: '' });
  });
});

/** What `npm ci --prefix tools/node-22` installs. */
const OLDEST = 'tools/node-22/node_modules/.bin/node';
const skipped = existsSync(OLDEST) ? '' : ' (skipped: npm ci --prefix tools/node-22 installs it)';

/** @see https://github.com/tc39/proposal-duplicate-named-capturing-groups, which Node 22 has not */
it.skipIf(skipped)(`the oldest Node that is supported can read each file of the product${skipped}`, () => {
  const files = globSync('{bin,cli,client,functions,lib,local}/**/*.ts', {
    exclude: ['**/node_modules/**', '**/*.d.ts'],
  });
  const args = ['--no-warnings', '--experimental-vm-modules', '-e', READ_ALL, ...files];
  const { stdout, stderr } = spawnSync(OLDEST, args, { encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: `v22.18.0 ${files.length}`, stderr: '' });
  expect(files.length).toBeGreaterThan(200);
});

const READ_ALL = `
const { readFileSync } = require('node:fs');
const { stripTypeScriptTypes } = require('node:module');
const { SourceTextModule } = require('node:vm');
const read = (identifier) => new SourceTextModule(stripTypeScriptTypes(readFileSync(identifier, 'utf8')), { identifier });
process.stdout.write(process.version + ' ' + process.argv.slice(1).map(read).length);`;

it('npm run diff lists the rights that each role gains or loses, and bundles no other stack', async () => {
  const deployed = synthesise('dev', {
    ...environments.dev,
    services: { 'customer-insights': { authUrl: 'https://auth.example.com' } },
    accessRules: [
      { role: BILLING, clients: 'all', services: 'all' },
      { role: REPORTING, clients: ['acme', 'globex'], services: ['customer-insights'] },
      { role: 'arn:aws:iam::222222222222:role/old', clients: ['acme'], services: ['customer-insights'] },
    ],
  });
  const { exitCode, stdout, stderr } = await run(['diff', 'dev', '--template', inFile(deployed.text)]);
  expect(exitCode, stderr).toBe(0);
  // The CDK decides by the variable CI which of the two it writes to.
  expect(`${stdout}${stderr}`.match(/^\[.\] arn:.*/gm)).toEqual([
    '[-] arn:aws:iam::222222222222:role/old loses token for acme on customer-insights',
    `[+] ${BILLING} gains check for all clients on all services`,
    `[-] ${REPORTING} loses token for globex on customer-insights`,
  ]);
  const warning = /^\[!\] customer-insights is no longer the only service\. .* client put --services\.$/m;
  expect(`${stdout}${stderr}`).toMatch(warning);
  expect(stderr).toContain('Bundling asset TokenBroker-dev/');
  expect(stderr).not.toMatch(/TokenBroker-(?:staging|prod)/);
});

/** The variables of a shell that is signed in to an account, as far as AWS STS is concerned. */
async function signedInTo(account: string) {
  const { url, calls } = await startAws(() => `<Account>${account}</Account>`);
  return { env: { ...ISOLATED, AWS_ENDPOINT_URL_STS: url }, calls };
}

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return runProgram('bin/stack.ts', args, { env });
}

function inFile(text: string): string {
  const file = path.join(temporaryFolder(), 'deployed.json');
  writeFileSync(file, text);
  return file;
}
