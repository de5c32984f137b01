export type { Check, Finding, SecretStage } from './check.ts';
export type { AwsCredentials, ReadAwsCredentials } from './credentials.ts';
export { type BrokerProblem, type FailureType, TokenBrokerError } from './error.ts';
export type { IssuedToken } from './issued-token.ts';
export {
  type CallOptions,
  type CheckOptions,
  createTokenBroker,
  type TokenBroker,
  type TokenBrokerOptions,
  type TokenOptions,
  type UseOptions,
} from './token-broker.ts';
export { TokenRefused } from './with-token.ts';
