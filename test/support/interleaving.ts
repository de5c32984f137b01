import { newTrace } from '../../functions/broker/audit.ts';
import type { IssueRequest } from '../../functions/broker/http/request.ts';
import type { Issue } from '../../functions/broker/pair/decision.ts';
import type { PairRecord } from '../../functions/broker/pair/record.ts';
import { StoreUnavailable } from '../../functions/broker/pair/record.ts';
import type { PairStore } from '../../functions/broker/pair/store.ts';
import { Problem } from '../../functions/broker/problem.ts';
import type { Service } from '../../functions/broker/service.ts';
import type { SecretStage } from '../../functions/contract.ts';
import { exchange, found, ISSUE_REQUEST, wireBroker } from './broker-world.ts';
import { BILLING, exampleService, START } from './example.ts';
import type { Choices } from './exploration.ts';
import { createReferencePairStore } from './reference-pair-store.ts';

/** What may go wrong once at any step of one environment. */
export type Fault =
  /** The environment ends before the step has its effect. */
  | 'crash-before'
  /** The environment ends when the step has had its effect. */
  | 'crash-after'
  /** The store did what it was told, and its answer never came. */
  | 'answer-lost'
  /** The store was told twice, because the first answer was lost on the way. */
  | 'repeated'
  /** The store did nothing. */
  | 'unavailable'
  /** For the other environment more than a whole lease passes before the step has its effect. */
  | 'delay';

export interface Scenario {
  /** What the shared record holds at the start. */
  readonly record?: Partial<PairRecord>;
  readonly stages?: Partial<Record<SecretStage, string>>;
  readonly accepted?: readonly string[];
  readonly service?: Partial<Service>;
  readonly request?: Partial<IssueRequest>;
  /** The service is down: every token request fails without a rejection. */
  readonly isDown?: boolean;
  /** Something that an operator does at any moment in between. */
  readonly operator?: (world: World) => void;
  readonly faults?: readonly Fault[];
  /** How many faults there may be in one run; 1 when left out. */
  readonly maxFaults?: number;
}

interface World {
  stages: Partial<Record<SecretStage, string>>;
  accepted: Set<string>;
}

export interface RunResult {
  /** What each environment answered; `undefined` for one that crashed. */
  readonly answers: readonly (Issue | Problem | undefined)[];
  readonly requests: readonly { readonly version: string; readonly outcome: 'token' | 'rejected' | 'failed' }[];
  readonly faults: readonly Fault[];
  readonly record: PairRecord;
  readonly now: number;
  /** What an environment answers that asks after all others have ended, this much time later. */
  readonly later: (ms: number) => Promise<Issue | Problem>;
}

/** A step that an environment waits for: it happens when it is chosen. */
interface Step {
  readonly label: string;
  readonly environment: number;
  readonly kind: 'read' | 'write' | 'request' | 'secret' | 'sleep' | 'operator';
  /** When a sleep ends. */
  readonly at?: number;
  readonly happen: (fault: Fault | undefined) => Promise<void>;
}

/** Lets two environments ask for one pair, their steps in the order, and with the faults, that the choices say. */
export async function interleave(scenario: Scenario, choices: Choices): Promise<RunResult> {
  const world: World = {
    stages: { AWSCURRENT: 'v1', ...scenario.stages },
    accepted: new Set(scenario.accepted ?? ['v1', 'v2']),
  };
  const shared = createReferencePairStore();
  if (scenario.record) shared.change(ISSUE_REQUEST.pair, (record) => ({ ...record, ...scenario.record }));
  const service = exampleService(scenario.service);
  const requests: { version: string; outcome: 'token' | 'rejected' | 'failed' }[] = [];
  const faults: Fault[] = [];
  const dead = new Set<number>();
  let pending: Step[] = [];
  let now = START;
  let isQuiet = false;

  const step = <Result>(
    environment: number,
    label: string,
    kind: Step['kind'],
    effect: (fault: Fault | undefined) => Promise<Result> | Result,
    at?: number,
  ): Promise<Result> =>
    new Promise((resolve, reject) => {
      const happen = async (fault: Fault | undefined) => {
        if (fault === 'crash-before') return void dead.add(environment);
        if (fault === 'unavailable') return reject(new StoreUnavailable('down'));
        try {
          if (fault === 'repeated') await effect(fault);
          const result = await effect(fault);
          if (fault === 'crash-after') return void dead.add(environment);
          if (fault === 'answer-lost') return reject(new StoreUnavailable('answer lost'));
          resolve(result);
        } catch (error) {
          if (fault === 'crash-after') dead.add(environment);
          else reject(error);
        }
      };
      pending.push({ label: `${label} of ${environment}`, environment, kind, at, happen } as Step);
    });

  const createEnvironment = (environment: number) => {
    const write =
      <Arguments extends unknown[], Result>(label: string, call: (...args: Arguments) => Promise<Result>) =>
      (...args: Arguments) =>
        step(environment, label, 'write', () => call(...args));
    const store: PairStore = {
      read: (...args) => step(environment, 'read', 'read', () => shared.read(...args)),
      acquire: write('acquire', shared.acquire),
      end: write('end', shared.end),
      reject: write('reject', shared.reject),
    };
    let calls = 0;
    const broker = wireBroker({
      services: { 'customer-insights': service },
      store,
      readSecret: (_client, stage) =>
        step(environment, `secret ${stage}`, 'secret', () => {
          const versionId = world.stages[stage];
          return versionId === undefined
            ? { outcome: 'missing' as const }
            : found(versionId, { client_id: 'id', secret: versionId }, stage);
        }),
      requestToken: (_service, credential) => {
        const requestStartedAt = now;
        const version = credential.secret.reveal();
        return step(environment, `token request with ${version}`, 'request', () => {
          const outcome = scenario.isDown ? 'failed' : world.accepted.has(version) ? 'token' : 'rejected';
          requests.push({ version, outcome });
          if (outcome === 'failed') throw new Problem('token-endpoint-unavailable', 'down');
          const answer =
            outcome === 'token'
              ? exchange(200, { access_token: `token-${requests.length}`, expires_in: 3_600 })
              : exchange(401, {});
          return { ...answer, requestStartedAt, receivedAt: now };
        });
      },
      uniqueId: () => `call-${environment}-${++calls}`,
      now: () => now,
      sleep: (ms) => step(environment, 'sleep', 'sleep', () => undefined, now + ms),
      random: () => 0.5,
    });
    return async (request: Partial<IssueRequest> = {}) => {
      try {
        return await broker.issue(BILLING, { ...ISSUE_REQUEST, ...request }, now + 14_500, newTrace());
      } catch (error) {
        if (error instanceof Problem) return error;
        throw error;
      }
    };
  };

  /** Lets steps happen until the answers are there, or nothing is left that could bring them. */
  const runUntil = async (work: readonly Promise<unknown>[]): Promise<void> => {
    let left = work.length;
    for (const each of work) each.finally(() => left--).catch(() => undefined);
    for (let steps = 0; ; steps += 1) {
      await everyPromise();
      pending = pending.filter(({ environment }) => !dead.has(environment));
      if (left === 0 || pending.length === 0) return;
      if (steps > 400) throw new Error('no end in sight');
      const [chosen, fault] = choose();
      pending = pending.filter((each) => each !== chosen);
      if (chosen.at !== undefined) now = Math.max(now, chosen.at);
      if (fault === 'delay') await letTimePass(chosen);
      await chosen.happen(fault);
    }
  };

  /** Every environment but the late one goes on until a whole lease has ended. */
  const letTimePass = async (late: Step): Promise<void> => {
    const end = now + service.requestTimeoutMs + 2_001;
    for (;;) {
      await everyPromise();
      const next = orderSteps().find(({ environment }) => environment !== late.environment && !dead.has(environment));
      if (next === undefined || (next.at ?? 0) > end) break;
      pending = pending.filter((each) => each !== next);
      if (next.at !== undefined) now = Math.max(now, next.at);
      await next.happen(undefined);
    }
    now = Math.max(now, end);
  };

  /** Sleeps last: time passes only when no environment has anything else to do. */
  const orderSteps = (): readonly Step[] => {
    const busy = pending.filter(({ kind }) => kind !== 'sleep');
    const sleeping = pending.filter(({ kind }) => kind === 'sleep').toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
    return [...busy, ...sleeping];
  };

  const choose = (): readonly [Step, Fault | undefined] => {
    const ordered = orderSteps();
    const busy = ordered.filter(({ kind }) => kind !== 'sleep');
    const candidates = busy.length > 0 ? busy : ordered.slice(0, 1);
    const options: Option[] = [];
    // The order in which environments read secrets makes no difference, unless an operator changes them in between.
    const independent = scenario.operator === undefined && candidates.find(({ kind }) => kind === 'secret');
    for (const candidate of independent ? [independent] : candidates) {
      options.push(option(candidate, undefined));
      if (isQuiet || faults.length >= (scenario.maxFaults ?? 1)) continue;
      for (const fault of scenario.faults ?? []) {
        if (isPossible(fault, candidate)) options.push(option(candidate, fault));
      }
    }
    const [first, ...others] = options;
    if (first === undefined) throw new Error('nothing to choose from');
    const { chosen, fault } = isQuiet ? first : choices.pick([first, ...others]);
    if (fault !== undefined) faults.push(fault);
    return [chosen, fault];
  };

  const { operator } = scenario;
  if (operator) void step(-1, 'change by the operator', 'operator', () => operator(world));
  const answers: (Issue | Problem | undefined)[] = [undefined, undefined];
  const work = answers.map(async (_, environment) => {
    answers[environment] = await createEnvironment(environment)(scenario.request);
  });
  await runUntil(work);

  return {
    answers,
    requests,
    faults,
    record: shared.peek(ISSUE_REQUEST.pair),
    now,
    async later(ms) {
      isQuiet = true;
      now += ms;
      let answer: Issue | Problem | undefined;
      const last = createEnvironment(2)(scenario.request).then((given) => {
        answer = given;
      });
      await runUntil([last]);
      if (answer === undefined) throw new Error('no answer at all');
      return answer;
    },
  };
}

interface Option {
  readonly chosen: Step;
  readonly fault: Fault | undefined;
  toString(): string;
}

function option(chosen: Step, fault: Fault | undefined): Option {
  return { chosen, fault, toString: () => (fault === undefined ? chosen.label : `${chosen.label}, ${fault}`) };
}

function isPossible(fault: Fault, { kind }: Step): boolean {
  if (kind === 'operator' || kind === 'sleep' || kind === 'secret') return false;
  if (fault === 'repeated') return kind === 'write';
  if (fault === 'answer-lost' || fault === 'unavailable') return kind === 'read' || kind === 'write';
  return true;
}

function everyPromise(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
