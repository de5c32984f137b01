import { HEALTH_NAMES, parseVariables } from './environment.ts';
import { createHealthFunction } from './health-function.ts';

/** Lambda's entry point of the health function. */
export const handler = createHealthFunction(parseVariables(HEALTH_NAMES, process.env));
