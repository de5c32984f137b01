import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createSecretsManager } from '../../../functions/aws/secrets-manager.ts';
import { SendFailure, type SendHttp } from '../../../functions/broker/token-request/send-http.ts';
import { createTokenFunction } from '../../../functions/token-function.ts';
import { functionUrlEvent } from '../../support/aws/function-url-events.ts';
import { answerOfAws, type Item } from '../../support/cold-start/exchange.ts';
import { ACCESS, exampleSettings } from '../../support/example.ts';
import { seededRandom } from '../../support/seeded-random.ts';

/** A dependency's answer and its delay in milliseconds; `Infinity` is never. */
export interface Weather {
  readonly delayMs: number;
  readonly fails?: boolean;
  /** Of the token endpoint. */
  readonly status?: number;
}

export const WELL: Weather = { delayMs: 5 };
export const NEVER: Weather = { delayMs: Number.POSITIVE_INFINITY };
/** Everything that an invocation can wait for. */
export const ALL_WELL = { read: WELL, acquire: WELL, write: WELL, secret: WELL, sealingKey: WELL, tokenEndpoint: WELL };
type Name = keyof typeof ALL_WELL;

/**
 * The whole token function on a clock that only the test moves: real rules and adapters; their dependencies answer
 * as the weather says. Time is stopped until `end`.
 */
export function startDeadlineWorld(start: number, seed = 1) {
  // A turn of the event loop takes no time.
  vi.useFakeTimers({ now: start, toNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] });
  // Vitest leaves `node:timers/promises` alone, of which the adapters hold a function by name.
  promises.setTimeout = async (ms = 0, value, { signal } = {}) => {
    await delay(ms, signal);
    return value as never;
  };
  syncBuiltinESMExports();
  const random = vi.spyOn(Math, 'random').mockImplementation(seededRandom(seed));
  const surroundings = createSurroundings();
  const { state, items, open, began } = surroundings;
  const tokenFunction = createTokenFunction({
    environment: 'test',
    tableName: 'pairs',
    settings: exampleSettings({ operations: ['token', 'check'] }),
    write: () => undefined,
    ...surroundings,
  });

  return {
    state,
    readFirst: () => run(tokenFunction.readFirst()),
    invoke: (...request: Parameters<typeof ask>) => run(ask(...request)),
    /** Stores the item of the pair as JSON carries it. Its bytes are base64. */
    put: (item: object) => void items.set(KEY, JSON.parse(JSON.stringify({ ...item, pair: { S: KEY } }))),
    pass: (ms: number) => void vi.setSystemTime(Date.now() + ms),

    /** Expects that no work is under way, and that no work begins later. */
    async expectIdle() {
      expect(vi.getTimerCount()).toBe(0);
      await turn();
      expect([...open]).toEqual([]);
      const before = began.length;
      await vi.advanceTimersByTimeAsync(30_000);
      expect(began.slice(before)).toEqual([]);
    },

    end() {
      random.mockRestore();
      vi.useRealTimers();
      promises.setTimeout = sleep;
      syncBuiltinESMExports();
    },
  };

  /** Invokes as Lambda would, with `remainingMs` left; `leftMs` is the rest when the answer came. */
  async function ask(remainingMs: number, rawPath: '/token' | '/check' = '/token') {
    const limit = Date.now() + remainingMs;
    const event = functionUrlEvent({ client: 'acme', service: 'customer-insights' }, { rawPath });
    const answer = await tokenFunction.handler(event, { getRemainingTimeInMillis: () => limit - Date.now() });
    return { status: answer.statusCode, json: JSON.parse(answer.body), leftMs: limit - Date.now() };
  }
}

/** AWS, behind the real clients, and the service: each answers as its weather says. */
function createSurroundings() {
  const state = { weathers: ALL_WELL };
  const items = new Map<string, Item>();
  const open = new Set<string>();
  const began: Name[] = [];

  async function lasts<Answer>(name: Name, { delayMs, fails }: Weather, answer: () => Answer, signal?: AbortSignal) {
    const id = `${name} ${began.push(name)}`;
    open.add(id);
    try {
      await delay(delayMs, signal);
      if (fails) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      return answer();
    } finally {
      open.delete(id);
    }
  }

  const aws: SendHttp = async ({ headers, body }, { signal }) => {
    const target = `${headers['x-amz-target']}`;
    const name = nameOf(target, body);
    return lasts(name, state.weathers[name], () => answerOf(answerOfAws(target, body, items)), signal);
  };
  const access = { ...ACCESS, send: aws };
  const clients = { dynamodb: createDynamoDB(access), secretsManager: createSecretsManager(access) };

  const send: SendHttp = async (_request, { timeoutMs }) => {
    const { delayMs, fails, status = 200 } = state.weathers.tokenEndpoint;
    const isLate = delayMs >= timeoutMs;
    const body = { access_token: `token-${began.length}`, expires_in: 3_600 };
    const weather = { delayMs: Math.min(delayMs, timeoutMs), fails: isLate || fails === true };
    return lasts('tokenEndpoint', weather, () => ({ ...answerOf(body), status })).catch(() => {
      throw isLate ? new SendFailure('timeout', 'ETIMEDOUT') : new SendFailure('connect', 'ECONNREFUSED');
    });
  };
  return { state, items, open, began, ...clients, send };
}

/** Returns what a call of AWS is to the broker. */
function nameOf(target: string, input: string): Name {
  if (target.endsWith('.GetItem')) return 'read';
  if (target.endsWith('.UpdateItem')) return input.includes('":lease":') ? 'acquire' : 'write';
  return input.includes('token-broker-keys/') ? 'sealingKey' : 'secret';
}

const KEY = 'acme/customer-insights';

function answerOf(members: object) {
  const body = new TextEncoder().encode(JSON.stringify(members));
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

/** Lets time pass until the work is done, and no further. */
async function run<Result>(work: Promise<Result>): Promise<Result> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  for (;;) {
    await turn();
    if (isDone) return work;
    if (vi.getTimerCount() === 0) throw new Error('the work waits for something that will never happen');
    await vi.advanceTimersToNextTimerAsync();
  }
}

/** Lets everything run that needs no time. */
async function turn(): Promise<void> {
  for (let n = 0; n < 3; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** `Infinity` never ends by itself. */
function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(Object.assign(new Error('aborted'), { name: 'AbortError' }));
    };
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
}

const { setImmediate } = globalThis;
const { setTimeout: sleep } = promises;
