import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { expect, vi } from 'vitest';
import { createTokenFunction } from '../../functions/token-function.ts';
import { exampleRule, exampleService } from '../support/example.ts';
import { functionUrlEvent } from '../support/function-url-events.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createSurroundings } from './deadline-surroundings.ts';
import { letTimeGoOn, run, stopTime, turn } from './stopped-time.ts';

/**
 * The whole token function on a clock that only the test moves: real rules, adapters and AWS SDK; what is behind them
 * answers as the weather says. Time is stopped until `end`.
 */
export function startDeadlineWorld(start: number, seed = 1) {
  stopTime(start);
  const random = vi.spyOn(Math, 'random').mockImplementation(seededRandom(seed));
  const surroundings = createSurroundings();
  const { state, open, began } = surroundings;

  const tokenFunction = createTokenFunction({
    environment: 'test',
    tableName: 'pairs',
    settings: {
      services: { 'customer-insights': exampleService() },
      accessRules: [exampleRule({ operations: ['token', 'check'] })],
      provenForSeconds: 3_600,
    },
    write: () => undefined,
    ...surroundings,
  });

  return {
    state,
    open,
    /** Every call that was made, in order. */
    began,
    readFirst: () => run(tokenFunction.readFirst()),

    invoke: (...request: Parameters<typeof ask>) => run(ask(...request)),
    /** Invokes once for each, all at the same time. */
    invokeAll: (requests: readonly Parameters<typeof ask>[]) =>
      run(Promise.all(requests.map((request) => ask(...request)))),

    pass: (ms: number) => void vi.setSystemTime(Date.now() + ms),

    /** Expects that no work is under way, and that no work begins later. */
    async expectSilence() {
      expect(vi.getTimerCount()).toBe(0);
      await turn();
      expect([...open]).toEqual([]);
      const before = began.length;
      await vi.advanceTimersByTimeAsync(30_000);
      expect(began.slice(before)).toEqual([]);
    },

    end() {
      random.mockRestore();
      letTimeGoOn();
    },
  };

  /** Invokes as Lambda would, with `remainingMs` left; `leftMs` is what was left when the answer came. */
  async function ask(remainingMs: number, rawPath: '/token' | '/check' = '/token') {
    const limit = Date.now() + remainingMs;
    const event = functionUrlEvent({ client: 'acme', service: 'customer-insights' }, { rawPath });
    const answer = await tokenFunction.handler(event, { getRemainingTimeInMillis: () => limit - Date.now() });
    return { status: answer.statusCode, json: JSON.parse(answer.body), leftMs: limit - Date.now() };
  }
}

// The AWS SDK reads its files at the first call of a process, which takes real time: too much once it is stopped.
const { secretsManager } = createSurroundings();
await secretsManager.send(new GetSecretValueCommand({ SecretId: 'token-broker/test/none' }));
