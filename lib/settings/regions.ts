/** Returns the partition of a region: the part of its ARNs after `arn:`. */
export function partitionOf(region: string): string {
  return region.startsWith('cn-') ? 'aws-cn' : 'aws';
}

/** Returns why the broker cannot run in a region, or `undefined` if it can. A region that AWS adds must be listed. */
export function regionFault(region: string): string | undefined {
  return KNOWN.has(region) ? undefined : `${REASON} (lib/settings/regions.ts lists them)`;
}

const REASON = 'must be an AWS region with Lambda Function URLs, such as eu-west-1';

/** The regions with `AWS::Lambda::Url`, in the partitions `aws` and `aws-cn`. Tests compare them with AWS's schemas. */
const KNOWN: ReadonlySet<string> = new Set(
  [
    ['af-south-1', 'ap-east-1', 'ap-northeast-1', 'ap-northeast-2', 'ap-northeast-3', 'ap-south-1'],
    ['ap-southeast-1', 'ap-southeast-2', 'ap-southeast-3', 'ca-central-1', 'cn-north-1', 'eu-central-1', 'eu-north-1'],
    ['eu-south-1', 'eu-west-1', 'eu-west-2', 'eu-west-3', 'me-south-1', 'me-west-1', 'sa-east-1'],
    ['us-east-1', 'us-east-2', 'us-west-1', 'us-west-2'],
  ].flat(),
);
