import type { AccessRule } from './broker/authorize.ts';
import type { ServiceName } from './broker/pair/pair.ts';
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
  /** ARNs, separated by spaces, of the roles of this stack that check every pair: only deployment knows them. */
  readonly TOKEN_BROKER_CHECKER_ROLES: string;
}

/** The part of an environment's settings that runs: it travels in the code asset, because variables end at 4 kB. */
export interface BrokerSettings {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly accessRules: readonly AccessRule[];
  /** How long a token that was obtained proves its credential to a check. */
  readonly provenForSeconds: number;
}

/** The environment variables of the health function. */
export interface HealthEnvironment {
  readonly TOKEN_BROKER_ENVIRONMENT: string;
  /** The Function URL of the token function. */
  readonly TOKEN_BROKER_URL: string;
  /** Where, beside the pairs, is remembered what was notified. */
  readonly TOKEN_BROKER_TABLE: string;
  /** Names of the configured services, separated by spaces. */
  readonly TOKEN_BROKER_SERVICES: string;
  /** Names of those with `singleActiveToken`, separated by spaces; `-`, which is no name, when there is none. */
  readonly TOKEN_BROKER_SINGLE_TOKEN_SERVICES: string;
  /** ARN of the topic of the operators. */
  readonly TOKEN_BROKER_TOPIC: string;
  /** ARN of the role that may call the URL, has no access rule and must therefore be refused. */
  readonly TOKEN_BROKER_PROBE_ROLE: string;
  /** From one run to the next. */
  readonly TOKEN_BROKER_HEALTH_INTERVAL_SECONDS: string;
}

/** Reads the token function's variables; throws at start-up, with the names, when the stack left one out. */
export function parseBrokerEnvironment(variables: Variables): BrokerEnvironment {
  return parse(BROKER_NAMES, variables);
}

/** As `parseBrokerEnvironment`, for the health function. */
export function parseHealthEnvironment(variables: Variables): HealthEnvironment {
  return parse(HEALTH_NAMES, variables);
}

type Variables = Readonly<Record<string, string | undefined>>;

const BROKER_NAMES = [
  'TOKEN_BROKER_ENVIRONMENT',
  'TOKEN_BROKER_TABLE',
  'TOKEN_BROKER_SETTINGS',
  'TOKEN_BROKER_CHECKER_ROLES',
] as const;

const HEALTH_NAMES = [
  'TOKEN_BROKER_ENVIRONMENT',
  'TOKEN_BROKER_URL',
  'TOKEN_BROKER_TABLE',
  'TOKEN_BROKER_SERVICES',
  'TOKEN_BROKER_SINGLE_TOKEN_SERVICES',
  'TOKEN_BROKER_TOPIC',
  'TOKEN_BROKER_PROBE_ROLE',
  'TOKEN_BROKER_HEALTH_INTERVAL_SECONDS',
] as const;

function parse<Name extends string>(names: readonly Name[], variables: Variables): Readonly<Record<Name, string>> {
  const missing = names.filter((name) => !variables[name]);
  if (missing.length > 0) throw new TypeError(`The environment variables ${missing.join(', ')} must be set.`);
  return Object.fromEntries(names.map((name) => [name, variables[name]])) as Readonly<Record<Name, string>>;
}
