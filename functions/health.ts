import { HEALTH_NAMES, parseEnvironment } from './environment.ts';
import { createHealthFunction } from './health-function.ts';

/** Lambda's entry point of the health function. */
export const handler = createHealthFunction(parseEnvironment(HEALTH_NAMES, process.env));
