import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment, toBrokerSettings } from '../../lib/settings/settings.ts';
import type { Resource } from '../support/stack/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { runProgram } from './commands/shared/command-line.ts';

it('cdk synth, with no AWS credentials and no network, makes a stack for every environment, with its own settings in the code asset', async () => {
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

function cdkSynth(...args: string[]) {
  const env = { CI: 'true', HTTP_PROXY: 'http://127.0.0.1:9' };
  return runProgram('node_modules/aws-cdk/bin/cdk', ['synth', ...args], { env });
}

async function settingsBesideCode(out: string, name: string): Promise<unknown> {
  const { Resources } = JSON.parse(await readFile(path.join(out, `TokenBroker-${name}.template.json`), 'utf8'));
  const all = Object.values<Resource>(Resources);
  const tokenFunction = all.find(({ Properties }) => Properties.FunctionName === `token-broker-${name}`);
  const asset = `asset.${path.basename(tokenFunction?.Properties.Code.S3Key, '.zip')}`;
  return JSON.parse(await readFile(path.join(out, asset, 'settings.json'), 'utf8'));
}
