import type { Trace } from '../../../functions/broker/audit.ts';
import type { Issue } from '../../../functions/broker/pair/decision.ts';
import { isIssuable, MAX_CLOCK_DIFFERENCE_MS, type StoredToken } from '../../../functions/broker/pair/record.ts';
import type { PairStore } from '../../../functions/broker/pair/store.ts';
import { cleared } from '../../../functions/broker/pair/transitions.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { hardMarginMs, type SecretStage } from '../../../functions/vocabulary.ts';
import { exampleService } from '../example.ts';
import { seededRandom } from '../seeded-random.ts';
import { createFleet, type Instance } from './fleet.ts';
import { createHosts, LONGEST_CALL_MS, MAX_SKEW_MS } from './model-hosts.ts';
import { keepLedger, LEASE_MS } from './model-ledger.ts';
import { CLIENTS, createModelWorld, SERVICES, type ServiceMood } from './model-world.ts';
import { formatOf } from './remote-store.ts';
import type { StoreFault } from './surroundings.ts';

interface Ask {
  readonly pair: Pair;
  readonly minTtlSeconds?: number;
  readonly refuses?: 'nothing' | 'the last token' | 'an unknown token';
}

/** A fault for a share (from 0 to 1) of all calls to a dependency; `undefined`: all is well. */
type Trouble<Fault> = { readonly fault: Fault; readonly share: number } | undefined;
type StoreTrouble = NonNullable<Trouble<StoreFault>> & { readonly of: readonly (keyof PairStore)[] };

export type FleetModel = ReturnType<typeof createFleetModel>;

/** What a service has told of a token. */
interface HandOut {
  readonly pair: Pair;
  /** True time of its request. */
  readonly at: number;
  /** By the clock of the instance that requested it. */
  readonly expiresAt: number;
  readonly lifetimeMs: number;
}

interface Options extends NonNullable<Parameters<typeof createFleet>[0]> {
  readonly clients?: readonly string[];
  /** Of the second service. */
  readonly singleActiveToken?: boolean;
  /** How each service behaves while nothing is wrong with it. */
  readonly normal?: (service: string) => ServiceMood;
}

/** A fleet in a world that goes wrong in every way, watched by a witness who knows all of it. */
export function createFleetModel({ clients = CLIENTS, normal, singleActiveToken = true, ...changes }: Options = {}) {
  const services = { [SERVICES[0]]: { response: TOLD }, [SERVICES[1]]: { response: TOLD, singleActiveToken } };
  const fleet = createFleet({ ...changes, services });
  const { clock, shared, surroundings } = fleet;
  const { secretsLatencyMs } = surroundings;
  const pairs = clients.flatMap((client) => SERVICES.map((service): Pair => ({ client, service })));
  const world = createModelWorld(clock, normal);
  const hosts = createHosts(fleet);
  const { judge } = hosts;
  const ledger = keepLedger(fleet, hosts);
  /** By its text. */
  const handOuts = new Map<string, HandOut>();
  const random = seededRandom(changes.seed ?? 1, 'troubles');
  /** In which new instances seal. */
  let format = 1;
  let secretsFailedAt = Number.NEGATIVE_INFINITY;

  surroundings.secret = (client, stage) => world.read(client, stage);
  surroundings.serviceLatencyMs = changes.serviceLatencyMs ?? (({ service }) => world.moodOf(service).latencyMs);
  surroundings.answer = (_, { from, pair, version, at }) => {
    // Each call reads the secret anew.
    const goneMs = at - Math.max(world.deletedAt(pair.client) ?? at, secretsFailedAt);
    judge(`instance ${from} sent ${version}`, { 'long after it was deleted': goneMs > LONGEST_CALL_MS });
    const answer = world.answer(pair, version);
    if (answer instanceof Problem || answer.token === undefined) return answer;
    const lifetimeMs = Math.min(answer.lifetimeMs ?? 0, MAX_LIFETIME_MS);
    handOuts.set(answer.token, { pair, at, expiresAt: at + hosts.skewOf(from) + lifetimeMs, lifetimeMs });
    return answer;
  };

  const model = {
    ...hosts,
    ...fleet,
    pairs,
    world,

    async ask(host: Instance, { pair, minTtlSeconds = 0, refuses = 'nothing' }: Ask): Promise<Issue | Problem> {
      const { lastToken } = ledger.pageOf(pair);
      const refused = { nothing: undefined, 'the last token': lastToken, 'an unknown token': 'f'.repeat(16) }[refuses];
      const startedAt = clock.now();
      const living = refused === undefined ? livingToken(pair, host) : undefined;
      const asked = host.issue({ pair, minTtlMs: minTtlSeconds * 1_000, refused });
      const trace = host.traces.at(-1);
      const answer = await follow(host, pair, asked);
      if (answer instanceof Problem) {
        const isServed = living !== undefined && living === livingToken(pair, host);
        // An instance that never saw the token waits in vain without the table, and others read the secret first.
        const gone = world.deletedAt(pair.client) === undefined ? [] : ['credential-missing'];
        const isWithoutTable = hosts.failedAt(host.number) >= startedAt;
        const isExcused = isWithoutTable && ['table-unavailable', ...gone].includes(answer.type);
        // Memory may still hold the flag of an operator.
        const isWrong = isServed && answer.type !== 'client-disabled' && !isExcused;
        judge(`instance ${host.number}`, { [`answers ${answer.type}, though a token lives`]: isWrong });
        return answer;
      }
      const { token } = answer;
      ledger.pageOf(pair).lastToken = token.fingerprint;
      const what = `instance ${host.number} issued ${token.fingerprint} of ${pairKey(pair)}`;
      judge(what, complaintsOfLife(answer, pair, host.now()));
      judge(what, complaintsOfAge(answer, pair, host.number, startedAt, trace));
      judge(what, {
        'of a trial': token.credentialVersion === world.versionWith(pair.client, 'AWSPENDING'),
        'that was refused': token.fingerprint === refused,
      });
      return answer;
    },

    check: (host: Instance, pair: Pair, stage: SecretStage) => follow(host, pair, host.check({ pair, stage })),

    troubleStore(trouble: StoreTrouble | undefined) {
      surroundings.storeFault = (operation) => {
        if (trouble === undefined || !trouble.of.includes(operation) || random() >= trouble.share) return undefined;
        return trouble.fault;
      };
    },

    troubleSecrets(trouble: Trouble<'unavailable' | 'denied'>) {
      surroundings.secretsLatencyMs = trouble?.fault === 'unavailable' ? 1_000 : secretsLatencyMs;
      surroundings.secret = (client, stage) => {
        if (trouble === undefined || random() >= trouble.share) return world.read(client, stage);
        secretsFailedAt = clock.now();
        return { outcome: trouble.fault, cause: 'trouble' };
      };
    },

    disable(pair: Pair) {
      const page = ledger.pageOf(pair);
      shared.disable(pair, clock.now());
      page.disabledAt ??= clock.now();
    },

    /** Waits for a lease from before the stop as the command does, at most as long as a lease lasts. */
    async enable(pair: Pair) {
      const page = ledger.pageOf(pair);
      const { lease, disabled } = shared.peek(pair);
      if (disabled) await clock.advance(Math.max(0, Math.min((lease?.until ?? 0) - clock.now(), LEASE_MS)));
      shared.enable(pair);
      if (page.disabledAt !== undefined) page.stop = { at: page.disabledAt, endedAt: clock.now() };
      page.disabledAt = undefined;
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
      for (const host of hosts.living()) host.state.format = format;
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
      hosts.verifyAnswers();
      const isLeft = (pair: Pair) => (shared.peek(pair).lease?.until ?? 0) > clock.now();
      const left = hosts.isAtRest() ? pairs.filter(isLeft) : [];
      for (const pair of left) judge(pairKey(pair), { 'keeps a lease that no instance ends': true });
      if (hosts.accusations.length > 0) throw new Error(hosts.accusations.join('\n'));
    },

    /** Ends all faults. Every pair whose credential is good then gets a token, unless it has used up its chances. */
    async verifyRecovery() {
      model.troubleStore(undefined);
      model.troubleSecrets(undefined);
      for (const service of SERVICES) world.setMood(service, undefined);
      for (const client of clients) world.setDeleted(client, false);
      for (const pair of pairs) {
        if (ledger.pageOf(pair).disabledAt !== undefined) await model.enable(pair);
        world.setAccepted(pair, world.versionWith(pair.client, 'AWSCURRENT'), true);
      }
      await hosts.settle();
      await clock.advance(LONGEST_WAIT_MS);
      if (hosts.living().length === 0) model.start(0);
      for (const pair of pairs) {
        const latch = shared.peek(pair).rejected.get(world.versionWith(pair.client, 'AWSCURRENT') ?? '');
        if (latch !== undefined && latch.count >= 3) continue;
        for (const host of hosts.living()) {
          const outcome = await clock.run(model.ask(host, { pair }));
          judge(pairKey(pair), { 'is stuck': outcome instanceof Problem });
        }
      }
      model.verify();
    },
  };
  return model;

  /** Follows one call to its answer, a result or a problem. */
  async function follow<Result>(host: Instance, pair: Pair, work: Promise<Result>): Promise<Result | Problem> {
    try {
      return await hosts.follow(host, pair, work);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { type, retryAfterSeconds = 1 } = error;
      // A wait counts as it was written, also by a clock that is ahead.
      const isSane = retryAfterSeconds >= 1 && retryAfterSeconds <= MAX_HOLD_SECONDS + MAX_CLOCK_DIFFERENCE_MS / 1_000;
      judge(type, { [`asks to wait ${retryAfterSeconds} s`]: !isSane });
      return error;
    }
  }

  /** The shared token that the instance can open, knows by now, and may issue by its clock. */
  function livingToken(pair: Pair, { state }: Instance): StoredToken | undefined {
    const { token, disabled } = shared.peek(pair);
    if (disabled || token?.accessToken === undefined || formatOf(token) !== state.format) return undefined;
    const isKnown = clock.now() - token.issuedAt > TRUST_MS + LONGEST_CALL_MS;
    return isKnown && isIssuable(token, clock.now() + MAX_SKEW_MS) ? token : undefined;
  }

  /** Compares the life of a token with the one that its service has told. */
  function complaintsOfLife({ token }: Issue, pair: Pair, now: number) {
    const known = handOuts.get(token.accessToken.reveal());
    if (known === undefined || pairKey(known.pair) !== pairKey(pair)) return { 'of another pair': true };
    return {
      'with a longer life than the service has told': token.expiresAt > known.expiresAt,
      // The clocks of this world count in fractions, and times are told in milliseconds.
      'too close to its end': token.expiresAt - now <= hardMarginMs(known.lifetimeMs) - 1,
    };
  }

  /** How long before its call a stop may have come. An instance that cannot ask cannot know. */
  function complaintsOfAge(
    { cache, token }: Issue,
    pair: Pair,
    from: number,
    startedAt: number,
    trace: Trace | undefined,
  ) {
    const { disabledAt, withdrawnAt, stop } = ledger.pageOf(pair);
    const isOld = (at = Infinity, failedAt = hosts.failedAt(from)) => startedAt - Math.max(at, failedAt) > TRUST_MS;
    const isWithoutTable =
      cache === 'memory' && (trace?.warnings.has('table-unavailable') || trace?.warnings.has('table-busy'));
    return {
      // The flag does not reach an instance whose looks fail. The secret does.
      'long after it was disabled': isOld(disabledAt),
      'from before a stop that has ended':
        (handOuts.get(token.accessToken.reveal())?.at ?? 0) < (stop?.at ?? 0) && isOld(stop?.endedAt),
      'long after it was withdrawn': cache !== 'none' && isOld(withdrawnAt),
      'long after its credential was gone': isWithoutTable && isOld(world.deletedAt(pair.client), secretsFailedAt),
    };
  }
}

/** Where answers hold a token and its life time: no search for them. */
const TOLD = { ...exampleService().response, tokenMember: 'access_token', lifetimeMember: 'expires_in' };
/** How long memory is trusted, and a secret without the table. */
const TRUST_MS = 60_000;
const MAX_HOLD_SECONDS = 3_600;
const MAX_LIFETIME_MS = 86_400_000;

/** An instance’s own latch, which no operator reaches, by the worst clock. */
const LONGEST_WAIT_MS = 25 * 60 * 60_000;
/** Just after a rejection, and after each of the chances that a rejected version gets; a fourth must never come. */
const BETWEEN_ASKS_MS = [0, 31_000, 16 * 60_000, 3 * 3_600_000, 3 * 3_600_000, 25 * 3_600_000];
