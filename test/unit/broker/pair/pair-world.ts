import { createSecretCache, type SecretReading } from '../../../../functions/broker/credential/secret.ts';
import { createAcquireToken } from '../../../../functions/broker/pair/acquire-token.ts';
import type { Call } from '../../../../functions/broker/pair/call.ts';
import { decideIssue, type Step, type View } from '../../../../functions/broker/pair/decision.ts';
import { PairMemory } from '../../../../functions/broker/pair/memory.ts';
import type { Obtained, ObtainToken } from '../../../../functions/broker/pair/obtain-token.ts';
import type { PairRecord } from '../../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable, type TaggedRecord } from '../../../../functions/broker/pair/store.ts';
import { Problem } from '../../../../functions/broker/problem.ts';
import type { SecretStage } from '../../../../functions/vocabulary.ts';
import { found, ISSUE_REQUEST } from '../../../support/broker-world.ts';
import { START } from '../../../support/example.ts';
import { exampleCall, exampleToken } from '../../../support/pair/pair-examples.ts';
import { createReferencePairStore, type ReferencePairStore } from '../../../support/pair/reference-pair-store.ts';

export const SILENT = () => Promise.reject(new StoreUnavailable('silent', 'DynamoDB does not answer'));
export const THROTTLED = () => Promise.reject(new StoreUnavailable('busy', 'DynamoDB throttles the table'));
export const OPEN = () =>
  Promise.reject(new StoreUnavailable('lasting', 'DynamoDB does not answer', { retryMs: 8_500, cause: 'OutOfTime' }));
export const NO_KEY = () => Promise.reject(new StoreUnavailable('lasting', 'its sealing key cannot be read'));
export const REQUEST = { kind: 'request', forced: false } as const;
export const RENEW = { kind: 'renew', answer: 'old token', timeoutMs: 1_000 } as const;
export const REJECTED: Obtained = { outcome: 'rejected' };
export const FAILED: Obtained = {
  outcome: 'failed',
  problem: new Problem('token-endpoint-unavailable', 'down', { cause: 'why' }),
};
export const FINGERPRINT = exampleToken().fingerprint;
export const { pair: PAIR } = exampleCall();
export const LEASE_MS = 6_000;
export const LIVE = { lease: { id: 'another', until: START + LEASE_MS } };

export const answer = (text: string) => ({ kind: 'answer', answer: text }) as const;
/** Asks for a token request as soon as no other call holds the lease. */
export const requestWhenFree = ({ leaseIsOver }: View): Step<string> => (leaseIsOver ? REQUEST : { kind: 'wait' });
/** AWSCURRENT is v2, and every other stage v1. */
export const rotated = (stage: SecretStage) => found(stage === 'AWSCURRENT' ? 'v2' : 'v1', undefined, stage);

export interface PairWorldOptions {
  readonly random?: number;
  /** What the table holds. */
  readonly record?: Partial<PairRecord>;
  /** What the reads of the table show one after the other, the last one again and again, if not what it holds. */
  readonly reads?: readonly (Partial<PairRecord> | typeof SILENT)[];
  readonly store?: Partial<PairStore>;
  /** What the token requests bring, the last one again and again; `undefined`: a token. */
  readonly renewals?: readonly (Obtained | Error | undefined)[];
  /** In place of the n-th write of the table (from 1), or around it. */
  readonly onReplace?: (
    write: () => Promise<TaggedRecord | undefined>,
    of: Replacement,
  ) => Promise<TaggedRecord | undefined>;
  /** How long each of them takes. */
  readonly requestMs?: number;
  readonly secret?: (stage: SecretStage, n: number) => SecretReading;
  /** How long Secrets Manager takes. */
  readonly secretMs?: number;
}

interface Replacement {
  readonly n: number;
  readonly next: PairRecord;
  readonly deadline: number;
  readonly settles: boolean;
  readonly clock: { now: number };
  readonly shared: ReferencePairStore;
}

/** Real parts around a table, a Secrets Manager and a service that are functions; time passes while a call sleeps. */
export function createPairWorld(options: PairWorldOptions = {}) {
  const { random = 0, reads, renewals = [], secret = (stage) => found('v1', undefined, stage) } = options;
  const clock = { now: START };
  const slept: number[] = [];
  const readStages: SecretStage[] = [];
  const tableReads: number[] = [];
  const sent: (Parameters<ObtainToken>[0] & Parameters<ObtainToken>[1] & { deadline: number })[] = [];
  const views: View[] = [];
  let leases = 0;
  let writes = 0;
  const memory = new PairMemory(() => clock.now);
  const shared = createReferencePairStore();
  shared.change(PAIR, (empty) => ({ ...empty, ...options.record }));
  const acquireToken = createAcquireToken({
    environment: 'test',
    memory,
    store: {
      ...shared,
      async read(which, terms) {
        tableReads.push(terms.deadline);
        const shown = reads?.[Math.min(tableReads.length, reads.length) - 1];
        if (typeof shown === 'function') return shown();
        if (shown !== undefined) shared.change(which, (record) => ({ ...record, ...shown }));
        return shared.read(which, terms);
      },
      async replace(which, seen, next, terms) {
        writes += 1;
        const write = () => shared.replace(which, seen, next, terms);
        const { deadline, settles = false } = terms;
        return options.onReplace?.(write, { n: writes, next, deadline, settles, clock, shared }) ?? write();
      },
      ...options.store,
    },
    secrets: createSecretCache({
      now: () => clock.now,
      readSecret: async (_client, stage) => {
        clock.now += options.secretMs ?? 0;
        return secret(stage, readStages.push(stage));
      },
    }),
    obtainToken: async (call, request, deadline) => {
      sent.push({ ...call, ...request, deadline });
      clock.now += options.requestMs ?? 0;
      const renewal = renewals[Math.min(sent.length, renewals.length) - 1];
      if (renewal instanceof Error) throw renewal;
      const token = exampleToken({ credentialVersion: request.version.versionId });
      return renewal ?? { outcome: 'token', token };
    },
    uniqueId: () => `lease-${++leases}`,
    now: () => clock.now,
    sleep: async (ms) => {
      slept.push(ms);
      clock.now += ms;
    },
    random: () => random,
  });
  /** The text of an answer, the fingerprint of a token, or what was thrown; the steps are decided in this order. */
  async function acquire(
    decide: ((view: View) => Step<string>) | readonly Step<string>[],
    call: Call = exampleCall(),
  ): Promise<unknown> {
    let decisions = 0;
    const decided = typeof decide === 'function' ? decide : () => decide[Math.min(decisions, decide.length) - 1];
    const acquired = await acquireToken(call, (view) => {
      decisions += 1;
      views.push(view);
      return decided(view) ?? REQUEST;
    }).catch((error: unknown) => ({ kind: 'error' as const, error }));
    if (acquired.kind === 'error') return acquired.error;
    if (acquired.kind === 'failed') return acquired.problem;
    return acquired.kind === 'answer' ? acquired.answer : acquired.token.fingerprint;
  }

  return {
    clock,
    slept,
    memory,
    sent,
    versionsSent: () => sent.map(({ version }) => version.versionId),
    readStages,
    tableReads,
    writes: () => writes,
    recordNow: () => shared.peek(PAIR),
    shared,
    /** What was decided on. */
    views,
    acquire,
    /** What a caller of `/token` is given: the fingerprint of a token, or the type of a problem. */
    async ask(refused?: string, call = exampleCall({ deadline: clock.now + 10_000 })): Promise<unknown> {
      const given = await acquire((view) => {
        const step = decideIssue(view, call, { ...ISSUE_REQUEST, refused }, clock.now);
        return 'answer' in step ? { ...step, answer: step.answer.token.fingerprint } : step;
      }, call);
      return given instanceof Problem ? given.type : given;
    },
  };
}
