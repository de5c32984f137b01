import type { SecretStage } from '../../vocabulary.ts';
import type { Trace } from '../audit.ts';
import type { Credential } from '../credential/credential.ts';
import type { SecretVersion } from '../credential/secret.ts';
import type { Pair } from '../pair.ts';
import type { Service } from '../service.ts';
import type { PairRecord } from './record.ts';

/** One call of a caller about a pair. */
export interface Call {
  readonly pair: Pair;
  readonly service: Service;
  /** Whether no other service is configured. A secret then need not say which services it is for. */
  readonly isOnlyService: boolean;
  /** Identifies the settings of the service in the keys of holds. */
  readonly settingsDigest: string;
  /** The stage of the version to check, or `undefined` for a call that wants a token. */
  readonly stage?: SecretStage | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
  readonly trace: Trace;
}

/** A check of a version that is not in use. Its token is for no caller, and it must not disturb callers. */
export function isTrial({ stage }: Call): boolean {
  return stage !== undefined && stage !== 'AWSCURRENT';
}

/** One lease that a call has asked for, and the one token request that it allows. */
export interface LeasedRequest {
  readonly lease: { readonly id: string; readonly until: number };
  /** The record before the lease. */
  readonly record: PairRecord;
  readonly version: SecretVersion;
  readonly credential: Credential;
  readonly holdKey: string;
  /** The request replaces the record's token, which the service has refused. */
  readonly forced: boolean;
  readonly timeoutMs: number;
}
