import type { SecretReading } from '../../functions/broker/credential/secret.ts';
import { type Pair, pairKey } from '../../functions/broker/pair/pair.ts';
import { Problem } from '../../functions/broker/problem.ts';
import { createFleet } from './fleet.ts';
import { createCalls } from './fleet-model-calls.ts';
import { createHosts, type Host } from './fleet-model-hosts.ts';
import { createJudge } from './fleet-model-judge.ts';
import { keepLedger } from './fleet-model-ledger.ts';
import { watchPace } from './fleet-model-pace.ts';
import { LONGEST_CALL_MS } from './fleet-model-witness.ts';
import { CALM, CLIENTS, createModelWorld, type HandOut, PAIRS, SERVICES } from './fleet-model-world.ts';
import type { SentRequest, StoreFault } from './fleet-surroundings.ts';
import { seededRandom } from './seeded-random.ts';

/** What goes wrong for a share of all calls to something, drawn with a seed of its own. */
export interface Trouble<Fault> {
  readonly fault: Fault;
  /** From 0 to 1. */
  readonly share: number;
  readonly seed: number;
}

export type FleetModel = ReturnType<typeof createFleetModel>;

/** A fleet in a world that goes wrong in every way, watched by a witness who knows all of it. */
export function createFleetModel() {
  const fleet = createFleet({ services: { 'merchant-payment-cleansing': { singleActiveToken: true } } });
  const { clock, shared, surroundings } = fleet;
  const world = createModelWorld(clock);
  const hosts = createHosts(fleet);
  const { witness } = hosts;
  const judge = createJudge(witness.accuse);
  const ledger = keepLedger(fleet, witness);
  const pace = watchPace(witness, fleet.services);
  const calls = createCalls({ clock, hosts, judge, hasHeardRejection: ledger.hasHeardRejection, stoppedMs });

  const disabledAt = new Map<string, number>();
  const handedOut = new WeakMap<object, { readonly handOut: HandOut; readonly toldMs: number }>();
  let secretsFailedAt = Number.NEGATIVE_INFINITY;

  surroundings.secret = (client, stage) => world.read(client, stage);
  surroundings.serviceLatencyMs = ({ service }) => world.moodOf(service).latencyMs;
  surroundings.answer = (_, request) => {
    const { pair, version } = request;
    const lease = ledger.seeRequest(request);
    checkCredential(request);
    if (lease !== undefined) pace.seeRequest(request, lease, world.moodOf(pair.service).latencyMs);
    const { answer, handOut, toldMs } = world.answer(pair, version);
    if (handOut !== undefined) handedOut.set(request, { handOut, toldMs });
    return answer;
  };
  surroundings.onHeard = (request, { response }) => {
    const { status, headers } = response;
    if (status === 401 || status === 400) ledger.seeRejection(request);
    if (status === 429) pace.seeRetryAfter(request, world.secondsOf(headers['retry-after'], request.at), clock.now());
    const heard = handedOut.get(request);
    const skewMs = hosts.nowOf(request.from) - clock.now();
    if (heard !== undefined) judge.seeHandOut(heard.handOut, heard.toldMs, request.at + skewMs);
  };

  const model = {
    ...hosts,
    ...calls,
    clock,
    world,

    troubleStore(trouble: Trouble<StoreFault> | undefined) {
      const random = seededRandom(trouble?.seed ?? 0);
      surroundings.storeFault = (operation, from) => {
        if (trouble === undefined || random() >= trouble.share) return undefined;
        const { fault } = trouble;
        if (fault === 'no-key' && operation !== 'read') return undefined;
        // A call that is repeated costs nothing: the store answers.
        if (fault !== 'repeated') hosts.noteStoreFailure(from);
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
      for (const version of shared.peek(pair).rejected.keys()) ledger.forgive(pair, version);
      pace.forgive(pair);
      shared.change(pair, (record) => ({ ...record, rejected: new Map(), held: new Map(), pause: undefined }));
    },

    /** Throws what has gone wrong so far. */
    verify() {
      ledger.settle();
      calls.checkDeadlines();
      for (const pair of hosts.isAtRest() ? PAIRS : []) {
        const { leaseOwner, leaseUntil } = shared.peek(pair);
        const isHeld = leaseOwner !== undefined && leaseUntil > clock.now();
        if (isHeld) witness.accuse(`no environment ends the lease of ${pairKey(pair)}`);
      }
      if (hosts.accusations.length > 0) throw new Error(hosts.accusations.join('\n'));
    },

    /** When all is well again, every pair whose credential is good gets a token, unless it has used up its chances. */
    async verifyRecovery() {
      model.troubleStore(undefined);
      model.troubleSecrets(undefined);
      for (const service of SERVICES) world.setMood(service, CALM);
      for (const client of CLIENTS) world.setDeleted(client, false);
      for (const pair of PAIRS) {
        world.setNamed(pair, true);
        model.setDisabled(pair, false);
        world.setAccepted(pair, world.currentOf(pair.client), true);
      }
      await hosts.settle();
      await clock.advance(LONGEST_WAIT_MS);
      if (hosts.living().length === 0) hosts.start(0);
      for (const pair of PAIRS) {
        const { rejected } = shared.peek(pair);
        if ((rejected.get(world.currentOf(pair.client))?.count ?? 0) >= 3) continue;
        for (const host of hosts.living()) {
          const outcome = await clock.run(calls.ask(host, { pair, minTtlSeconds: 0, refuses: 'nothing' }));
          if (outcome instanceof Problem) witness.accuse(`${pairKey(pair)} is stuck: ${outcome.message}`);
        }
      }
      model.verify();
    },
  };
  return model;

  /** A clock that has jumped cannot tell ages, and an environment that cannot ask cannot know. */
  function stoppedMs(host: Host, pair: Pair, now: number) {
    const since = (at: number | undefined, failedAt: number) =>
      at === undefined || host.hasJumped ? 0 : now - Math.max(at, failedAt);
    return {
      disabledMs: since(disabledAt.get(pairKey(pair)), host.storeFailedAt),
      withdrawnMs: since(ledger.withdrawnAt(pair), host.storeFailedAt),
      goneMs: since(world.goneAt(pair), secretsFailedAt),
    };
  }

  /** A credential that is deleted, or is not for this service any more, is not sent: each call reads the secret anew. */
  function checkCredential({ from, pair, version, at }: SentRequest): void {
    const isAlone = witness.hasStoreFailed(from, at - LONGEST_CALL_MS);
    const goneMs = at - Math.max(world.goneAt(pair) ?? at, secretsFailedAt);
    const isLate = goneMs > LONGEST_CALL_MS + (isAlone ? ALONE_TRUST_MS : 0);
    if (isLate && !witness.hasAnyClockJumped()) {
      witness.accuse(`environment ${from} sent ${version} to ${pair.service} ${goneMs} ms after it was gone`);
    }
  }
}

/** An environment that is alone reads the secret at least this often. */
const ALONE_TRUST_MS = 60_000;

/** The last chance of a version, by the worst clock. */
const LONGEST_WAIT_MS = 3 * 60 * 60_000;
