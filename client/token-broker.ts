import { askForCheck, type Check, type CheckOptions } from './check.ts';
import { type AwsCredentials, type ReadAwsCredentials, standardAwsCredentials } from './credentials.ts';
import { parseEndpoint } from './endpoint.ts';
import { askForToken, type IssuedToken, type TokenOptions } from './token.ts';

export interface TokenBrokerOptions {
  /** The broker's Function URL. */
  readonly url: string;
  /** Where the Function URL is; read from its host when left out. */
  readonly region?: string | undefined;
  /** What to sign with; the standard credential chain of the AWS SDK when left out. */
  readonly credentials?: AwsCredentials | ReadAwsCredentials | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly now?: (() => number) | undefined;
  /** How long one attempt may take; the default is longer than the broker itself can take. */
  readonly timeoutMs?: number | undefined;
}

export interface TokenBroker {
  /** A token of one client on one service. @throws TokenBrokerError */
  readonly token: (options: TokenOptions) => Promise<IssuedToken>;
  /** Whether the credential of one client works on one service. @throws TokenBrokerError when nobody can say */
  readonly check: (options: CheckOptions) => Promise<Check>;
}

/**
 * The way to a token broker. Sends nothing and reads no credentials before it is asked for something.
 *
 * @throws TypeError when `url` or `region` cannot be used
 */
export function createTokenBroker(options: TokenBrokerOptions): TokenBroker {
  const { url, region, credentials = standardAwsCredentials(), fetch = globalThis.fetch, now = Date.now } = options;
  const connection = {
    endpoint: parseEndpoint(url, region),
    credentials: typeof credentials === 'function' ? credentials : async () => credentials,
    fetch,
    now,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
  return {
    token: (tokenOptions) => askForToken(connection, tokenOptions),
    check: (checkOptions) => askForCheck(connection, checkOptions),
  };
}

/** Five seconds beyond the time limit of the broker's function. */
const DEFAULT_TIMEOUT_MS = 20_000;
