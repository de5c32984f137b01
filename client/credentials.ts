/** The AWS credentials that requests are signed with; the AWS SDK's credentials have this shape. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Gives the current AWS credentials; called for every attempt, so whoever gives them caches and renews them. */
export type ReadAwsCredentials = () => Promise<AwsCredentials>;

/** The standard chain of the AWS SDK (environment, profile, SSO, container, instance), loaded when first needed. */
export function standardAwsCredentials(): ReadAwsCredentials {
  let chain: Promise<ReadAwsCredentials> | undefined;
  return async () => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider());
    return (await chain)();
  };
}
