import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EnvironmentAnswer, EnvironmentProcess } from '../support/environment-process.ts';
import { ask, describeWaits, type Fleet, print, startFleet } from './fleet.ts';

const PROCESSES = 8;
const ENVIRONMENTS = 25;
const SLOWNESS = 10;
const LIFETIME_SECONDS = 3_600;
/** Between the end of what is surely before the soft window and the beginning of what is surely in it. */
const WINDOW_SECONDS = 200;
const REFRESHER_WAITS_MS = 1_000;

// One story in steps: each begins where the one before has ended. Clocks are set forward, so no step waits.
describe('200 warm environments, and a token of one hour that', () => {
  let fleet: Fleet;
  let processes: readonly EnvironmentProcess[];
  beforeAll(async () => {
    fleet = await startFleet({ clients: ['acme'], lifetimeSeconds: LIFETIME_SECONDS, slowness: SLOWNESS });
    processes = Array.from({ length: PROCESSES }, () => fleet.startProcess());
    for (const each of processes) await ask(each, 0, { client: 'acme' });
    await askAllAfter(0);
  });
  afterAll(() => fleet.close());

  it('is not requested again before its soft window', async () => {
    expect(requestersOf(await askAllAfter(2_780))).toEqual([]);
  });

  it('enters its soft window: one environment tries, for a second; no other one waits', async () => {
    fleet.tokenService.fault('hang');
    const answers = await askAllAfter(WINDOW_SECONDS);
    const requesters = requestersOf(answers);
    const others = answers.filter((answer) => !requesters.includes(answer));
    print(`soft window: the refresher: ${describeWaits(requesters)}; the others: ${describeWaits(others)}`);

    expect(requesters).toHaveLength(1);
    expect(Math.max(...others.map(({ waitMs }) => waitMs))).toBeLessThan(REFRESHER_WAITS_MS);
    for (const { status } of answers) expect(status).toBe(200);
  });

  it('is left alone for 15 seconds after that', async () => {
    expect(requestersOf(await askAllAfter(5))).toEqual([]);
  });

  it('is replaced once the service answers, by one environment for all', async () => {
    fleet.tokenService.fault(undefined);
    let answers: readonly EnvironmentAnswer[] = [];
    for (let round = 0; round < 5 && restOf(answers) < LIFETIME_SECONDS - WINDOW_SECONDS; round += 1) {
      answers = await askAllAfter(61);
      expect(requestersOf(answers).length).toBeLessThanOrEqual(1);
    }
    expect(restOf(answers)).toBeGreaterThan(LIFETIME_SECONDS - WINDOW_SECONDS);
  });

  it('still serves 40 seconds before its end while the service is down', async () => {
    fleet.tokenService.respondWith(undefined, { status: 503 });
    const now = restOf(await askAllAfter(0));
    const answers = await askAllAfter(now - 40);
    for (const { status } of answers) expect(status).toBe(200);
    expect(restOf(answers)).toBeGreaterThanOrEqual(30);
  });

  it('is not issued any more 20 seconds before its end', async () => {
    for (const { status, headers } of await askAllAfter(20)) {
      expect(status).toBe(503);
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
  });

  it('has a successor as soon as the service is back and its pause is over', async () => {
    fleet.tokenService.respondWith(undefined, undefined);
    for (const { status } of await askAllAfter(16)) expect(status).toBe(200);
  });

  /** That many seconds later all environments ask, those of one process one after the other. */
  async function askAllAfter(seconds: number): Promise<readonly EnvironmentAnswer[]> {
    const answersOf = async (each: EnvironmentProcess) => {
      await each.order({ advanceMs: seconds * 1_000 });
      const answers: EnvironmentAnswer[] = [];
      for (let index = 0; index < ENVIRONMENTS; index += 1) answers.push(await ask(each, index, { client: 'acme' }));
      return answers;
    };
    const answers = (await Promise.all(processes.map(answersOf))).flat();
    expect(answers.flatMap(({ audit }) => audit.warnings)).not.toContain('shared-cache-unavailable');
    return answers;
  }
});

function requestersOf(answers: readonly EnvironmentAnswer[]): readonly EnvironmentAnswer[] {
  return answers.filter(({ audit }) => audit.TokenRequests > 0);
}

/** How many seconds the token that ends first still lives. */
function restOf(answers: readonly EnvironmentAnswer[]): number {
  return answers.length === 0 ? 0 : Math.min(...answers.map(({ body }) => body.expires_in ?? 0));
}
