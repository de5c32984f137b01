import type { SecretStage } from '../../vocabulary.ts';
import type { Trace } from '../audit.ts';
import type { Credential } from '../credential/credential.ts';
import type { SecretVersion } from '../credential/secret.ts';
import type { Pair } from '../pair.ts';
import type { Service } from '../service.ts';
import type { watch } from './deadlines.ts';
import type { PairRecord, Rejection } from './record.ts';

/** One call of one caller that concerns a pair. */
export interface Call {
  readonly pair: Pair;
  readonly service: Service;
  /** Whether no other one is configured: then a secret need not say which services it is for. */
  readonly isOnlyService: boolean;
  /** Of the settings that change the service's token requests; part of the keys of holds. */
  readonly settingsDigest: string;
  /** The stage of the version that is checked; left out by a call for a token. */
  readonly stage?: SecretStage | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
  readonly trace: Trace;
}

/** A check of a version that is not in use: its token is for no caller, and it must not disturb any. */
export function isTrial({ stage }: Call): boolean {
  return stage !== undefined && stage !== 'AWSCURRENT';
}

/** One lease that a call has asked for, and the one token request that it is for. */
export interface Attempt {
  readonly lease: { readonly id: string; readonly until: number };
  /** The lease is the table's; otherwise the instance has given it to itself. */
  readonly isShared: boolean;
  /** The record before the lease. */
  readonly record: PairRecord;
  readonly version: SecretVersion;
  readonly credential: Credential;
  readonly holdKey: string;
  /** The request is to replace the record's token, which the service has refused. */
  readonly forced: boolean;
  readonly timeoutMs: number;
}

/** A call, and how far it has come. */
export type Progress = ReturnType<typeof withProgress>;

export function withProgress(call: Call, now: number) {
  return {
    ...call,
    /** The lease of another call, as this one has watched it. */
    watched: undefined as ReturnType<typeof watch>,
    /** By the ids of the leases that the call asked for. A write that went unanswered may still arrive; `undefined` once it is used. */
    attempts: new Map<string, Attempt | undefined>(),
    /** The versions that the call has sent: it sends none twice. */
    sent: new Map<string, Rejection>(),
    /** The secret counts from then on. */
    readSince: call.stage === undefined ? -Infinity : now,
    /** Writes: after the second one the call goes on alone. */
    unanswered: 0,
    polls: 0,
  };
}
