import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import { describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { regionFault } from '../../lib/settings/regions.ts';
import { synthesise } from '../support/stack/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ALL_OPTIONS } from '../unit/settings/example-form.ts';

const MISSING = spawnSync('cfn-lint', ['--version']).error !== undefined;
const WHY = MISSING ? ' (skipped: cfn-lint is not installed)' : '';

describe.skipIf(MISSING)(`cfn-lint, which has AWS’s schemas of every region${WHY}`, () => {
  it('finds nothing wrong with a stack that has every option', () => {
    // W3005: the CDK writes dependencies that follow from references, too.
    const { text } = synthesise('prod', { ...environments.prod, ...ALL_OPTIONS });
    expect(lint(text, 'eu-west-1', '--ignore-checks', 'W3005')).toEqual({ stdout: '', status: 0 });
  });

  it('knows Function URLs in the regions that the settings accept, and in no other', () => {
    const Url = { Type: 'AWS::Lambda::Url', Properties: { AuthType: 'AWS_IAM', TargetFunctionArn: 'f' } };
    const { stdout } = lint(JSON.stringify({ Resources: { Url } }), 'ALL_REGIONS');
    const without = new Set([...stdout.matchAll(/does not exist in '([a-z0-9-]+)'/g)].map(([, region]) => region));
    expect(without.size).toBeGreaterThan(0);
    const refused = RegionInfo.regions.filter(({ name }) => regionFault(name) !== undefined);
    const ofPublicPartitions = refused.filter(({ partition = '' }) => /^aws(-cn|-us-gov)?$/.test(partition));
    expect([...without].toSorted()).toEqual(ofPublicPartitions.map(({ name }) => name).toSorted());
  });
});

function lint(template: string, regions: string, ...options: readonly string[]) {
  const file = path.join(temporaryFolder(), 'template.json');
  writeFileSync(file, template);
  const args = ['--regions', regions, ...options, '--', file];
  const { stdout, status } = spawnSync('cfn-lint', args, { encoding: 'utf8' });
  return { stdout, status };
}
