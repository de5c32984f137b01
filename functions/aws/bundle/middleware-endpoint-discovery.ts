/**
 * Stands in bundles for the package of this name, which asks DynamoDB where to send requests; nothing here has that
 * switched on, and its cache of endpoints is as large as the code that seals tokens.
 */
export function resolveEndpointDiscoveryConfig<Config>(config: Config): Config {
  return config;
}

export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  default: false,
};
