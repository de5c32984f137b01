import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto';

/**
 * Stands in bundles for packages of the SDK that start slowly, with what the clients import of them.
 *
 * For `@aws-sdk/credential-provider-node`, which looks for credentials in eight places and brings six clients for it, a third
 * of a bundle; Lambda gives a function its role's credentials in these variables, and nowhere else.
 */
export function defaultProvider() {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) throw new CredentialsProviderError();
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  };
}

/** Named as the one of the SDK. */
class CredentialsProviderError extends Error {
  override readonly name = 'CredentialsProviderError';
  override readonly message = 'There are no credentials in the environment.';
}

/** For `@smithy/core/checksum`, which brings SHA-256 and more in JavaScript along, for a Node without cryptography. */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | Uint8Array) {
    // Node takes four times as long for bytes that are not made a key of first.
    const key = typeof secret === 'object' ? createSecretKey(secret) : secret;
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

/**
 * For `@smithy/core/config`, which looks for every setting of every client in two files that Lambda does not have; here the
 * settings come from the variables and from the code.
 */
export function loadConfig<Value>(setting: Setting<Value>, options: object = {}): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  const load = async () =>
    setting.environmentVariableSelector(process.env, options) ?? (await resolve(setting.default));
  return () => {
    value ??= load();
    return value;
  };
}

interface Setting<Value> {
  readonly environmentVariableSelector: (variables: Variables, options?: object) => Value | undefined;
  readonly default: Value | (() => Value | Promise<Value>);
}

type Variables = Readonly<Record<string, string | undefined>>;

async function resolve<Value>(given: Setting<Value>['default']): Promise<Value> {
  return given instanceof Function ? given() : given;
}

export const REGION_ENV_NAME = 'AWS_REGION';
export const REGION_INI_NAME = 'region';

export const NODE_REGION_CONFIG_FILE_OPTIONS = {};
export const NODE_REGION_CONFIG_OPTIONS: Setting<string> = {
  environmentVariableSelector: (variables) => variables[REGION_ENV_NAME],
  default: () => {
    throw new Error(`${REGION_ENV_NAME} must be set.`);
  },
};

export const NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS = switchedBy('AWS_USE_DUALSTACK_ENDPOINT');
export const NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS = switchedBy('AWS_USE_FIPS_ENDPOINT');

function switchedBy(name: string): Setting<boolean> {
  return { environmentVariableSelector: (variables) => booleanSelector(variables, name), default: false };
}

export function booleanSelector(variables: Variables, name: string): boolean | undefined {
  const value = variables[name];
  if (value === undefined) return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new Error(`${name} must be true or false.`);
}

/** What a client is told to do of itself: nothing but what its code says. */
export function resolveDefaultsModeConfig() {
  return async () => 'legacy';
}

export function resolveRegionConfig<Config extends Regional>(config: Config) {
  const { region, useFipsEndpoint } = config;
  return Object.assign(config, { region: () => resolve(region), useFipsEndpoint: () => resolve(useFipsEndpoint) });
}

interface Regional {
  readonly region: Setting<string>['default'];
  readonly useFipsEndpoint: Setting<boolean>['default'];
}

export const CONFIG_PREFIX_SEPARATOR = '.';
export const SelectorType = {};
export class ProviderError extends Error {}

function unchanged<Config>(config: Config): Config {
  return config;
}

function fixed<Value>(value: Value): Setting<Value> {
  return { environmentVariableSelector: () => undefined, default: value };
}

/**
 * In the token function for `@smithy/core/retry`, which repeats failed calls: there, the adapters decide that, see `withRetry`.
 * Signing looks for its place.
 */
export function getRetryPlugin() {
  const place = { name: 'retryMiddleware', step: 'finalizeRequest', priority: 'high', override: true };
  return { applyToStack: (stack: MiddlewareStack) => stack.add((next) => next, place) };
}

interface MiddlewareStack {
  readonly add: (middleware: <Handler>(next: Handler) => Handler, place: object) => void;
}

export const resolveRetryConfig = unchanged;
export const Retry = { v2026: false, delay: () => 0 };
export const RETRY_MODES = { STANDARD: 'standard', ADAPTIVE: 'adaptive' };
export const DEFAULT_RETRY_MODE = RETRY_MODES.STANDARD;
export const NODE_RETRY_MODE_CONFIG_OPTIONS = fixed(DEFAULT_RETRY_MODE);
export const NODE_MAX_ATTEMPT_CONFIG_OPTIONS = fixed(1);
