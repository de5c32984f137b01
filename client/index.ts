export type { Finding, ProblemType, ProvenBy, SecretStage } from '../functions/vocabulary.ts';
export type { Check, IssuedToken } from './answers.ts';
export { type Caller, type CallerRule, ruleText } from './caller.ts';
export { type BrokerProblem, type FailureType, networkAdvice, safeCause, TokenBrokerError } from './error.ts';
export {
  type AwsCredentials,
  credentialsReason,
  type Endpoint,
  keepAwsCredentials,
  parseEndpoint,
  type ReadAwsCredentials,
  sign,
  standardAwsCredentials,
} from './sign.ts';
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
