import { type Pair, pairKey } from '../../functions/broker/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { SecretReading, SecretStage } from '../../functions/broker/secret.ts';
import type { Issue } from '../../functions/broker/token-broker.ts';
import { createFleet, type Environment } from './fleet.ts';
import { createJudge } from './fleet-model-judge.ts';
import { keepLedger } from './fleet-model-ledger.ts';
import { watchPace } from './fleet-model-pace.ts';
import { isSamePair, LONGEST_CALL_MS, type Witness } from './fleet-model-witness.ts';
import { CALM, CLIENTS, createModelWorld, type HandOut, PAIRS, SERVICES } from './fleet-model-world.ts';
import type { StoreFault } from './fleet-store.ts';
import { seededRandom } from './seeded-random.ts';

/** What goes wrong for a share of all calls to something, drawn with a seed of its own. */
export interface Trouble<Fault> {
  readonly fault: Fault;
  /** From 0 to 1. */
  readonly share: number;
  readonly seed: number;
}

interface Ask {
  readonly pair: Pair;
  readonly minTtlSeconds: number;
  readonly refuses: 'nothing' | 'the last token' | 'an unknown token';
}

/** One environment as the model knows it. */
interface Host {
  readonly environment: Environment;
  readonly skewMs: number;
  isDead: boolean;
  hasJumped: boolean;
  storeFailedAt: number;
}

interface OpenCall {
  readonly host: Host;
  /** The pair that it checks. */
  readonly checks: Pair | undefined;
  readonly deadline: number;
}

export type FleetModel = ReturnType<typeof createFleetModel>;

/** A fleet in a world that goes wrong in every way, watched by somebody who knows all of it. */
export function createFleetModel() {
  const accusations: string[] = [];
  const hosts: Host[] = [];
  const openCalls = new Set<OpenCall>();
  const outcomes: Record<string, number> = {};
  const lastTokens = new Map<string, string>();
  const disabledAt = new Map<string, number>();
  let secretsFailedAt = Number.NEGATIVE_INFINITY;
  let lastTroubleAt = Number.NEGATIVE_INFINITY;

  const fleet = createFleet({ services: { 'merchant-payment-cleansing': { singleActiveToken: true } } });
  const { clock, shared, surroundings } = fleet;
  const world = createModelWorld(clock);
  const witness: Witness = {
    accuse: (of) => void accusations.push(of),
    hasStoreFailed: (number, since) => (hosts[number]?.storeFailedAt ?? 0) >= since,
    isDead: (number) => hosts[number]?.isDead ?? true,
    isChecking: (number, pair) =>
      [...openCalls].some(({ host, checks }) => host === hosts[number] && checks && isSamePair(checks, pair)),
    hasAnyClockJumped: () => hosts.some(({ hasJumped }) => hasJumped),
  };
  const judge = createJudge(witness.accuse);
  const ledger = keepLedger(fleet, witness);
  const pace = watchPace(witness, fleet.services);
  const answers = new WeakMap<object, { readonly handOut: HandOut | undefined; readonly toldMs: number }>();

  surroundings.secret = (client, stage) => world.read(client, stage);
  surroundings.serviceLatencyMs = ({ service }) => world.moodOf(service).latencyMs;
  surroundings.answer = (_, request) => {
    const { pair, version } = request;
    const lease = ledger.seeRequest(request);
    if (lease !== undefined) pace.seeRequest(request, lease, world.moodOf(pair.service).latencyMs);
    const { answer, handOut, toldMs } = world.answer(pair, version);
    answers.set(request, { handOut, toldMs });
    return answer;
  };
  surroundings.onHeard = (request, { response }) => {
    const { status, headers } = response;
    if (status === 401 || status === 400) ledger.seeRejection(request);
    const seconds = world.secondsOf(headers['retry-after'], request.at);
    if (status === 429 && seconds > 0) pace.seeRetryAfter(request, seconds, clock.now());
    const { handOut, toldMs = 0 } = answers.get(request) ?? {};
    const skewMs = (hosts[request.from]?.environment.now() ?? 0) - clock.now();
    if (handOut !== undefined) judge.seeHandOut(handOut, toldMs, request.at + skewMs);
  };

  const living = () => hosts.filter(({ isDead }) => !isDead);

  const model = {
    world,
    clock,
    /** How often calls ended in which way. */
    outcomes,
    living,
    hostAt: (index: number): Host | undefined => living()[index % Math.max(1, living().length)],

    start(skewMs: number) {
      const environment = fleet.createEnvironment({ skewMs });
      const never = Number.NEGATIVE_INFINITY;
      hosts.push({ environment, skewMs, isDead: false, hasJumped: false, storeFailedAt: never });
    },

    kill(host: Host) {
      host.isDead = true;
      host.environment.kill();
      lastTroubleAt = clock.now();
      for (const call of openCalls) if (call.host === host) openCalls.delete(call);
    },

    /** A clock is steady within a call. */
    async setClock(host: Host, jumpMs: number) {
      await until(() => [...openCalls].every((call) => call.host !== host));
      host.environment.setClock(host.skewMs + jumpMs);
      host.hasJumped ||= jumpMs !== 0;
    },

    ask,
    examine,

    /** Goes on until everybody has an answer. */
    settle: () => until(() => openCalls.size === 0),

    troubleStore(trouble: Trouble<StoreFault> | undefined) {
      const random = seededRandom(trouble?.seed ?? 0);
      surroundings.storeFault = (operation, from) => {
        if (trouble === undefined || random() >= trouble.share) return undefined;
        const { fault } = trouble;
        if (fault === 'stale' && operation !== 'read') return undefined;
        const host = hosts[from];
        if (host !== undefined && !HARMLESS.has(fault)) {
          host.storeFailedAt = clock.now();
          lastTroubleAt = clock.now();
        }
        return fault;
      };
    },

    troubleSecrets(trouble: Trouble<'unavailable' | 'denied'> | undefined) {
      const random = seededRandom(trouble?.seed ?? 0);
      surroundings.secretsLatencyMs = trouble?.fault === 'unavailable' ? 1_000 : 20;
      surroundings.secret = (client, stage): SecretReading => {
        if (trouble === undefined || random() >= trouble.share) return world.read(client, stage);
        secretsFailedAt = clock.now();
        return { outcome: trouble.fault, cause: 'trouble' };
      };
    },

    setDisabled(pair: Pair, isDisabled: boolean) {
      shared.change(pair, (record) => ({ ...record, disabled: isDisabled }));
      if (!isDisabled) disabledAt.delete(pairKey(pair));
      else if (!disabledAt.has(pairKey(pair))) disabledAt.set(pairKey(pair), clock.now());
    },

    /** What an operator does when the service takes the credential again. */
    retry(pair: Pair) {
      for (const version of shared.peek(pair).latest.rejected.keys()) ledger.forgive(pair, version);
      shared.change(pair, (record) => ({ ...record, rejected: new Map() }));
    },

    /** Throws what has gone wrong so far. */
    verify() {
      ledger.settle();
      for (const { host, deadline } of openCalls) {
        if (clock.now() > deadline + ANSWER_RESERVE_MS) {
          witness.accuse(`environment ${host.environment.number} does not answer`);
        }
      }
      const isCalm = clock.now() - lastTroubleAt > LONGEST_CALL_MS && !witness.hasAnyClockJumped();
      if (openCalls.size === 0 && isCalm) {
        for (const pair of PAIRS) {
          const { leaseOwner, leaseUntil } = shared.peek(pair).latest;
          if (leaseOwner !== undefined && leaseUntil > clock.now())
            witness.accuse(`nobody ends the lease of ${pairKey(pair)}`);
        }
      }
      if (accusations.length > 0) throw new Error(accusations.join('\n'));
    },

    /** When all is well again, every pair whose credential is good gets a token, unless it has used up its chances. */
    async verifyRecovery() {
      model.troubleStore(undefined);
      model.troubleSecrets(undefined);
      for (const service of SERVICES) world.setMood(service, CALM);
      for (const client of CLIENTS) world.setDeleted(client, false);
      for (const pair of PAIRS) {
        model.setDisabled(pair, false);
        world.setAccepted(pair, world.currentOf(pair.client), true);
      }
      await model.settle();
      await clock.advance(LONGEST_WAIT_MS);
      if (living().length === 0) model.start(0);
      for (const pair of PAIRS) {
        const { rejected } = shared.peek(pair).latest;
        if ((rejected.get(world.currentOf(pair.client))?.count ?? 0) >= 3) continue;
        for (const host of living()) {
          const outcome = await clock.run(ask(host, { pair, minTtlSeconds: 0, refuses: 'nothing' }));
          if (outcome instanceof Problem) witness.accuse(`${pairKey(pair)} is stuck: ${outcome.message}`);
        }
      }
      model.verify();
    },
  };
  return model;

  async function ask(host: Host, { pair, minTtlSeconds, refuses }: Ask): Promise<Issue | Problem> {
    const known = {
      nothing: undefined,
      'the last token': lastTokens.get(pairKey(pair)),
      'an unknown token': 'f'.repeat(16),
    };
    const refused = known[refuses];
    const startedAt = clock.now();
    const request = { pair, minTtlMs: minTtlSeconds * 1_000, refused };
    const answer = await follow(host, host.environment.issue(request, PATIENCE_MS));
    if (answer instanceof Problem) {
      if (answer.type === 'credential-rejected') checkBlame(pair);
      note(answer.type);
      return answer;
    }
    note(`issued from ${answer.cache}`);
    lastTokens.set(pairKey(pair), answer.token.fingerprint);
    judge.judgeIssue(answer, {
      pair,
      refused,
      environment: host.environment.number,
      now: host.environment.now(),
      ...stoppedMs(host, pair, startedAt),
      isQuiet: lastTroubleAt === Number.NEGATIVE_INFINITY && !witness.hasAnyClockJumped(),
    });
    return answer;
  }

  async function examine(host: Host, pair: Pair, stage: SecretStage): Promise<void> {
    const result = await follow(host, host.environment.check({ pair, stage }, PATIENCE_MS), pair);
    note(result instanceof Problem ? `check: ${result.type}` : `${result.finding} by ${result.provenBy}`);
    if (!(result instanceof Problem) && result.finding === 'rejected') checkBlame(pair);
  }

  /** Follows one call to its answer, whatever that is. */
  async function follow<Result>(host: Host, work: Promise<Result>, checks?: Pair): Promise<Result | Problem> {
    const call: OpenCall = { host, checks, deadline: clock.now() + PATIENCE_MS };
    openCalls.add(call);
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      judge.judgeProblem(error);
      return error;
    } finally {
      openCalls.delete(call);
      const lateMs = clock.now() - call.deadline;
      if (lateMs > ANSWER_RESERVE_MS) witness.accuse(`an answer ${lateMs} ms late`);
    }
  }

  /** Nobody is told of a rejection that the service has not spoken. */
  function checkBlame(pair: Pair): void {
    if (!ledger.hasHeardRejection(pair)) witness.accuse(`${pairKey(pair)} is said to be rejected`);
  }

  /** For how long the environment could have known that the pair is to be stopped; a clock that jumped can tell nothing. */
  function stoppedMs(host: Host, pair: Pair, startedAt: number) {
    const since = (at: number | undefined, failedAt: number) =>
      at === undefined || host.hasJumped ? 0 : startedAt - Math.max(at, failedAt);
    return {
      disabledMs: since(disabledAt.get(pairKey(pair)), host.storeFailedAt),
      deletedMs: since(world.deletedAt(pair.client), secretsFailedAt),
    };
  }

  function note(outcome: string): void {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }

  /** Lets time pass in small pieces until something is so. */
  async function until(isSo: () => boolean): Promise<void> {
    for (let pieces = 0; !isSo(); pieces += 1) {
      if (pieces > 400) throw new Error('nobody answers any more');
      await clock.advance(100);
    }
  }
}

/** These cost a call nothing: the store answers. */
const HARMLESS: ReadonlySet<StoreFault> = new Set(['repeated', 'stale']);

/** A Lambda invocation may last 15 s, and its answer leaves half a second before. */
const PATIENCE_MS = 14_500;
const ANSWER_RESERVE_MS = 500;

/** The last chance of a version, by the worst clock. */
const LONGEST_WAIT_MS = 3 * 60 * 60_000;
