/**
 * Stands in bundles for `@smithy/core/config`, with what the clients import of it. That one looks for every setting of
 * every client in two files that Lambda does not have; here the settings come from the variables and from the code.
 */
export function loadConfig<Value>(
  { environmentVariableSelector, default: fallback }: Setting<Value>,
  options: object = {},
): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  const load = async () => environmentVariableSelector(process.env, options) ?? (await resolve(fallback));
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
export function resolveDefaultsModeConfig(): () => Promise<string> {
  return async () => 'legacy';
}

export function resolveRegionConfig<Config extends Regional>(config: Config) {
  const { region, useFipsEndpoint } = config;
  return Object.assign(config, { region: () => resolve(region), useFipsEndpoint: () => resolve(useFipsEndpoint) });
}

interface Regional {
  readonly region: string | (() => Promise<string>);
  readonly useFipsEndpoint: boolean | (() => Promise<boolean>);
}

export const CONFIG_PREFIX_SEPARATOR = '.';
export const SelectorType = { ENV: 'env', CONFIG: 'shared config entry' };

export class ProviderError extends Error {}
