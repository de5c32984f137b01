import { RegionInfo } from 'aws-cdk-lib/region-info';
import { describe, expect, it } from 'vitest';
import { urlSuffixOf } from '../../../functions/vocabulary.ts';
import { partitionOf, regionFault } from '../../../lib/settings/regions.ts';

const REFUSED =
  'must be an AWS region with Lambda Function URLs, such as eu-west-1 (lib/settings/regions.ts lists them)';

describe('a region', () => {
  it.each(['eu-west-1', 'cn-north-1'])('%s is accepted', (region) => expect(regionFault(region)).toBeUndefined());

  // A region that AWS adds needs a line in the list. @see docker-archive-public/docker.machine#4714
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
