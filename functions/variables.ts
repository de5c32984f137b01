import { createHash } from 'node:crypto';
import type { AccessRule } from './broker/authorize.ts';
import { isRecord } from './broker/json.ts';
import type { ServiceName } from './broker/pair.ts';
import type { Service } from './broker/service.ts';

/**
 * The environment variables of each function. `lib/` must fill exactly these and `functions/` reads only these, so a
 * missing or misspelled one is a compile error in the stack.
 */
export type BrokerVariables = Filled<typeof BROKER_NAMES>;

export const BROKER_NAMES = [
  /** The environment in the names of the secrets: `token-broker/<environment>/<client>`. */
  'TOKEN_BROKER_ENVIRONMENT',
  /** The table of pairs that all instances of the function share. */
  'TOKEN_BROKER_TABLE',
  /** Path of the settings file that lies beside the code; JSON of `BrokerSettings`. */
  'TOKEN_BROKER_SETTINGS',
  /** ARNs, separated by spaces, of the roles of this stack that check every pair: only deployment knows them. */
  'TOKEN_BROKER_CHECKER_ROLES',
  /** ARN of the role of this stack that must be refused: the audit lines say that its refusal is meant. */
  'TOKEN_BROKER_PROBE_ROLE',
] as const;

/** The part of an environment's settings that runs: it travels in the code asset, because variables end at 4 kB. */
export interface BrokerSettings {
  readonly services: Readonly<Record<ServiceName, Service>>;
  readonly accessRules: readonly AccessRule[];
  /** The organization that every caller's account must be in. */
  readonly principalOrgId?: string | undefined;
  /** How long a token that was obtained proves its credential to a check. */
  readonly provenForSeconds: number;
}

/** Identifies a text: the first 16 hexadecimal digits of its SHA-256. */
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
  return Object.fromEntries(Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

export type HealthVariables = Filled<typeof HEALTH_NAMES>;

export const HEALTH_NAMES = [
  'TOKEN_BROKER_ENVIRONMENT',
  /** The Function URL of the token function. */
  'TOKEN_BROKER_URL',
  /** The table with the memory of notifications, beside the pairs. */
  'TOKEN_BROKER_TABLE',
  /** Names of the configured services, separated by spaces. */
  'TOKEN_BROKER_SERVICES',
  /** Names of those with `singleActiveToken`, separated by spaces; `-`, which is no name, when there is none. */
  'TOKEN_BROKER_SINGLE_TOKEN_SERVICES',
  /** ARN of the topic of the operators. */
  'TOKEN_BROKER_TOPIC',
  /** ARN of the role that may call the URL, has no access rule and must therefore be refused. */
  'TOKEN_BROKER_PROBE_ROLE',
  /** From one run to the next. */
  'TOKEN_BROKER_HEALTH_INTERVAL_SECONDS',
] as const;

export type ReleaseCheckVariables = Filled<typeof RELEASE_CHECK_NAMES>;

export const RELEASE_CHECK_NAMES = [
  'TOKEN_BROKER_ENVIRONMENT',
  /** The Function URL of the version that no caller reaches yet. */
  'TOKEN_BROKER_URL',
  /** The digest of the access rules as synthesised; see `rulesDigest`. */
  'TOKEN_BROKER_RULES_DIGEST',
  /** Names of the configured services, separated by spaces. */
  'TOKEN_BROKER_SERVICES',
] as const;

type Filled<Names extends readonly string[]> = Readonly<Record<Names[number], string>>;

/** Reads a function's variables; throws at start-up, with the names, when one is missing or would leak secrets. */
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
 * The variables that make Node log its requests, Basic values too, or run code before ours. `NODE_OPTIONS` may only size the
 * memory or map stacks to sources.
 */
export function leakingVariables(variables: NodeJS.ProcessEnv): readonly string[] {
  const options = (variables.NODE_OPTIONS ?? '').split(/\s+/).filter((option) => option !== '');
  return [
    ...['NODE_DEBUG', 'NODE_DEBUG_NATIVE'].filter((name) => variables[name]),
    ...(options.every((option) => EXPECTED_OPTION.test(option)) ? [] : ['NODE_OPTIONS']),
  ];
}

const EXPECTED_OPTION = /^--(?:enable-source-maps|max-(?:old|semi)-space-size=\d+)$/;
