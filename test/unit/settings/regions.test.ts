import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import { describe, expect, it } from 'vitest';
import { urlSuffixOf } from '../../../functions/vocabulary.ts';
import { partitionOf, regionFault } from '../../../lib/settings/regions.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const REFUSED = 'must be an AWS region with Lambda Function URLs, such as eu-west-1';

describe('a region', () => {
  it.each(['eu-west-1', 'cn-north-1'])('%s is accepted', (region) => expect(regionFault(region)).toBeUndefined());

  // The CDK would know no partition of the last two, and cdk-nag would then ask to excuse every right.
  it.each([
    ...['eu-central-2', 'us-gov-west-1', 'us-iso-east-1', 'eusc-de-east-1', 'Ireland', 'europe-west-1', 'eu-west-1a'],
    ...['eu-wst-1', 'eu-west-9'],
  ])('%s is refused', (region) => expect(regionFault(region)).toBe(REFUSED));

  it('has the partition and the domain that the CDK knows, wherever the broker can run', () => {
    for (const { name, partition, domainSuffix } of RegionInfo.regions) {
      if (regionFault(name) === undefined)
        expect([name, partitionOf(name), urlSuffixOf(name)]).toEqual([name, partition, domainSuffix]);
    }
  });
});

const MISSING = spawnSync('cfn-lint', ['--version']).error !== undefined;
const WHY = MISSING ? ' (skipped: cfn-lint is not installed)' : '';

it.skipIf(MISSING)(`the regions without Function URLs are those without the type in AWS’s schemas${WHY}`, () => {
  const file = path.join(temporaryFolder(), 'url.template.json');
  const Url = { Type: 'AWS::Lambda::Url', Properties: { AuthType: 'AWS_IAM', TargetFunctionArn: 'f' } };
  writeFileSync(file, JSON.stringify({ Resources: { Url } }));
  const { stdout } = spawnSync('cfn-lint', ['--regions', 'ALL_REGIONS', '--', file], { encoding: 'utf8' });
  const without = new Set([...stdout.matchAll(/does not exist in '([a-z0-9-]+)'/g)].map(([, region]) => region));
  expect(without.size).toBeGreaterThan(0);
  const refused = RegionInfo.regions.filter(({ name }) => regionFault(name) !== undefined);
  const ofPublicPartitions = refused.filter(({ partition = '' }) => /^aws(-cn|-us-gov)?$/.test(partition));
  expect([...without].toSorted()).toEqual(ofPublicPartitions.map(({ name }) => name).toSorted());
});
