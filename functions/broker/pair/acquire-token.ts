import { type SecretStage, secretName } from '../../vocabulary.ts';
import type { SecretCache, SecretReading, SecretVersion } from '../credential/secret.ts';
import { Problem } from '../problem.ts';
import { type Call, isTrial, type LeasedRequest } from './call.ts';
import { chooseVersion, goneProblem, rejectedProblem } from './choose-version.ts';
import { lastWriteEnd, leaseMs, MIN_REQUEST_MS, requestEnd, watch, writeEnd } from './deadlines.ts';
import type { Step, View } from './decision.ts';
import type { PairMemory } from './memory.ts';
import type { ObtainToken } from './obtain-token.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { PairRecord, Rejection, StoredToken } from './record.ts';
import { isIssuable, isLatched, isProven, waitProblem, withoutFutureTimes } from './record.ts';
import { type CallTerms, type PairStore, StoreUnavailable, type TaggedRecord } from './store.ts';
import { leased, settled, withdrawn } from './transitions.ts';

export interface Dependencies {
  /** Part of every secret's name. */
  readonly environment: string;
  readonly secrets: SecretCache;
  readonly store: PairStore;
  readonly memory: PairMemory;
  readonly obtainToken: ObtainToken;
  readonly uniqueId: () => string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

/** The result of one turn of the loop: an answer, a token, a failed request, or when to look again. */
type Turn<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'token'; readonly token: StoredToken; readonly version: SecretVersion }
  | { readonly kind: 'failed'; readonly problem: Problem; readonly version: SecretVersion }
  | 'again'
  | 'wait';

/** What the table shows a call, and when the call looked. */
type TableView = View & { readonly seen: TaggedRecord; readonly at: number };

/**
 * Gets a token or an answer for a call. ACQUIRE looks at the shared record, lets the call decide, and takes the lease.
 * SEND makes the one token request that the lease allows. SETTLE writes the outcome. Without the table nothing is sent.
 *
 * @throws Problem why there is neither an answer nor a token
 */
export async function acquireToken<Answer>(
  { environment, secrets, store, memory, obtainToken, uniqueId, now, sleep, random }: Dependencies,
  call: Call,
  decide: (view: View) => Step<Answer>,
) {
  const { pair, service, stage, deadline, trace } = call;
  /** The lease of another call, as this call has watched it. */
  let watched: ReturnType<typeof watch>;
  /** Every lease that this call asked for. A write without an answer may still arrive. `undefined`: it is used. */
  const unconfirmed = new Map<string, LeasedRequest | undefined>();
  /** The versions that this call has sent. It sends no version twice. */
  const sent = new Map<string, Rejection>();
  /** Readings of the secret that are older than this do not count. */
  let readSince = stage === undefined ? -Infinity : now();
  /** The last failed call of the table, until a write is answered, or a read after which nothing is to be written. */
  let failure: StoreUnavailable | undefined;
  let polls = 0;

  while (now() < deadline) {
    const result = await turn();
    if (typeof result === 'object') return result;
    if (result === 'wait') await poll();
  }
  throw failure ?? new Problem('token-endpoint-timeout', 'No token came in time.', { retryAfterSeconds: 1 });

  /** ACQUIRE: looks, decides and acts once. */
  async function turn(): Promise<Turn<Answer>> {
    const seen = await ask(() => store.read(pair, call));
    if (typeof seen === 'string') return decideWithoutTable();
    // The write of this call's lease may have gone unanswered and arrived all the same.
    const confirmed = unconfirmed.get(seen.record.lease?.id ?? '');
    if (confirmed && !seen.record.disabled) return sendRequest(seen, confirmed);

    const { lease, attemptedAt } = seen.record;
    watched = watch(watched, unconfirmed.has(lease?.id ?? '') ? undefined : lease, leaseMs(service), now());
    const at = now();
    const leaseIsOver = (watched?.until ?? 0) <= at;
    const lastAttemptAt = Math.max(attemptedAt, memory.last(pair).attemptedAt);
    const record = withSent({ ...seen.record, attemptedAt: lastAttemptAt });
    // A check sends the version that it decides on, so it reads the secret after the look, unless it must wait.
    const versions = stage && (await readVersions(record, leaseIsOver ? at : readSince));
    const view: TableView = { seen, at, record, cache: 'shared', versions, leaseIsOver };
    const step = decide(view);
    switch (step.kind) {
      case 'answer':
        return step;
      case 'wait':
        failure = undefined;
        return 'wait';
      case 'withdraw': {
        const result = await replace(seen, withdrawn(seen.record));
        return typeof result === 'object' ? { kind: 'answer', answer: step.answer } : waitForTable();
      }
      case 'request':
        return takeLease(view, step);
      case 'renew':
        return renew(view, step);
    }
  }

  /** Counts each version that this call has sent as latched. The table may confirm a write and forget it. */
  function withSent(record: PairRecord): PairRecord {
    return withoutFutureTimes({ ...record, rejected: new Map([...record.rejected, ...sent]) }, now());
  }

  /**
   * Reads AWSCURRENT, and AWSPREVIOUS while AWSCURRENT is latched. A check reads the stage that it asks for. A stop
   * makes memory forget the client's tokens.
   */
  async function readVersions({ rejected }: PairRecord, since: number, acceptsSilence = false) {
    const read = (name: SecretStage) => secrets.read(pair.client, name, { readSince: since, acceptsSilence, deadline });
    const preferred = stage ?? 'AWSCURRENT';
    const asked = await read(preferred);
    const version = asked.outcome === 'found' ? asked.secret.versionId : '';
    const needsPrevious = stage === undefined && isLatched(rejected.get(version), now());
    const candidates = needsPrevious ? ([asked, await read('AWSPREVIOUS')] as const) : ([asked] as const);
    // The current version decides which services may receive the previous one.
    const servicesFrom = stage === 'AWSPREVIOUS' ? await read('AWSCURRENT') : asked;
    if (stage !== 'AWSPENDING' && STOPS.has(servicesFrom.outcome)) memory.dropTokens(pair.client);
    if (candidates.some((reading) => reading.outcome === 'found' && reading.isStale))
      trace.warnings.add('secret-stale');
    return { name: secretName(environment, pair.client), stage: preferred, servicesFrom, candidates };
  }

  /** Answers from what memory and this call know, or lets the call wait. Sends nothing and takes no lease. */
  async function decideWithoutTable(): Promise<Turn<Answer>> {
    const record = withSent(memory.recall(pair));
    const { disabled, token, rejected, held, pause } = record;
    const isUnknown = !disabled && !token && !pause && rejected.size + held.size === 0;
    if (isUnknown || (isTrial(call) && sent.size === 0)) return waitForTable();
    const since = Math.max(readSince, now() - SECRET_TRUST_MS);
    // A flag needs no secret.
    const versions = disabled ? undefined : await readVersions(record, since, true);
    if (versions && goneProblem(versions, pair)?.type === 'secrets-unavailable') return waitForTable();
    const step = decide({ record, cache: 'memory', versions, leaseIsOver: false });
    if (step.kind === 'answer') return step;
    const isSilent = versions?.candidates.some(({ outcome }) => outcome === 'unavailable');
    // A check has all its findings from `decide`.
    if (versions && !isSilent && stage === undefined) chooseVersion(call, versions, record, now());
    return waitForTable();
  }

  /** Lets the call look again, unless the table fails for longer. @throws StoreUnavailable */
  function waitForTable(): 'wait' {
    if (failure?.kind === 'lasting') throw failure;
    return 'wait';
  }

  /** Tries to replace the living token. The living token serves, so a failure does not matter to the caller. */
  async function renew(view: TableView, step: Step<Answer>): Promise<Turn<Answer>> {
    const result = await takeLease(view, step).catch((error: unknown) => {
      if (error instanceof Problem) return 'wait' as const;
      throw error;
    });
    if (typeof result === 'object' && result.kind === 'token') return result;
    memory.noteTry(pair);
    // Another call of the instance may have seen an operator's flag meanwhile.
    const rest = decide({ ...view, record: withSent(memory.last(pair)) });
    return rest.kind === 'answer' ? rest : result;
  }

  /** Takes the lease for a version that was read after the look. @throws Problem why no version may be sent */
  async function takeLease({ seen, record, at }: TableView, step: Step<Answer>): Promise<Turn<never>> {
    const choose = async (since: number) => chooseVersion(call, await readVersions(record, since), record, now());
    // Too little time to read the secret is no failure of Secrets Manager.
    const isTooLate = () => deadline - now() < MIN_REQUEST_MS;
    if (isTooLate()) return 'wait';
    // Checks the cached secret first: if its version is latched or held, fails without reading Secrets Manager.
    await choose(readSince);
    const chosen = await choose(at);
    if (isTooLate()) return 'wait';

    const { versionId: version } = chosen.version;
    const lease = { id: uniqueId(), until: now() + leaseMs(service) };
    const forced = step.kind === 'request' && step.forced;
    // A renewal usually has one second. Many services take longer to reject, and an unheard rejection is not
    // counted. So a version that is not proven, or whose last request brought no answer, has the whole time.
    const isQuick = step.kind === 'renew' && isProven(seen.record, version) && !seen.record.pause?.unheard;
    const timeoutMs = isQuick ? step.timeoutMs : service.requestTimeoutMs;
    const request = { ...chosen, lease, record: seen.record, forced, timeoutMs };
    unconfirmed.set(lease.id, request);
    const result = await replace(seen, leased(request, stage !== undefined, now()));
    return typeof result === 'object' ? sendRequest(result, request) : waitForTable();
  }

  /** SEND: makes the one token request of a lease. A defect from here on leaves the lease, which expires by itself. */
  async function sendRequest(taken: TaggedRecord, request: LeasedRequest): Promise<Turn<never>> {
    const { lease } = request;
    const { versionId: version, stage: sentStage } = request.version;
    const failed = (problem: Problem) => ({ kind: 'failed', problem, version: request.version }) as const;
    unconfirmed.set(lease.id, undefined);
    const endsAt = Math.min(requestEnd(lease.until, deadline), now() + request.timeoutMs);
    if (endsAt - now() < MIN_REQUEST_MS || sent.has(version)) return 'wait';
    sent.set(version, { count: 1, at: now(), by: lease.id });
    if (stage === undefined && sentStage === 'AWSPREVIOUS') trace.warnings.add('previous-version');
    const outcome = outcomeOf(call, request, await obtainToken(call, request, endsAt), now());
    await settle(taken, request, outcome);
    if (outcome.kind === 'failed') return failed(waitProblem(outcome.wait, now(), outcome.cause));
    if (outcome.kind === 'accepted') {
      // The instance may have been frozen for longer than the token lives.
      const { token } = outcome;
      return isIssuable(token, now()) ? { kind: 'token', token, version: request.version } : 'wait';
    }
    readSince = now();
    if (now() < deadline) return 'again';
    return failed(rejectedProblem(pair, request.record, version, request.credential));
  }

  /** SETTLE: writes the outcome, first into the record of the lease's own write. Tries until its time is over. */
  async function settle(taken: TaggedRecord, request: LeasedRequest, outcome: Outcome): Promise<void> {
    // The service counts every rejection, so the table must too.
    const until = outcome.kind === 'rejected' ? lastWriteEnd(deadline) : writeEnd(request.lease.until, deadline);
    const terms = { deadline: until, settles: true };
    for (let seen: TaggedRecord | undefined = taken; now() < until; ) {
      const result: Awaited<ReturnType<typeof ask>> = seen
        ? await replace(seen, settled(seen.record, request, outcome), terms)
        : await ask(() => store.read(pair, terms));
      if (result === 'failed') await sleep(Math.max(0, Math.min(SETTLE_POLL_MS * (1 + random()), until - now())));
      else if (result === 'overtaken') seen = undefined;
      else if (seen !== undefined) return;
      else seen = result;
    }
  }

  async function replace(seen: TaggedRecord, next: PairRecord, terms: CallTerms = call) {
    if (next === seen.record) return seen;
    const result = await ask(() => store.replace(pair, seen, next, terms));
    if (result !== 'failed') failure = undefined;
    return result;
  }

  /** Calls the table. `overtaken`: another write came first. `failed`: `failure` says why. */
  async function ask(work: Parameters<PairMemory['remember']>[1]) {
    try {
      return (await memory.remember(pair, work)) ?? 'overtaken';
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      trace.warnings.add(error.kind === 'busy' ? 'table-busy' : 'table-unavailable');
      failure = error;
      return 'failed';
    }
  }

  async function poll(): Promise<void> {
    const pollMs = Math.min(MAX_POLL_MS, FIRST_POLL_MS * 2 ** polls++) * (1 + random()) * 0.5;
    // Wakes when the lease ends, at a random moment, so that waiting calls do not ask the table all at once.
    const leftMs = (watched?.until ?? 0) - now();
    const wakeMs = (leftMs > 0 ? leftMs : Infinity) + random() * FIRST_POLL_MS;
    await sleep(Math.max(0, Math.min(pollMs, wakeMs, deadline - now())));
  }
}

/** The first and the longest time between two polls of a waiting call. */
const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 500;
/** Repeated writes of an outcome are this far apart, and up to twice as far, while the store does not answer. */
const SETTLE_POLL_MS = 50;
/** Without the table an instance notices within this time that the secret was taken away. */
const SECRET_TRUST_MS = 60_000;
/** "Denied" is not among them: a release with a broken role must not forget tokens. */
const STOPS: ReadonlySet<SecretReading['outcome']> = new Set(['stopped', 'missing', 'deleted']);
