import type { SecretStage } from '../../contract.ts';
import type { Trace } from '../audit.ts';
import type { Pair } from '../pair.ts';
import type { Service } from '../service.ts';

/** One call of one caller that concerns a pair. Times are epoch milliseconds. */
export interface Call {
  readonly pair: Pair;
  readonly service: Service;
  /** Whether no other one is configured: then a secret need not say which services it is for. */
  readonly isOnlyService: boolean;
  /** Of the settings that change the service's token requests; part of the keys of holds. */
  readonly settingsDigest: string;
  /** The stage of the version that is checked; left out by a call for a token. */
  readonly stage?: SecretStage | undefined;
  readonly startedAt: number;
  readonly deadline: number;
  readonly trace: Trace;
}

/** A check of a version that is not in use: its token is for no caller, and it must not disturb any. */
export function isTrial({ stage }: Pick<Call, 'stage'>): boolean {
  return stage !== undefined && stage !== 'AWSCURRENT';
}
