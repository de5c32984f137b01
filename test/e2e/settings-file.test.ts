import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createCertificateAuthority } from '../support/services/certificates.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { ended, finished, OFFLINE, ROOT, runProgram } from './commands/shared/command-line.ts';

describe('settings in a folder outside of the checkout', () => {
  it('make the stack, with what the organisation requires and the certificates beside them', async () => {
    const [folder, out] = [await settingsFolder(), temporaryFolder()];
    const file = `../${path.basename(folder)}/environments.json`;
    const env = { TOKEN_BROKER_ENVIRONMENTS_FILE: file, INIT_CWD: folder, CDK_OUTDIR: out };
    const { exitCode, stderr } = await runProgram('bin/app.ts', [], { env });
    expect(exitCode, stderr).toBe(0);
    const template = readFileSync(path.join(out, 'TokenBroker-own.template.json'), 'utf8');
    expect(template).toContain('policy/team/bounds');
    expect(template).toContain('cdk-broker1-assets-');
    const assets = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /settings\.json$/.test(name),
    );
    const settings = assets.map((name) => readFileSync(path.join(out, name), 'utf8')).join();
    expect(settings).toContain(JSON.stringify(readFileSync(path.join(folder, 'ca/insights.pem'), 'utf8')));
  });

  it.each<[command: string, program: string, args: string[], shows: RegExp]>([
    ['policy', 'cli/token-broker', ['--environment', 'own', 'policy', '--execution'], /policy\/team\/bounds/],
    [
      'bootstrap',
      'bin/stack',
      ['bootstrap', 'own', '--help'],
      /> cdk bootstrap aws:\/\/555555555555\/eu-west-1 --qualifier broker1 --toolkit-stack-name CDKToolkit-broker1 --custom-permissions-boundary team\/bounds --help\n/,
    ],
  ])('are read by %s from another working directory', async (command, program, args, shows) => {
    const folder = await settingsFolder();
    const cwd = path.dirname(folder);
    const file = path.relative(cwd, path.join(folder, 'environments.ts'));
    // Each program takes both forms of an option.
    const option = command === 'policy' ? [`--settings=${file}`] : ['--settings', file];
    const { stdout, stderr } = await runProgram(path.join(ROOT, `${program}.ts`), [...args, ...option], { cwd });
    expect(`${stdout}${stderr}`).toMatch(shows);
  });

  it('count a relative path from where npm was started', async () => {
    const folder = await settingsFolder();
    const run = ['--prefix', ROOT, 'run', '--silent', 'token-broker', '--'];
    const args = [...run, 'config', '--settings', './environments.json', 'own'];
    const child = spawn('npm', args, { cwd: folder, env: OFFLINE });
    expect((await finished(child)).stdout).toMatch(/^account +555555555555 +written$/m);
  });

  it.each(['bin/app.ts', 'bin/stack.ts', 'cli/token-broker.ts'])(
    'that are broken end %s with 1 and one line',
    async (program) => {
      const folder = temporaryFolder();
      writeFileSync(path.join(folder, 'environments.ts'), 'export enum Place { Here }');
      const env = { TOKEN_BROKER_ENVIRONMENTS_FILE: 'environments.ts', TOKEN_BROKER_ENVIRONMENT: 'own' };
      const args = program === 'cli/token-broker.ts' ? ['client', 'list'] : ['diff', 'own'];
      const { exitCode, stdout, stderr } = await runProgram(path.join(ROOT, program), args, { cwd: folder, env });
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      const sentence = 'environments.ts: The file cannot be loaded, line 1: TypeScript enum is not supported';
      expect(stderr.split('\n')[0]).toContain(sentence);
      expect(stderr).not.toMatch(/ {4}at |node:internal/);
    },
  );

  it('that are wrong stop synth with every path and reason, and a deployment with those of its environment', async () => {
    const [folder, out] = [temporaryFolder(), temporaryFolder()];
    const rest = { services: {}, accessRules: [] };
    const prod = {
      account: '111111111111',
      services: { insights: { authUrl: 'http://example.com' } },
      accessRules: [],
    };
    const settings = { environments: { dev: { account: '1', region: 'eu-west-1', ...rest }, prod } };
    writeFileSync(path.join(folder, 'environments.json'), JSON.stringify(settings));
    const env = { TOKEN_BROKER_ENVIRONMENTS_FILE: 'environments.json', CDK_OUTDIR: out };
    const [synthesis, deployment] = await Promise.all(
      [['bin/app.ts'], ['bin/stack.ts', 'deploy', 'prod']].map(([program = '', ...args]) =>
        runProgram(path.join(ROOT, program), args, { cwd: folder, env }),
      ),
    );
    const everywhere = /^\S*environments\.json: .* wrong in 4 places:\n(?:environments\.\S+: .+\n){4}$/;
    expect(synthesis).toEqual(ended(1, '', everywhere));
    expect(readdirSync(out)).toEqual([]);
    const ofProd = /^error: \S*environments\.json: The settings are wrong in 2 places:\nenvironments\.prod\.region: is/;
    expect(deployment).toEqual(ended(1, '', ofProd));
  });

  it('do not reach the tests', async () => {
    process.env.TOKEN_BROKER_ENVIRONMENTS_FILE = '/nonexistent/environments.ts';
    await import('../../vitest.config.ts');
    expect(process.env.TOKEN_BROKER_ENVIRONMENTS_FILE).toBeUndefined();
  });
});

/** A folder with the same settings in both forms, and a certificate authority beside them. */
async function settingsFolder(): Promise<string> {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'ca'));
  const authority = await createCertificateAuthority();
  writeFileSync(path.join(folder, 'ca/insights.pem'), authority.ca);
  const authUrl = 'https://auth.example.com';
  const services = { 'customer-insights': { authUrl, certificateAuthorities: ['ca/insights.pem'] } };
  const own = { ...exampleForm(), services, account: '555555555555', guarded: true, canary: 'off' };
  const organisation = { permissionsBoundary: 'team/bounds', bootstrapQualifier: 'broker1' };
  const settings = { environments: { own }, organisation };
  writeFileSync(path.join(folder, 'environments.json'), JSON.stringify(settings));
  const type = `import type { EnvironmentForm } from '${path.join(ROOT, 'lib/settings/settings.ts')}';`;
  const environments = `export const environments: Readonly<Record<string, EnvironmentForm>> = ${JSON.stringify({ own })};`;
  const required = `export const organisation = ${JSON.stringify(organisation)};`;
  writeFileSync(path.join(folder, 'environments.ts'), [type, environments, required].join('\n'));
  return folder;
}
