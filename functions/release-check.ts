import { createReleaseCheckFunction } from './release-check-function.ts';
import { parseVariables, RELEASE_CHECK_NAMES } from './variables.ts';

/** Lambda's entry point of the release check. */
export const handler = createReleaseCheckFunction(parseVariables(RELEASE_CHECK_NAMES, process.env));
