/** What AWS calls the parts of an environment: fixed, so that callers, operators and policies can rely on it. */
export const stackName = (environment: string) => `TokenBroker-${environment}`;

/** What the ARNs of a region begin with, after `arn:`. */
export const partitionOf = (region: string) =>
  region.startsWith('cn-') ? 'aws-cn' : region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';

/** The function that issues tokens. */
export const functionName = (environment: string) => `token-broker-${environment}`;

/** The function that proves the credentials. */
export const healthFunctionName = (environment: string) => `token-broker-health-${environment}`;

/** The function that asks a new version before a caller does. */
export const releaseCheckName = (environment: string) => `token-broker-release-check-${environment}`;

/** The alias that has the Function URL; it names the version which is in use. */
export const ALIAS = 'live';

/** The alias of the version that was deployed last, whether callers reach it or not. */
export const NEXT_ALIAS = 'next';

/** Who the token function is: what a resource policy on a client's secret names. */
export const tokenRoleName = (environment: string) => `token-broker-${environment}`;

/** The table of pairs; what changes its key schema must change this name too, or CloudFormation cannot replace it. */
export const tableName = (environment: string) => `token-broker-${environment}`;

/** The topic of the operators. */
export const topicName = (environment: string) => `token-broker-${environment}`;

/** Where stacks of the same account find the broker: a parameter of Systems Manager that holds its URL. */
export const urlParameterName = (environment: string) => `/token-broker/${environment}/url`;
