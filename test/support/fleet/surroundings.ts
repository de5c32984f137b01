import type { ReadSecret, SecretReading } from '../../../functions/broker/credential/secret.ts';
import type { ClosedToken, PairRecord, StoredToken } from '../../../functions/broker/pair/record.ts';
import { type PairStore, StoreUnavailable } from '../../../functions/broker/pair/store.ts';
import type { Pair, ServiceName } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { Service } from '../../../functions/broker/service.ts';
import type { RequestToken, TokenExchange } from '../../../functions/broker/token-request/token-request.ts';
import type { SecretStage } from '../../../functions/vocabulary.ts';
import { exchange, found, SECRETS_DOWN } from '../broker-world.ts';
import { createReferencePairStore } from '../pair/reference-pair-store.ts';
import type { VirtualClock } from '../virtual-clock.ts';

/**
 * A fault of one call to the shared store. It has no effect when it is `unavailable` at once, or `hanging` beyond its time; a
 * `late` effect comes two seconds after that. With `answer-lost` only the answer is missing, with `repeated` the effect comes
 * twice, as its client repeats it. `no-key`: sealed tokens stay closed, and none can be sealed. `delay`: more than a whole lease
 * passes before; `freeze`: after it, before the instance goes on. `crash`: the instance ends before it.
 */
export type StoreFault = 'unavailable' | 'hanging' | 'late' | 'answer-lost' | 'repeated' | 'no-key' | ExploredFault;
type ExploredFault = 'delay' | 'freeze' | 'crash';

export interface SentRequest {
  readonly at: number;
  /** The number of the instance that sent it. */
  readonly from: number;
  readonly pair: Pair;
  readonly version: string;
  /** How long the service takes for it. */
  readonly latencyMs: number;
}

/** An answer of a service, and the token in it. */
export interface ServiceAnswer extends TokenExchange {
  readonly token?: string;
  readonly lifetimeMs?: number;
}

/** The behaviour of the world outside the broker; tests change it while the fleet runs. */
export interface Surroundings {
  /** The secret's versions by stage; a missing one does not exist. */
  stages: Partial<Record<SecretStage, string>>;
  /** The versions that the service accepts. */
  accepted: Set<string>;
  serviceLatencyMs: number | ((pair: Pair) => number);
  /** Told of every answer that arrives before its request is given up. */
  onHeard?: (request: SentRequest, answer: ServiceAnswer) => void;
  storeLatencyMs: number | (() => number);
  secretsLatencyMs: number | (() => number);
  /** The table is shared; `false`: each instance has one in its own memory. */
  isShared: boolean;
  /** Told of every write that reaches the shared table; `isWritten`: no other write came first. */
  onWrite?: (write: Write) => void;
  /** Told of every token that an instance reads and cannot open. */
  onClosedToken?: (from: number) => void;
  lifetimeSeconds: number;
  /** Replaces the normal answer to the n-th request (from 1): a whole answer, or why there is none. */
  answer?: ((n: number, request: SentRequest) => ServiceAnswer | Problem | undefined) | undefined;
  /** Whether this operation of the store goes wrong, for the instance with this number. */
  storeFault?: ((operation: keyof PairStore, from: number) => StoreFault | undefined) | undefined;
  /** Replaces Secrets Manager's answer for one client's secret. */
  secret?: ((client: string, stage: SecretStage) => SecretReading | undefined) | undefined;
}

export const NORMAL: Surroundings = {
  stages: { AWSCURRENT: 'v1' },
  accepted: new Set(['v1', 'v2', 'v3']),
  serviceLatencyMs: 100,
  storeLatencyMs: 5,
  secretsLatencyMs: 20,
  isShared: true,
  lifetimeSeconds: 3_600,
};

export interface Write {
  readonly from: number;
  readonly pair: Pair;
  readonly before: PairRecord;
  readonly next: PairRecord;
  readonly isWritten: boolean;
}

/** One instance on its way to the world outside. */
interface Asker {
  readonly number: number;
  /** The sealed format of its release; instances with another one cannot open its tokens. */
  readonly state: { readonly format: number };
  readonly now: () => number;
  /** Ends with its instance. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** The shared store, Secrets Manager and the services as each instance reaches them. */
export function createOutside(surroundings: Surroundings, services: Record<ServiceName, Service>, clock: VirtualClock) {
  const shared = createReferencePairStore();
  const requests: (SentRequest & { readonly outcome: 'token' | 'rejected' | 'failed' })[] = [];
  const counts = { secretReads: 0, storeCalls: {} as Record<string, number> };
  /** By the token of a record: the format that it is sealed in, when that is not the first. */
  const formats = new WeakMap<StoredToken, number>();

  return {
    shared,
    /** Every token request ends up here. */
    requests,
    counts,

    storeFor({ number, state, now, sleep }: Asker): PairStore {
      if (!surroundings.isShared) return createReferencePairStore();
      const remote =
        <Arguments extends unknown[], Result>(
          operation: keyof PairStore,
          call: (hasKey: boolean, ...args: Arguments) => Promise<Result>,
        ) =>
        async (...args: Arguments): Promise<Result> => {
          counts.storeCalls[operation] = (counts.storeCalls[operation] ?? 0) + 1;
          const halfMs = drawn(surroundings.storeLatencyMs) / 2;
          const fault = surroundings.storeFault?.(operation, number);
          return travel(fault, halfMs, sleep, () => call(fault !== 'no-key', ...args));
        };

      /** As the adapter shows and stores tokens: one that another format has sealed is closed, one that has no seal has no bytes. */
      return {
        read: remote('read', async (hasKey, pair, deadline) => {
          const seen = await shared.read(pair, deadline);
          const { token } = seen.record;
          if (token === undefined) return seen;
          const isOther = token.accessToken !== undefined && (formats.get(token) ?? 1) !== state.format;
          if (hasKey && !isOther) return seen;
          surroundings.onClosedToken?.(number);
          return { ...seen, record: { ...seen.record, token: closedToken(token, hasKey ? 'unreadable' : 'no-key') } };
        }),
        replace: remote('replace', async (hasKey, pair, seen, next) => {
          const before = seen.record;
          const write = async (stored: PairRecord) => {
            const written = await shared.replace(pair, seen, stored, Infinity);
            surroundings.onWrite?.({ from: number, pair, before, next: stored, isWritten: written !== undefined });
            return written;
          };
          const { token } = next;
          if (token === before.token || token?.accessToken === undefined) return write(next);
          if (state.format !== 1) formats.set(token, state.format);
          if (hasKey) return write(next);
          if (before.token !== undefined && now() < before.token.expiresAt)
            throw new StoreUnavailable('no sealing key');
          const written = await write({ ...next, token: closedToken(token, 'no-bytes') });
          return written && { ...written, record: { ...written.record, token } };
        }),
      };
    },

    readSecretFor({ now, sleep }: Asker): ReadSecret {
      return async (client, stage, deadline = Infinity) => {
        counts.secretReads += 1;
        const latencyMs = drawn(surroundings.secretsLatencyMs);
        const leftMs = Math.max(0, deadline - now());
        if (latencyMs > 0) await sleep(Math.min(latencyMs, leftMs));
        if (latencyMs > leftMs) return SECRETS_DOWN;
        return surroundings.secret?.(client, stage) ?? readingOf(client, stage, surroundings.stages[stage]);
      };
    },

    requestTokenFor({ number: from, now, sleep }: Asker): RequestToken {
      return async (asked, credential, deadline) => {
        const version = credential.secret.reveal();
        const service = Object.keys(services).find((name) => services[name] === asked) ?? 'unknown';
        const pair = { client: credential.clientId.reveal(), service };
        const requestStartedAt = now();
        const end = Math.min(deadline, requestStartedAt + asked.requestTimeoutMs);
        const n = requests.length + 1;
        const latencyMs = drawn(surroundings.serviceLatencyMs, pair);
        const request = { at: clock.now(), from, pair, version, latencyMs };
        const answer = surroundings.answer?.(n, request) ?? normalAnswer(version, n);
        const isRejected = !(answer instanceof Problem) && answer.response.status === 401;
        requests.push({
          ...request,
          outcome: answer instanceof Problem ? 'failed' : isRejected ? 'rejected' : 'token',
        });

        await sleep(Math.min(latencyMs, Math.max(0, end - now())));
        if (now() >= end) {
          return { problem: new Problem('token-endpoint-timeout', 'no answer in time'), isUnheard: true };
        }
        if (answer instanceof Problem) return { problem: answer, isUnheard: false };
        surroundings.onHeard?.(request, answer);
        return { ...answer, requestStartedAt, receivedAt: now() };
      };
    },
  };

  /** Does work at the store: half of the latency there, half of it back, and the fault on the way. */
  async function travel<Result>(
    fault: StoreFault | undefined,
    halfMs: number,
    sleep: Asker['sleep'],
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (fault === 'crash') return new Promise(() => undefined);
    if (fault === 'late') void clock.sleep(LATE_MS).then(work);
    if (fault === 'hanging' || fault === 'late') {
      await sleep(STORE_BUDGET_MS);
      throw new StoreUnavailable('no answer in time');
    }
    // A call on its way arrives, even when its instance ends.
    await clock.sleep(fault === 'delay' ? DELAY_MS : halfMs);
    if (fault === 'unavailable') throw new StoreUnavailable('down');
    const result = await work();
    if (fault === 'repeated') await work();
    if (fault === 'freeze') await sleep(DELAY_MS);
    else if (halfMs > 0) await sleep(halfMs);
    if (fault === 'answer-lost') throw new StoreUnavailable('answer lost');
    return result;
  }

  function normalAnswer(version: string, n: number): TokenExchange {
    if (!surroundings.accepted.has(version)) return exchange(401, { error: 'invalid_client' });
    return exchange(200, { access_token: `token-${n}`, expires_in: surroundings.lifetimeSeconds });
  }
}

/** The secret names its version, so that the service can tell which one it was sent. */
export function readingOf(client: string, stage: SecretStage, versionId: string | undefined): SecretReading {
  if (versionId === undefined) return { outcome: 'missing' };
  return found(versionId, { client_id: client, secret: versionId }, stage);
}

/** A latency: fixed, or drawn for each call. */
export function drawn<Facts extends unknown[]>(ms: number | ((...facts: Facts) => number), ...facts: Facts): number {
  return typeof ms === 'number' ? ms : ms(...facts);
}

function closedToken(token: StoredToken | ClosedToken, closed: ClosedToken['closed']): ClosedToken {
  if (token.accessToken === undefined) return { ...token, closed };
  const { accessToken: _, scope: __, passThrough: ___, ...visible } = token;
  return { ...visible, closed };
}

/** The time limit of the adapter for a call on an open connection. */
const STORE_BUDGET_MS = 150;
const LATE_MS = 2_000;
const DELAY_MS = 6_001;
