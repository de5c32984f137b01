import type { SecretStage } from '../../contract.ts';
import type { SecretVersion } from '../credential/secret.ts';
import type { CredentialReading, Credentials } from '../credential/secret-cache.ts';
import type { Call, IssueCall } from './call.ts';
import { chooseSendable, needsPrevious, type StagedVersions } from './choose-version.ts';
import { decide, type Step } from './decision.ts';
import type { PairRecord } from './record.ts';

/** What a call should do next, and the secret version to do it with. */
export interface Outlook {
  readonly step: Step;
  readonly version: SecretVersion | undefined;
}

interface Dependencies {
  /** Part of the names of secrets. */
  readonly environment: string;
  readonly credentials: Credentials;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** What a call wants; it becomes a call with a lease to sign only when memory does not know enough. */
export type Wish = Pick<IssueCall, 'pair' | 'service' | 'request' | 'trace'>;

/** Brings a pair's record and its client's secret together into one decision. */
export function createOutlook({ environment, credentials, now }: Dependencies) {
  /** From what memory holds alone; `undefined` when it knows too little of the secret. */
  const recall = (wish: Wish, record: PairRecord): Outlook | undefined => {
    const { client } = wish.pair;
    const current = credentials.known(client, 'AWSCURRENT');
    if (current === undefined) return undefined;
    if (!needsPrevious(current, record.rejected, now())) return look(wish, record, { current });
    const previous = credentials.known(client, 'AWSPREVIOUS');
    return previous && look(wish, record, { current, previous });
  };

  const read = async (
    call: IssueCall,
    record: PairRecord,
    current: CredentialReading,
    options: { readonly readSince: number; readonly leaseIsOver: boolean },
  ): Promise<Outlook> => {
    const isNeeded = needsPrevious(current, record.rejected, now());
    const previous = isNeeded ? await readStage(call, 'AWSPREVIOUS', options.readSince) : undefined;
    return look(call, record, { current, previous }, options.leaseIsOver);
  };

  return {
    recall,
    read,

    /** Under the lease: with a secret that was read since the call began. */
    async reconsider(call: IssueCall, record: PairRecord): Promise<Outlook> {
      const current = await readStage(call, 'AWSCURRENT', call.startedAt);
      return read(call, record, current, { readSince: call.startedAt, leaseIsOver: true });
    },

    /** All versions of the client's secret that carry a stage; `undefined` when not every stage could be read. */
    async stagedVersions(call: Call): Promise<ReadonlySet<string> | undefined> {
      const readings = await Promise.all(STAGES.map((stage) => readStage(call, stage, call.startedAt)));
      if (readings.some(({ outcome }) => outcome !== 'found' && outcome !== 'missing')) return undefined;
      return new Set(readings.flatMap((reading) => ('secret' in reading ? [reading.secret.versionId] : [])));
    },
  };

  function readStage({ pair, deadline }: Call, stage: SecretStage, readSince: number): Promise<CredentialReading> {
    return credentials.read(pair.client, stage, { readSince, deadline });
  }

  function look(wish: Wish, record: PairRecord, versions: StagedVersions, leaseIsOver = true): Outlook {
    const { pair, service, request, trace } = wish;
    const sendable = chooseSendable(environment, pair, versions, record.rejected, now());
    if (versions.current.outcome === 'stale') trace.warnings.add('secret-stale');
    const { version } = sendable;
    if (version?.stage === 'AWSPREVIOUS') trace.warnings.add('previous-version');
    const { singleActiveToken, requestTimeoutMs } = service;
    const step = decide({ record, request, sendable, leaseIsOver, singleActiveToken, requestTimeoutMs, now: now() });
    return { step, version };
  }
}

const STAGES: readonly SecretStage[] = ['AWSCURRENT', 'AWSPREVIOUS', 'AWSPENDING'];
