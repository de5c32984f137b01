import { parseReleaseCheckEnvironment } from './environment.ts';
import { createReleaseCheckFunction } from './release-check-function.ts';

const variables = parseReleaseCheckEnvironment(process.env);

/** Lambda's entry point of the release check. */
export const handler = createReleaseCheckFunction({
  environment: variables.TOKEN_BROKER_ENVIRONMENT,
  url: variables.TOKEN_BROKER_URL,
  services: variables.TOKEN_BROKER_SERVICES.split(' '),
});
