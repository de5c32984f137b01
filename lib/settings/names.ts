/** The name of the stack. All names here are fixed, so that callers, operators and policies can rely on them. */
export const stackName = (environment: string) => `TokenBroker-${environment}`;

/** The function that issues tokens. */
export const functionName = (environment: string) => `token-broker-${environment}`;

/** The function that proves the credentials. */
export const healthFunctionName = (environment: string) => `token-broker-health-${environment}`;

/** The function that calls a new version before a caller does. */
export const releaseCheckName = (environment: string) => `token-broker-release-check-${environment}`;

/** The alias that has the Function URL, for the version in use. */
export const ALIAS = 'live';

/** The alias of the version that was deployed last, which callers may not reach yet. */
export const NEXT_ALIAS = 'next';

/** The role of the token function. Resource policies of clients' secrets name it. */
export const tokenRoleName = (environment: string) => `token-broker-${environment}`;

/** The table of pairs. A new key schema needs a new name, or CloudFormation cannot replace the table. */
export const tableName = (environment: string) => `token-broker-${environment}`;

/** The topic of the operators. */
export const topicName = (environment: string) => `token-broker-${environment}`;

/** The parameter of Systems Manager that contains the broker's URL, for stacks of the same account. */
export const urlParameterName = (environment: string) => `/token-broker/${environment}/url`;

/** The environment of `npm start` on this machine. A client's secret is `token-broker/local/<client>`. */
export const LOCAL_ENVIRONMENT = 'local';

/** The account of the stand-ins of `npm start`. */
export const LOCAL_ACCOUNT = '111111111111';

/** The variable that names another file of settings than lib/environments.ts. The process of the CDK inherits it. */
export const SETTINGS_VARIABLE = 'TOKEN_BROKER_ENVIRONMENTS_FILE';
