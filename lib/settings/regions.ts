/** Returns the partition of a region: the part of its ARNs after `arn:`. */
export function partitionOf(region: string): string {
  return region.startsWith('cn-') ? 'aws-cn' : 'aws';
}

/** Returns why the broker cannot run in a region, or `undefined` if it can. */
export function regionFault(region: string): string | undefined {
  if (!/^[a-z]{2,4}(-[a-z]+){1,2}-\d{1,2}$/.test(region)) return 'must be an AWS region such as eu-west-1';
  if (/^us-iso|^eu-iso|^eusc-/.test(region)) return 'is in a partition of AWS that the broker does not support';
  return WITHOUT_FUNCTION_URLS.has(region) ? 'has no Lambda Function URLs, which the broker needs' : undefined;
}

/** The regions without `AWS::Lambda::Url`. A test compares them with AWS's schemas in cfn-lint. */
const WITHOUT_FUNCTION_URLS: ReadonlySet<string> = new Set(
  [
    ['ap-east-2', 'ap-south-2', 'ap-southeast-4', 'ap-southeast-5', 'ap-southeast-6', 'ap-southeast-7', 'ca-west-1'],
    ['cn-northwest-1', 'eu-central-2', 'eu-south-2', 'il-central-1', 'me-central-1', 'mx-central-1'],
    ['us-gov-east-1', 'us-gov-west-1'],
  ].flat(),
);
