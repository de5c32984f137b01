import { createHealthFunction } from './health-function.ts';
import { HEALTH_NAMES, parseVariables } from './variables.ts';

/** Lambda's entry point of the health function. */
export const handler = createHealthFunction(parseVariables(HEALTH_NAMES, process.env));
