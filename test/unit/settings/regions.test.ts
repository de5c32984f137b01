import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import { describe, expect, it } from 'vitest';
import { urlSuffixOf } from '../../../functions/vocabulary.ts';
import { partitionOf, regionFault } from '../../../lib/settings/regions.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const NO_URLS = 'has no Lambda Function URLs, which the broker needs';

describe('a region', () => {
  it.each<[string, string | undefined]>([
    ['eu-west-1', undefined],
    ['cn-north-1', undefined],
    ['eu-central-2', NO_URLS],
    ['us-gov-west-1', NO_URLS],
    ['us-iso-east-1', 'is in a partition of AWS that the broker does not support'],
    ['eusc-de-east-1', 'is in a partition of AWS that the broker does not support'],
    ['Ireland', 'must be an AWS region such as eu-west-1'],
    ['europe-west-1', 'must be an AWS region such as eu-west-1'],
    ['eu-west-1a', 'must be an AWS region such as eu-west-1'],
  ])('%s: %s', (region, fault) => expect(regionFault(region)).toBe(fault));

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
  const refused = RegionInfo.regions.map(({ name }) => name).filter((name) => regionFault(name) === NO_URLS);
  expect([...without].toSorted()).toEqual(expect.arrayContaining(refused));
  for (const region of without) expect([region, regionFault(`${region}`)]).toEqual([region, NO_URLS]);
});
