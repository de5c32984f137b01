import { LOCAL_ENVIRONMENT } from '../../../lib/settings/names.ts';

/** Returns whether this is the environment of `npm start`, which runs on this machine. */
export function isLocal(environment: string): boolean {
  return environment === LOCAL_ENVIRONMENT;
}
