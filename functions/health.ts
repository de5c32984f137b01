import { parseHealthEnvironment } from './environment.ts';
import { createHealthFunction } from './health-function.ts';

const variables = parseHealthEnvironment(process.env);

/** Lambda's entry point of the health function. */
export const handler = createHealthFunction({
  environment: variables.TOKEN_BROKER_ENVIRONMENT,
  url: variables.TOKEN_BROKER_URL,
  tableName: variables.TOKEN_BROKER_TABLE,
  services: variables.TOKEN_BROKER_SERVICES.split(' '),
  singleTokenServices: variables.TOKEN_BROKER_SINGLE_TOKEN_SERVICES.split(' '),
  topicArn: variables.TOKEN_BROKER_TOPIC,
  probeRoleArn: variables.TOKEN_BROKER_PROBE_ROLE,
  intervalSeconds: Number(variables.TOKEN_BROKER_HEALTH_INTERVAL_SECONDS),
});
