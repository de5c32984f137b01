import { hardMarginMs } from '../../functions/broker/freshness.ts';
import { type Pair, pairKey } from '../../functions/broker/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { SecretReading, SecretStage } from '../../functions/broker/secret.ts';
import type { Issue } from '../../functions/broker/token-broker.ts';
import { createFleet, type Environment, type SeenRequest, seededRandom } from './fleet.ts';
import { keepLedger } from './fleet-model-ledger.ts';
import { CALM, CLIENTS, createModelWorld, type HandOut, PAIRS, SERVICES } from './fleet-model-world.ts';
import type { StoreFault } from './fleet-store.ts';

/** What goes wrong for a share of all calls to something, drawn with a seed of its own. */
export interface Trouble<Fault> {
  readonly fault: Fault;
  /** From 0 to 1. */
  readonly share: number;
  readonly seed: number;
}

/** One environment as the model knows it. */
interface Host {
  readonly environment: Environment;
  readonly skewMs: number;
  isDead: boolean;
  hasJumped: boolean;
  storeFailedAt: number;
  openCalls: number;
}

interface Ask {
  readonly pair: Pair;
  readonly minTtlSeconds: number;
  readonly refuses: 'nothing' | 'the last token' | 'an unknown token';
}

interface OpenCall {
  readonly host: Host;
  /** The pair that it checks. */
  readonly checks: Pair | undefined;
  readonly deadline: number;
}

/** A fleet in a world that goes wrong in every way, watched by somebody who knows all of it. */
export type FleetModel = ReturnType<typeof createFleetModel>;

export function createFleetModel() {
  const accusations: string[] = [];
  const accuse = (of: string) => void accusations.push(of);
  const hosts: Host[] = [];
  const outcomes: Record<string, number> = {};
  const count = (outcome: string) => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  const openCalls = new Set<OpenCall>();
  const handOuts = new Map<string, { readonly handOut: HandOut; readonly ends: Ending[] }>();
  const lastTokens = new Map<string, string>();
  const disabledAt = new Map<string, number>();
  let secretsFailedAt = Number.NEGATIVE_INFINITY;
  let hasRepeated = false;

  const fleet = createFleet({ services: { 'merchant-payment-cleansing': { singleActiveToken: true } } });
  const { clock, shared, surroundings } = fleet;
  const world = createModelWorld(clock);
  const ledger = keepLedger(fleet, {
    accuse,
    hasStoreFailed: (number, since) => (hosts[number]?.storeFailedAt ?? 0) >= since,
    isDead: (number) => hosts[number]?.isDead ?? true,
    isChecking: (number, pair) =>
      [...openCalls].some(({ host, checks }) => host === hosts[number] && checks && pairKey(checks) === pairKey(pair)),
    hasAnyClockJumped: () => hosts.some((host) => host.hasJumped),
  });

  surroundings.secret = (client, stage) => world.read(client, stage);
  surroundings.serviceLatencyMs = ({ service }) => world.moodOf(service).latencyMs;
  surroundings.answer = (_, request) => answer(request);
  surroundings.onHeard = (request, { response }) => {
    if (response.status === 401 || response.status === 400) ledger.seeRejection(request);
  };

  const living = () => hosts.filter(({ isDead }) => !isDead);
  const hostAt = (index: number): Host | undefined => living()[index % Math.max(1, living().length)];

  return {
    stats: outcomes,
    requests: fleet.requests,
    world,
    clock,
    living,
    hostAt,

    start(skewMs: number): Host {
      const host: Host = {
        environment: fleet.createEnvironment({ skewMs }),
        skewMs,
        isDead: false,
        hasJumped: false,
        storeFailedAt: Number.NEGATIVE_INFINITY,
        openCalls: 0,
      };
      hosts.push(host);
      return host;
    },

    kill(host: Host) {
      host.isDead = true;
      host.environment.kill();
      for (const call of openCalls) if (call.host === host) openCalls.delete(call);
    },

    /** A clock is steady within a call. */
    async setClock(host: Host, jumpMs: number) {
      await until(() => host.openCalls === 0);
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
        if (host !== undefined && !HARMLESS.has(fault)) host.storeFailedAt = clock.now();
        return fault;
      };
    },

    troubleSecrets(trouble: Trouble<'unavailable' | 'denied'> | undefined) {
      const random = seededRandom(trouble?.seed ?? 0);
      surroundings.secretsLatencyMs = trouble === undefined ? 20 : 200;
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

    noteRepeating() {
      hasRepeated = true;
    },

    /** Throws what has gone wrong so far. */
    check() {
      ledger.settle();
      for (const { host, deadline } of openCalls) {
        if (clock.now() > deadline + ANSWER_RESERVE_MS) accuse(`no answer of environment ${host.environment.number}`);
      }
      if (accusations.length > 0) throw new Error(accusations.join('\n'));
    },

    /** When all is well again, every pair whose credential is good gets a token, unless it has used up its chances. */
    async checkRecovery() {
      this.troubleStore(undefined);
      this.troubleSecrets(undefined);
      for (const service of SERVICES) world.setMood(service, CALM);
      for (const client of CLIENTS) world.setDeleted(client, false);
      for (const pair of PAIRS) {
        this.setDisabled(pair, false);
        world.setAccepted(pair, world.secretOf(pair.client).stages.AWSCURRENT ?? '', true);
      }
      await until(() => openCalls.size === 0);
      await clock.advance(LONGEST_WAIT_MS);
      if (living().length === 0) this.start(0);
      for (const pair of PAIRS) {
        const current = world.secretOf(pair.client).stages.AWSCURRENT ?? '';
        if ((shared.peek(pair).latest.rejected.get(current)?.count ?? 0) >= 3) continue;
        for (const host of living()) {
          const outcome = await clock.run(ask(host, { pair, minTtlSeconds: 0, refuses: 'nothing' }));
          if (outcome instanceof Problem) accuse(`${pairKey(pair)} is stuck: ${outcome.message}`);
        }
      }
    },
  };

  function answer(request: Omit<SeenRequest, 'outcome'>) {
    const { from, pair, version } = request;
    ledger.seeRequest(request);
    const { answer: given, handOut } = world.answer(pair, version);
    const host = hosts[from];
    if (handOut !== undefined && host !== undefined) {
      const ends = handOuts.get(handOut.text)?.ends ?? [];
      const { lifetimeSeconds } = world.moodOf(pair.service);
      const lifetimeMs =
        lifetimeSeconds === 0 ? ASSUMED_MS : Math.floor((handOut.endsAt - clock.now()) / 1_000) * 1_000;
      const toldMs = Math.min(lifetimeMs, MAX_LIFETIME_MS);
      ends.push({ expiresAt: host.environment.now() + toldMs, lifetimeMs: toldMs });
      handOuts.set(handOut.text, { handOut, ends });
    }
    return given;
  }

  /** Follows one call to its answer, whatever that is. */
  function follow<Result>(host: Host, work: Promise<Result>, checks?: Pair): Promise<Result | Problem> {
    const call: OpenCall = { host, checks, deadline: clock.now() + PATIENCE_MS };
    openCalls.add(call);
    host.openCalls += 1;
    const close = () => {
      openCalls.delete(call);
      host.openCalls -= 1;
      if (clock.now() > call.deadline + ANSWER_RESERVE_MS) accuse(`an answer ${clock.now() - call.deadline} ms late`);
    };
    return work.then(
      (result) => {
        close();
        return result;
      },
      (error: unknown) => {
        close();
        if (!(error instanceof Problem)) throw error;
        checkProblem(error);
        return error;
      },
    );
  }

  async function ask(host: Host, { pair, minTtlSeconds, refuses }: Ask): Promise<Issue | Problem> {
    const refused =
      refuses === 'nothing'
        ? undefined
        : refuses === 'the last token'
          ? lastTokens.get(pairKey(pair))
          : 'ffffffffffffffff';
    const startedAt = clock.now();
    const request = { pair, minTtlMs: minTtlSeconds * 1_000, refused };
    const answer = await follow(host, host.environment.issue(request, PATIENCE_MS));
    if (!(answer instanceof Problem)) {
      count(`issued from ${answer.cache}`);
      checkIssue(host, pair, answer, { refused, startedAt });
    } else {
      count(answer.type);
      if (answer.type === 'credential-rejected') checkBlame(pair);
    }
    return answer;
  }

  async function examine(host: Host, pair: Pair, stage: SecretStage): Promise<void> {
    const result = await follow(host, host.environment.check({ pair, stage }, PATIENCE_MS), pair);
    if (result instanceof Problem) return count(`check ${result.type}`);
    const { finding, provenBy } = result;
    count(`${finding} by ${provenBy}`);
    if (finding === 'rejected') checkBlame(pair);
  }

  /** Nobody is told of a rejection that the service has not spoken. */
  function checkBlame(pair: Pair): void {
    if (!ledger.hasHeardRejection(pair)) accuse(`${pairKey(pair)} is said to be rejected`);
  }

  function checkIssue(
    host: Host,
    pair: Pair,
    { token }: Issue,
    call: { refused: string | undefined; startedAt: number },
  ) {
    const text = token.accessToken.reveal();
    const who = `environment ${host.environment.number}, ${text}`;
    const known = handOuts.get(text);
    if (known === undefined || pairKey(known.handOut.pair) !== pairKey(pair)) return accuse(`${who}: not this pair's`);
    const now = host.environment.now();
    const endings = known.ends.filter(({ expiresAt }) => token.expiresAt <= expiresAt);
    if (endings.length === 0) accuse(`${who}: is said to live longer than the service said`);
    const marginMs = Math.min(...endings.map(({ lifetimeMs }) => hardMarginMs(lifetimeMs)));
    if (token.expiresAt - now <= marginMs) accuse(`${who}: issued ${token.expiresAt - now} ms before its end`);
    if (token.fingerprint === call.refused && !hasRepeated) accuse(`${who}: was refused`);
    lastTokens.set(pairKey(pair), token.fingerprint);
    checkStopped(host, pair, call.startedAt);
  }

  /** A disabled client is stopped within 60 s, a deleted secret within 300 s, as far as one clock can tell. */
  function checkStopped(host: Host, pair: Pair, startedAt: number): void {
    if (host.hasJumped) return;
    const disabled = disabledAt.get(pairKey(pair)) ?? Number.POSITIVE_INFINITY;
    const disabledMs = startedAt - Math.max(disabled, host.storeFailedAt);
    if (disabledMs > 60_000 + STALE_MS) accuse(`${pairKey(pair)} is issued ${disabledMs} ms after it was disabled`);
    const deleted = world.secretOf(pair.client).deletedAt ?? Number.POSITIVE_INFINITY;
    const deletedMs = startedAt - Math.max(deleted, secretsFailedAt);
    if (deletedMs > 300_000) accuse(`${pairKey(pair)} is issued ${deletedMs} ms after its secret was deleted`);
  }

  function checkProblem(problem: Problem): void {
    const { type, retryAfterSeconds } = problem;
    const isSane = retryAfterSeconds === undefined || (retryAfterSeconds >= 1 && retryAfterSeconds <= 300);
    if (!isSane) accuse(`${type} asks to wait ${retryAfterSeconds} s`);
  }

  /** Lets time pass in small pieces until something is so. */
  async function until(isSo: () => boolean): Promise<void> {
    for (let pieces = 0; !isSo(); pieces += 1) {
      if (pieces > 400) throw new Error('nobody answers any more');
      await clock.advance(100);
    }
  }
}

/** What a hand-out said of the token's life, by the clock of the environment that asked. */
interface Ending {
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

/** These cost a call nothing: the store answers. */
const HARMLESS: ReadonlySet<StoreFault> = new Set(['repeated', 'stale']);
/** A Lambda invocation may last 15 s. */
const PATIENCE_MS = 14_500;
const ANSWER_RESERVE_MS = 500;
const STALE_MS = 1_000;
const ASSUMED_MS = 300_000;
const MAX_LIFETIME_MS = 86_400_000;
/** The last chance of a version, by the worst clock. */
const LONGEST_WAIT_MS = 3 * 60 * 60_000;
