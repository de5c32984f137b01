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

/** The alias that has the Function URL; it names the version which is in use. */
export const ALIAS = 'live';

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
