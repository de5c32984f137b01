import { readFileSync } from 'node:fs';
import { prime } from './prime.ts';
import { createTokenFunction } from './token-function.ts';
import { BROKER_NAMES, type BrokerSettings, parseVariables } from './variables.ts';

const variables = parseVariables(BROKER_NAMES, process.env);

// The stack writes this file from checked settings in the same deployment, so a cold start does not check it again.
const settings: BrokerSettings = JSON.parse(readFileSync(variables.TOKEN_BROKER_SETTINGS, 'utf8'));

const tokenFunction = createTokenFunction({
  environment: variables.TOKEN_BROKER_ENVIRONMENT,
  tableName: variables.TOKEN_BROKER_TABLE,
  settings,
  checkerRoles: variables.TOKEN_BROKER_CHECKER_ROLES.split(' '),
  probeRole: variables.TOKEN_BROKER_PROBE_ROLE,
  version: process.env.AWS_LAMBDA_FUNCTION_VERSION,
});

// A starting instance has a whole processor, and no caller waits for it yet.
await Promise.all([tokenFunction.readFirst(), prime(settings)]);

/** Lambda's entry point of the token function. */
export const { handler } = tokenFunction;
