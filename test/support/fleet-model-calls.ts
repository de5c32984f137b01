import type { Issue } from '../../functions/broker/pair/decision.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { SecretStage } from '../../functions/contract.ts';
import type { Host, Hosts, OpenCall } from './fleet-model-hosts.ts';
import type { createJudge } from './fleet-model-judge.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface Ask {
  readonly pair: Pair;
  readonly minTtlSeconds: number;
  readonly refuses: 'nothing' | 'the last token' | 'an unknown token';
}

interface Dependencies {
  readonly clock: VirtualClock;
  readonly hosts: Hosts;
  readonly judge: ReturnType<typeof createJudge>;
  /** Whether the service has refused any credential of the pair. */
  readonly hasHeardRejection: (pair: Pair) => boolean;
  /** For how long before `now` the environment could have known that the pair is to be stopped. */
  readonly stoppedMs: (
    host: Host,
    pair: Pair,
    now: number,
  ) => { readonly disabledMs: number; readonly withdrawnMs: number; readonly goneMs: number };
}

/** Calls of the fleet's callers, each followed to its answer and judged. */
export function createCalls({ clock, hosts, judge, hasHeardRejection, stoppedMs }: Dependencies) {
  const { accuse } = hosts.witness;
  const outcomes: Record<string, number> = {};
  const lastTokens = new Map<string, string>();

  return {
    /** How often calls ended in which way. */
    outcomes,

    async ask(host: Host, { pair, minTtlSeconds, refuses }: Ask): Promise<Issue | Problem> {
      const lastToken = lastTokens.get(pairKey(pair));
      const refused = { nothing: undefined, 'the last token': lastToken, 'an unknown token': 'f'.repeat(16) }[refuses];
      const startedAt = clock.now();
      const request = { pair, minTtlMs: minTtlSeconds * 1_000, refused };
      const asked = host.environment.issue(request);
      const trace = host.environment.traces.at(-1);
      const answer = await follow(host, asked);
      if (answer instanceof Problem) {
        if (answer.type === 'credential-rejected') checkBlame(pair);
        note(answer.type);
        return answer;
      }
      note(`issued from ${answer.cache}`);
      lastTokens.set(pairKey(pair), answer.token.fingerprint);
      const { number: environment, now } = host.environment;
      const isUntroubled = hosts.isUntroubled();
      judge.judgeIssue(answer, {
        pair,
        refused,
        environment,
        now: now(),
        isAlone: trace?.warnings.has('shared-cache-unavailable') ?? false,
        ...stoppedMs(host, pair, startedAt),
        isUntroubled,
      });
      return answer;
    },

    async check(host: Host, pair: Pair, stage: SecretStage): Promise<void> {
      const result = await follow(host, host.environment.check({ pair, stage }));
      note(result instanceof Problem ? `check: ${result.type}` : `${result.finding} by ${result.provenBy}`);
      if (!(result instanceof Problem) && result.finding === 'rejected') checkBlame(pair);
    },

    /** Accuses every environment that has let its caller wait beyond the deadline. */
    checkDeadlines() {
      for (const { host, deadline } of hosts.openCalls) {
        if (clock.now() > deadline + ANSWER_RESERVE_MS)
          accuse(`environment ${host.environment.number} does not answer`);
      }
    },
  };

  /** Follows one call to its answer, a result or a problem. */
  async function follow<Result>(host: Host, work: Promise<Result>): Promise<Result | Problem> {
    const call: OpenCall = { host, deadline: clock.now() + PATIENCE_MS };
    hosts.openCalls.add(call);
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      judge.judgeProblem(error);
      return error;
    } finally {
      hosts.openCalls.delete(call);
      const lateMs = clock.now() - call.deadline;
      if (lateMs > ANSWER_RESERVE_MS) accuse(`an answer ${lateMs} ms late`);
    }
  }

  /** Accuses an environment that reports a rejection which the service has not given. */
  function checkBlame(pair: Pair): void {
    if (!hasHeardRejection(pair)) accuse(`${pairKey(pair)} is said to be rejected`);
  }

  function note(outcome: string): void {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
}

/** A Lambda invocation may last 15 s, and its answer leaves half a second before. */
const PATIENCE_MS = 14_500;
const ANSWER_RESERVE_MS = 500;
