import { spawn } from 'node:child_process';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/settings.ts';
import type { Resource } from '../support/stack/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { finished } from './commands/shared/command-line.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('cdk synth, with no AWS credentials and no network, gives every environment its stack, with its own settings in the code asset', async () => {
  const out = temporaryFolder();
  const { exitCode, stderr } = await cdkSynth('--output', out);
  expect(exitCode, stderr).toBe(0);
  const names = Object.keys(environments);
  const templates = (await readdir(out)).filter((file) => file.endsWith('.template.json'));
  expect(templates.toSorted()).toEqual(names.map((name) => `TokenBroker-${name}.template.json`).toSorted());
  for (const name of names) {
    const settings = toBrokerSettings(parseEnvironment(name, environments[name]));
    expect(await settingsBesideCode(out, name)).toEqual(settings);
  }
  const { pluginReports } = JSON.parse(await readFile(path.join(out, 'validation-report.json'), 'utf8'));
  // A check that found nothing is not in the report.
  expect(pluginReports).toMatchObject([{ pluginName: 'AwsSolutions', violations: [] }]);
  const named = await cdkSynth('TokenBroker-dev', '--app', out);
  expect(named.stdout).toContain('FunctionName: token-broker-dev');
  expect(named.stdout).not.toContain('token-broker-prod');
  // No stack asks AWS for anything while it is synthesised, such as zones or machine images.
  expect(JSON.parse(await readFile(path.join(out, 'manifest.json'), 'utf8'))).not.toHaveProperty('missing');
});

it('wrong settings stop synth with every path and reason, and without a template', async () => {
  const project = temporaryFolder();
  const out = path.join(project, 'cdk.out');
  for (const part of ['bin', 'client', 'lib', 'functions']) {
    await cp(path.join(root, part), path.join(project, part), { recursive: true });
  }
  await symlink(path.join(root, 'node_modules'), path.join(project, 'node_modules'));
  await writeFile(path.join(project, 'package.json'), '{ "type": "module" }');
  await cp(path.join(root, 'cdk.json'), path.join(project, 'cdk.json'));
  await writeFile(
    path.join(project, 'lib/environments.ts'),
    `export const environments = {
      dev: { account: '1', region: 'eu-west-1', services: {}, accessRules: [] },
      prod: { account: '111111111111', services: { insights: { authUrl: 'http://x.example.com' } }, accessRules: [] },
    };`,
  );

  const { exitCode, stderr } = await run(['bin/app.ts'], { cwd: project, variables: { CDK_OUTDIR: out } });
  const deployment = await run(['bin/stack.ts', 'deploy', 'prod'], { cwd: project, variables: {} });

  expect(exitCode).toBe(1);
  const ofProd = /^error: lib\/environments.ts: The settings are wrong in 2 places:\nenvironments.prod.region: is/;
  expect(deployment).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(ofProd) });
  expect(stderr).toMatch(/^lib\/environments.ts: .* wrong in 4 places:\n(?:environments\.\S+: .+\n){4}$/);
  await expect(readdir(out)).rejects.toMatchObject({ code: 'ENOENT' });
});

/** Runs the real command line in this project, away from any AWS configuration, and with every way out closed. */
function cdkSynth(...args: string[]) {
  const cdk = path.join(root, 'node_modules/aws-cdk/bin/cdk');
  const nowhere = 'http://127.0.0.1:9';
  const variables = { HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, AWS_EC2_METADATA_DISABLED: 'true', CI: 'true' };
  return run([cdk, 'synth', ...args], { cwd: root, variables });
}

function run(args: string[], { cwd, variables }: { readonly cwd: string; readonly variables: NodeJS.Dict<string> }) {
  const directories = [path.dirname(process.execPath), process.env.PATH ?? ''].join(path.delimiter);
  const env = { PATH: directories, HOME: tmpdir(), USERPROFILE: tmpdir(), ...variables };
  return finished(spawn(process.execPath, args, { cwd, env }));
}

async function settingsBesideCode(out: string, name: string): Promise<unknown> {
  const { Resources } = JSON.parse(await readFile(path.join(out, `TokenBroker-${name}.template.json`), 'utf8'));
  const all = Object.values<Resource>(Resources);
  const tokenFunction = all.find(({ Properties }) => Properties.FunctionName === `token-broker-${name}`);
  const asset = `asset.${path.basename(tokenFunction?.Properties.Code.S3Key, '.zip')}`;
  return JSON.parse(await readFile(path.join(out, asset, 'settings.json'), 'utf8'));
}
