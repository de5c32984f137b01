import { parseRotationEnvironment } from './environment.ts';
import { createRotationFunction } from './rotation-function.ts';

const variables = parseRotationEnvironment(process.env);

/** Lambda's entry point of the rotation function. */
export const handler = createRotationFunction({
  environment: variables.TOKEN_BROKER_ENVIRONMENT,
  url: variables.TOKEN_BROKER_URL,
  tableName: variables.TOKEN_BROKER_TABLE,
  services: variables.TOKEN_BROKER_SERVICES.split(' '),
  topicArn: variables.TOKEN_BROKER_TOPIC,
});
