/** The role that calls, with the session token of a Lambda function. */
export const ROLE = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'session/secret+',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};

/** The variables of that role, as Lambda sets them. */
export const ROLE_VARIABLES = {
  AWS_REGION: 'us-east-1',
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: ROLE.accessKeyId,
  AWS_SECRET_ACCESS_KEY: ROLE.secretAccessKey,
  AWS_SESSION_TOKEN: ROLE.sessionToken,
};
