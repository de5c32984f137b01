import { createHash } from 'node:crypto';
import type { AccessRule } from './broker/authorize.ts';
import { isRecord } from './broker/json.ts';
import type { ServiceName } from './broker/pair.ts';
import type { Service } from './broker/service.ts';

/**
 * The environment variables of each function. `lib/` must set exactly these and `functions/` reads only these: a
 * missing or misspelled name is a compile error in the stack.
 */
export type BrokerVariables = Filled<typeof BROKER_NAMES>;

export const BROKER_NAMES = [
  /** The environment in the names of the secrets: `token-broker/<environment>/<client>`. */
  'TOKEN_BROKER_ENVIRONMENT',
  /** The table of pairs that all instances of the function share. */
  'TOKEN_BROKER_TABLE',
  /** Path of the settings file next to the code, which contains `BrokerSettings` as JSON. */
  'TOKEN_BROKER_SETTINGS',
  /** ARNs, separated by spaces, of this stack's roles that check every pair. Only the deployment knows them. */
  'TOKEN_BROKER_CHECKER_ROLES',
  /** ARN of this stack's role that must be refused. Audit lines mark its refusals as intended. */
  'TOKEN_BROKER_PROBE_ROLE',
] as const;

/** The settings that the token function reads. They are part of the code asset, because variables end at 4 kB. */
export interface BrokerSettings {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly accessRules: readonly AccessRule[];
  /** The organization that must contain every caller's account. */
  readonly principalOrgId?: string | undefined;
  /** The time for which an obtained token proves its credential to a check. */
  readonly provenForSeconds: number;
  /** The longest time to a token within the service level, if the environment has a service level. */
  readonly sloWithinMs?: number;
}

/** Returns the first 16 hexadecimal digits of the text's SHA-256. */
export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Identifies the access rules in audit lines and in the template of the stack. */
export function rulesDigest({ accessRules, principalOrgId }: Omit<BrokerSettings, 'services' | 'provenForSeconds'>) {
  return shortDigest(JSON.stringify([principalOrgId ?? null, accessRules]));
}

/** Identifies all settings of a service, in any order of their members. */
export function settingsDigest(service: Service): string {
  return shortDigest(JSON.stringify(service, (_, value) => (isRecord(value) ? sorted(value) : value)));
}

function sorted(members: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export type HealthVariables = Filled<typeof HEALTH_NAMES>;

export const HEALTH_NAMES = [
  'TOKEN_BROKER_ENVIRONMENT',
  /** The Function URL of the token function. */
  'TOKEN_BROKER_URL',
  /** The table that stores the state of notifications next to the pairs. */
  'TOKEN_BROKER_TABLE',
  /** Names of the configured services, separated by spaces. */
  'TOKEN_BROKER_SERVICES',
  /** Names of the services with `singleActiveToken`, separated by spaces, or `-` (no valid name) for an empty list. */
  'TOKEN_BROKER_SINGLE_TOKEN_SERVICES',
  /** ARN of the topic of the operators. */
  'TOKEN_BROKER_TOPIC',
  /** The number of subscriptions that the topic must have confirmed. */
  'TOKEN_BROKER_SUBSCRIBERS',
  /** ARN of the role that may call the URL, has no access rule and must therefore be refused. */
  'TOKEN_BROKER_PROBE_ROLE',
  /** The time between two runs. */
  'TOKEN_BROKER_HEALTH_INTERVAL_SECONDS',
] as const;

export type ReleaseCheckVariables = Filled<typeof RELEASE_CHECK_NAMES>;

export const RELEASE_CHECK_NAMES = [
  'TOKEN_BROKER_ENVIRONMENT',
  /** The Function URL of the version that no caller reaches yet. */
  'TOKEN_BROKER_URL',
  /** The digest of the synthesised access rules (`rulesDigest`). */
  'TOKEN_BROKER_RULES_DIGEST',
  /** Names of the configured services, separated by spaces. */
  'TOKEN_BROKER_SERVICES',
] as const;

type Filled<Names extends readonly string[]> = Readonly<Record<Names[number], string>>;

/** Reads a function's variables. Throws with the names of variables that are missing or would leak secrets. */
export function parseVariables<Names extends readonly string[]>(names: Names, variables: NodeJS.ProcessEnv) {
  const missing = names.filter((name) => !variables[name]);
  if (missing.length > 0) throw new TypeError(`The environment variables ${missing.join(', ')} must be set.`);
  const leaking = leakingVariables(variables);
  if (leaking.length > 0) {
    throw new TypeError(`The environment variables ${leaking.join(', ')} must not be set: Node would write secrets.`);
  }
  return Object.fromEntries(names.map((name) => [name, variables[name]])) as Filled<Names>;
}

/**
 * Returns the variables that make Node log its requests, including Basic values, or run other code before ours.
 * `NODE_OPTIONS` may only size the memory or map stacks to sources.
 */
export function leakingVariables(variables: NodeJS.ProcessEnv): readonly string[] {
  const options = (variables.NODE_OPTIONS ?? '').split(/\s+/).filter((option) => option !== '');
  return [
    ...['NODE_DEBUG', 'NODE_DEBUG_NATIVE'].filter((name) => variables[name]),
    ...(options.every((option) => EXPECTED_OPTION.test(option)) ? [] : ['NODE_OPTIONS']),
  ];
}

const EXPECTED_OPTION = /^--(?:enable-source-maps|max-(?:old|semi)-space-size=\d+)$/;
