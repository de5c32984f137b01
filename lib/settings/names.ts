/** What AWS calls the parts of an environment: fixed, so that callers, operators and policies can rely on it. */
export function stackName(environment: string): string {
  return `TokenBroker-${environment}`;
}

/** The function that issues tokens. */
export function functionName(environment: string): string {
  return `token-broker-${environment}`;
}

/** The function that proves the credentials. */
export function healthFunctionName(environment: string): string {
  return `token-broker-health-${environment}`;
}

/** The function that asks a new version before a caller does. */
export function releaseCheckName(environment: string): string {
  return `token-broker-release-check-${environment}`;
}

/** The alias that has the Function URL; it names the version which is in use. */
export const ALIAS = 'live';

/** The alias of the version that was deployed last, whether callers reach it or not. */
export const NEXT_ALIAS = 'next';

/** Who the token function is: what a resource policy on a client's secret names. */
export function tokenRoleName(environment: string): string {
  return `token-broker-${environment}`;
}

/** The table of pairs; what changes its key schema must change this name too, or CloudFormation cannot replace it. */
export function tableName(environment: string): string {
  return `token-broker-${environment}`;
}

/** The topic of the operators. */
export function topicName(environment: string): string {
  return `token-broker-${environment}`;
}
