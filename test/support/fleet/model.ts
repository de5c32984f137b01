import type { Trace } from '../../../functions/broker/audit.ts';
import type { Issue } from '../../../functions/broker/pair/decision.ts';
import { isIssuable, MAX_CLOCK_DIFFERENCE_MS, type StoredToken } from '../../../functions/broker/pair/record.ts';
import { cleared } from '../../../functions/broker/pair/transitions.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { hardMarginMs, type SecretStage } from '../../../functions/contract.ts';
import { seededRandom } from '../seeded-random.ts';
import { createFleet } from './fleet.ts';
import { createHosts, type Host, LONGEST_CALL_MS, MAX_SKEW_MS } from './model-hosts.ts';
import { keepLedger } from './model-ledger.ts';
import { CLIENTS, createModelWorld, SERVICES, type ServiceMood } from './model-world.ts';
import type { HandOut, SentRequest, StoreFault } from './surroundings.ts';

interface Ask {
  readonly pair: Pair;
  readonly minTtlSeconds?: number;
  readonly refuses?: 'nothing' | 'the last token' | 'an unknown token';
}

/** A fault for a share (from 0 to 1) of all calls to a dependency, drawn with a seed of its own. */
interface Trouble<Fault> {
  readonly fault: Fault;
  readonly share: number;
  readonly seed: number;
}

export type FleetModel = ReturnType<typeof createFleetModel>;

interface Options extends NonNullable<Parameters<typeof createFleet>[0]> {
  readonly clients?: readonly string[];
  /** How each service behaves while nothing is wrong with it. */
  readonly normal?: (service: string) => ServiceMood;
}

/** A fleet in a world that goes wrong in every way, watched by a witness who knows all of it. */
export function createFleetModel({ clients = CLIENTS, normal, ...changes }: Options = {}) {
  const fleet = createFleet(changes);
  const { clock, shared, surroundings } = fleet;
  const { isShared, secretsLatencyMs } = surroundings;
  const pairs = clients.flatMap((client) => SERVICES.map((service): Pair => ({ client, service })));
  const world = createModelWorld(clock, normal);
  const hosts = createHosts(fleet);
  const { accuse } = hosts;
  const ledger = keepLedger(fleet, hosts);
  /** By its text. */
  const handOuts = new Map<string, HandOut>();
  let hasRepeated = false;
  /** In which new instances seal. */
  let format = 1;
  let secretsFailedAt = Number.NEGATIVE_INFINITY;

  surroundings.secret = (client, stage) => world.read(client, stage);
  surroundings.serviceLatencyMs = changes.serviceLatencyMs ?? (({ service }) => world.moodOf(service).latencyMs);
  surroundings.onClosedToken = hosts.noteStoreFailure;
  surroundings.answer = (_, request) => {
    if (isShared) ledger.seeRequest(request);
    checkCredential(request);
    return world.answer(request.pair, request.version);
  };
  surroundings.onHeard = (request, { response, handOut, toldMs = 0 }) => {
    if (!isShared) return;
    const { status, headers } = response;
    if (status === 401 || status === 400) ledger.seeRejection(request);
    if (status === 429) ledger.seeRetryAfter(request, world.secondsOf(headers['retry-after'], request.at));
    if (handOut === undefined) return;
    hasRepeated ||= handOut.tellings.length > 0;
    const lifetimeMs = Math.min(toldMs, MAX_LIFETIME_MS);
    const skewMs = (hosts.get(request.from)?.now() ?? clock.now()) - clock.now();
    handOut.tellings.push({ expiresAt: request.at + skewMs + lifetimeMs, lifetimeMs });
    handOuts.set(handOut.text, handOut);
  };

  const model = {
    ...hosts,
    ...fleet,
    pairs,
    world,

    async ask(host: Host, { pair, minTtlSeconds = 0, refuses = 'nothing' }: Ask): Promise<Issue | Problem> {
      const { lastToken } = ledger.pageOf(pair);
      const refused = { nothing: undefined, 'the last token': lastToken, 'an unknown token': 'f'.repeat(16) }[refuses];
      const startedAt = clock.now();
      const living = isShared && refused === undefined ? livingToken(pair) : undefined;
      const asked = host.issue({ pair, minTtlMs: minTtlSeconds * 1_000, refused });
      const trace = host.traces.at(-1);
      const answer = await follow(host, pair, asked);
      if (!isShared) return answer;
      const { number } = host;
      if (answer instanceof Problem) {
        const wasAlone = hosts.wasAlone(number, startedAt - TRUST_MS);
        const isServed = living !== undefined && living === livingToken(pair) && !wasAlone;
        // Memory may still hold the flag of an operator.
        if (isServed && answer.type !== 'client-disabled' && !hosts.hasAnyClockJumped())
          accuse(`instance ${number}: ${answer.type}, though a token lives`);
        return answer;
      }
      ledger.pageOf(pair).lastToken = answer.token.fingerprint;
      const who = `instance ${number}, ${answer.token.accessToken.reveal()}`;
      judgeLife(answer, pair, host.now(), who);
      if (answer.token.credentialVersion === world.versionWith(pair.client, 'AWSPENDING')) accuse(`${who}: of a trial`);
      if (answer.token.fingerprint === refused && !hasRepeated) accuse(`${who}: was refused`);
      judgeStops(answer, pair, host, startedAt, trace);
      return answer;
    },

    async check(host: Host, pair: Pair, stage: SecretStage): Promise<void> {
      const result = await follow(host, pair, host.check({ pair, stage }));
      if (!(result instanceof Problem) && result.finding === 'rejected') checkBlame(pair);
    },

    troubleStore(trouble: Trouble<StoreFault> | undefined) {
      const random = seededRandom(trouble?.seed ?? 0);
      surroundings.storeFault = (_, from) => {
        if (trouble === undefined || random() >= trouble.share) return undefined;
        // A call that is repeated costs nothing: the store answers.
        if (trouble.fault !== 'repeated') hosts.noteStoreFailure(from);
        return trouble.fault;
      };
    },

    troubleSecrets(trouble: Trouble<'unavailable' | 'denied'> | undefined) {
      const random = seededRandom(trouble?.seed ?? 0);
      surroundings.secretsLatencyMs = trouble?.fault === 'unavailable' ? 1_000 : secretsLatencyMs;
      surroundings.secret = (client, stage) => {
        if (trouble === undefined || random() >= trouble.share) return world.read(client, stage);
        secretsFailedAt = clock.now();
        return { outcome: trouble.fault, cause: 'trouble' };
      };
    },

    setDisabled(pair: Pair, isDisabled: boolean) {
      const page = ledger.pageOf(pair);
      const since = clock.now();
      shared.change(pair, (record) => ({ ...record, disabled: isDisabled ? { since } : undefined }));
      page.disabledAt = isDisabled ? (page.disabledAt ?? since) : undefined;
    },

    /** The item of the pair is deleted, with its flag. */
    loseItem(pair: Pair) {
      shared.restore(pair, undefined);
      ledger.forget(pair);
      hosts.noteTrouble();
    },

    /** All that is sealed can be opened no more. */
    retireKey() {
      format += 2;
      for (const host of hosts.living()) host.setFormat(format);
    },

    /** A new instance seals as the last ones do. */
    start: (skewMs: number) => hosts.start(skewMs, format),

    /** As an operator does once the service accepts the credential again. */
    retry(pair: Pair) {
      ledger.forgive(pair, shared.peek(pair).rejected.keys());
      shared.change(pair, cleared);
    },

    /** The service refuses a credential for days; callers ask all the same, and no operator hears of it. */
    async refuseForDays(pair: Pair) {
      world.setAccepted(pair, world.versionWith(pair.client, 'AWSCURRENT'), false);
      for (const ms of BETWEEN_ASKS_MS) {
        await clock.advance(ms);
        for (const host of hosts.living()) void model.ask(host, { pair });
        await hosts.settle();
        model.verify();
      }
    },

    /** Throws when a rule was broken so far. */
    verify() {
      ledger.settle();
      hosts.verifyAnswers();
      for (const pair of hosts.isAtRest() ? ledger.leasedPairs() : []) {
        const { lease } = shared.peek(pair);
        if (lease !== undefined && lease.until > clock.now()) accuse(`no instance ends the lease of ${pairKey(pair)}`);
      }
      if (hosts.accusations.length > 0) throw new Error(hosts.accusations.join('\n'));
    },

    /** Ends all faults that last. */
    heal() {
      model.troubleStore(undefined);
      model.troubleSecrets(undefined);
      for (const service of SERVICES) world.setMood(service, undefined);
      for (const client of clients) world.setDeleted(client, false);
      for (const pair of pairs) {
        world.setNamed(pair, true);
        if (ledger.pageOf(pair).disabledAt !== undefined) model.setDisabled(pair, false);
        world.setAccepted(pair, world.versionWith(pair.client, 'AWSCURRENT'), true);
      }
    },

    /** When all is well again, every pair whose credential is good gets a token, unless it has used up its chances. */
    async verifyRecovery() {
      model.heal();
      await hosts.settle();
      await clock.advance(LONGEST_WAIT_MS);
      if (hosts.living().length === 0) model.start(0);
      for (const pair of pairs) {
        const latch = shared.peek(pair).rejected.get(world.versionWith(pair.client, 'AWSCURRENT') ?? '');
        if (latch !== undefined && latch.count >= 3) continue;
        for (const host of hosts.living()) {
          const outcome = await clock.run(model.ask(host, { pair }));
          if (outcome instanceof Problem) accuse(`${pairKey(pair)} is stuck: ${outcome.message}`);
        }
      }
      model.verify();
    },
  };
  return model;

  /** Follows one call to its answer, a result or a problem. */
  async function follow<Result>(host: Host, pair: Pair, work: Promise<Result>): Promise<Result | Problem> {
    try {
      return await hosts.follow(host, pair, work);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { type, retryAfterSeconds = 1 } = error;
      // A wait counts as it was written, also by a clock that is ahead; a trial's short hold can be a long one by a clock that jumped.
      const mayBeLong = HELD.includes(type) || hosts.hasAnyClockJumped();
      const mostSeconds = (mayBeLong ? 3_600 : 300) + MAX_CLOCK_DIFFERENCE_MS / 1_000;
      const isSane = retryAfterSeconds >= 1 && retryAfterSeconds <= mostSeconds;
      if (!isSane) accuse(`${type} asks to wait ${retryAfterSeconds} s`);
      if (type === 'credential-rejected') checkBlame(pair);
      return error;
    }
  }

  /** Accuses an instance that reports a rejection which the service has not given. */
  function checkBlame(pair: Pair): void {
    if (!ledger.pageOf(pair).wasRejected) accuse(`${pairKey(pair)} is said to be rejected`);
  }

  /** The shared token that every instance knows by now, and may issue by its clock. */
  function livingToken(pair: Pair): StoredToken | undefined {
    const { token, disabled } = shared.peek(pair);
    if (disabled || token?.accessToken === undefined) return undefined;
    const isKnown = clock.now() - token.issuedAt > TRUST_MS + LONGEST_CALL_MS;
    return isKnown && isIssuable(token, clock.now() + MAX_SKEW_MS) ? token : undefined;
  }

  /** Compares the life of a token with the one that the services handed out. */
  function judgeLife({ token }: Issue, pair: Pair, now: number, who: string): void {
    const known = handOuts.get(token.accessToken.reveal());
    if (known === undefined || pairKey(known.pair) !== pairKey(pair)) accuse(`${who}: not this pair’s`);
    const { tellings: all = [] } = known ?? {};
    const tellings = all.filter(({ expiresAt }) => token.expiresAt <= expiresAt);
    if (tellings.length === 0) accuse(`${who}: is said to live longer than the service has said`);
    // All instances know of the tellings before the one that the token was issued by; when something went wrong, a
    // later one may pass for the whole life.
    const isUntroubled = hosts.isUntroubled();
    const last = all.findIndex(({ expiresAt }) => token.expiresAt <= expiresAt);
    const counting = isUntroubled ? all.slice(0, last + 1) : tellings;
    const lifetimes = counting.map(({ lifetimeMs }) => lifetimeMs);
    const marginMs = hardMarginMs(isUntroubled ? Math.max(...lifetimes) : Math.min(...lifetimes));
    const leftMs = token.expiresAt - now;
    // The clocks of this world count in fractions, and times are told in milliseconds.
    if (leftMs <= marginMs - 1) accuse(`${who}: issued ${leftMs} ms before its end, with a margin of ${marginMs} ms`);
  }

  /**
   * Whether the pair had been disabled, its token withdrawn, or its credential gone for long when the call began. A clock
   * that has jumped cannot tell ages, and an instance that cannot ask cannot know.
   */
  function judgeStops({ cache }: Issue, pair: Pair, host: Host, startedAt: number, trace: Trace | undefined): void {
    const { disabledAt, withdrawnAt } = ledger.pageOf(pair);
    const who = `instance ${host.number} issued a token of ${pairKey(pair)}`;
    const isOld = (at = Infinity, failedAt = hosts.storeFailedAt(host.number)) =>
      !host.hasJumped && startedAt - Math.max(at, failedAt) > TRUST_MS;
    if (isOld(disabledAt)) accuse(`${who} long after it was disabled`);
    if (cache !== 'none' && isOld(withdrawnAt)) accuse(`${who} long after it was withdrawn`);
    const isAlone = cache === 'memory' && trace?.warnings.has('shared-cache-unavailable');
    if (isAlone && isOld(world.goneAt(pair), secretsFailedAt)) accuse(`${who} long after its credential was gone`);
  }

  /** A credential that is deleted, or is not for this service any more, is not sent: each call reads the secret anew. */
  function checkCredential({ from, pair, version, at }: SentRequest): void {
    const goneMs = at - Math.max(world.goneAt(pair) ?? at, secretsFailedAt);
    const isLate = goneMs > LONGEST_CALL_MS + (hosts.wasAlone(from, at) ? TRUST_MS : 0);
    if (isLate && !hosts.hasAnyClockJumped()) accuse(`instance ${from} sent ${version} ${goneMs} ms after it was gone`);
  }
}

/** How long memory is trusted, and a secret by an instance that is alone. */
const TRUST_MS = 60_000;
/** The problems of a hold, which lasts an hour at most; a pause lasts five minutes. */
const HELD = ['token-response-unusable', 'token-endpoint-error', 'token-endpoint-timeout'];
const MAX_LIFETIME_MS = 86_400_000;

/** An instance’s own latch, which no operator reaches, by the worst clock. */
const LONGEST_WAIT_MS = 25 * 60 * 60_000;
/** Just after a rejection, and after each of the chances that a rejected version gets; a fourth must never come. */
const BETWEEN_ASKS_MS = [0, 31_000, 16 * 60_000, 3 * 3_600_000, 3 * 3_600_000, 25 * 3_600_000];
