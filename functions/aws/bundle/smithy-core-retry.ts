/**
 * Stands in the bundle of the token function for `@smithy/core/retry`, which repeats failed calls: there, the
 * adapters decide that, see `withRetry`.
 */
export function getRetryPlugin() {
  return { applyToStack: (stack: MiddlewareStack) => stack.add((next) => next, PLACE) };
}

interface MiddlewareStack {
  readonly add: (middleware: <Handler>(next: Handler) => Handler, place: object) => void;
}

/** Where others expect it: signing comes right after it. */
const PLACE = { name: 'retryMiddleware', step: 'finalizeRequest', priority: 'high', override: true };

export function resolveRetryConfig<Config>(config: Config): Config {
  return config;
}

export const Retry = { v2026: false, delay: () => 0 };

export const RETRY_MODES = { STANDARD: 'standard', ADAPTIVE: 'adaptive' };

export const DEFAULT_RETRY_MODE = RETRY_MODES.STANDARD;
export const DEFAULT_MAX_ATTEMPTS = 1;

export const NODE_RETRY_MODE_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  default: DEFAULT_RETRY_MODE,
};
export const NODE_MAX_ATTEMPT_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  default: DEFAULT_MAX_ATTEMPTS,
};
