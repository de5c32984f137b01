import type { AccessRule } from './broker/access-rule.ts';
import type { ServiceName } from './broker/pair.ts';
import type { Service } from './broker/service.ts';

/**
 * The environment variables of the token function. `lib/` must fill exactly these and `functions/` reads only these,
 * so a missing or misspelled one is a compile error in the stack.
 */
export interface BrokerEnvironment {
  /** Which environment's secrets this is: `token-broker/<environment>/<client>`. */
  readonly TOKEN_BROKER_ENVIRONMENT: string;
  /** The table of pairs that all instances of the function share. */
  readonly TOKEN_BROKER_TABLE: string;
  /** Path of the settings file that lies beside the code; JSON of `BrokerSettings`. */
  readonly TOKEN_BROKER_SETTINGS: string;
}

/** The part of an environment's settings that runs: it travels in the code asset, because variables end at 4 kB. */
export interface BrokerSettings {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly accessRules: readonly AccessRule[];
}

/** Reads the variables; throws at start-up, with the names, when the stack left one out. */
export function parseEnvironment(variables: Readonly<Record<string, string | undefined>>): BrokerEnvironment {
  const { TOKEN_BROKER_ENVIRONMENT, TOKEN_BROKER_TABLE, TOKEN_BROKER_SETTINGS } = variables;
  if (!TOKEN_BROKER_ENVIRONMENT || !TOKEN_BROKER_TABLE || !TOKEN_BROKER_SETTINGS) {
    throw new TypeError(
      'The environment variables TOKEN_BROKER_ENVIRONMENT, TOKEN_BROKER_TABLE and TOKEN_BROKER_SETTINGS must be set.',
    );
  }
  return { TOKEN_BROKER_ENVIRONMENT, TOKEN_BROKER_TABLE, TOKEN_BROKER_SETTINGS };
}
