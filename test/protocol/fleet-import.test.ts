import { expect, it } from 'vitest';
import { pairKey } from '../../functions/broker/pair.ts';
import { createClientCheck } from '../../functions/health/rules/check-client.ts';
import type { CheckPair } from '../../functions/health/rules/check-pairs.ts';
import { found } from '../support/broker-world.ts';
import { START } from '../support/example.ts';
import { createFleet } from '../support/fleet/fleet.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const SECRETS = 500;
/** What Secrets Manager lets an account write in a second: no import is faster. */
const WRITES_A_SECOND = 50;
const SERVICES = ['customer-insights', 'merchant-payment-cleansing'];
const PAIRS = SECRETS * SERVICES.length;

it.each([
  ['at most 50 a second of each service', {}, { busiest: 110, perSecond: 50 }],
  ['also where services take three seconds', { serviceLatencyMs: 3_000 }, { busiest: 560, perSecond: 50 }],
  ['and fewer where health has 10 executions of its own', { health: 10 }, { busiest: 30, perSecond: 15 }],
])('an import of 500 secrets proves each pair by one token request, %s', async (_, limits, atMost) => {
  const { requests, dropped, busiest } = await importSecrets(limits);
  expect(new Set(requests.map(({ pair }) => pairKey(pair))).size).toBe(PAIRS);
  expect({ requests: requests.length, dropped }).toEqual({ requests: PAIRS, dropped: 0 });
  const seconds = Map.groupBy(requests, ({ at, pair }) => `${pair.service} ${Math.floor(at / 1_000)}`);
  expect(Math.max(...[...seconds.values()].map((sent) => sent.length))).toBeLessThanOrEqual(atMost.perSecond);
  expect(busiest).toBeLessThanOrEqual(atMost.busiest);
});

it('an import of 500 secrets is left to the next run of health where an account runs 10 functions at a time', async () => {
  const { requests, dropped, busiest } = await importSecrets({ account: 10 });
  expect(new Set(requests.map(({ pair }) => pairKey(pair))).size).toBe(requests.length);
  expect(dropped).toBeGreaterThan(SECRETS / 2);
  expect(busiest).toBe(10);
});

/**
 * Stores secrets as fast as AWS takes them. Both functions may have `account` executions at a time, the health function
 * `health` of these.
 */
async function importSecrets({ account = 1_000, health = Infinity, serviceLatencyMs = 100 }) {
  const clock = new VirtualClock(START);
  const secret = (client: string) => found('v1', { client_id: client, secret: 'v1', services: 'all' });
  const fleet = createFleet({ clock, secret, serviceLatencyMs });
  const running = { token: 0, health: 0 };
  let busiest = 0;
  let dropped = 0;
  const mayRun = (of: keyof typeof running) =>
    running.token + running.health < account && (of === 'token' || running.health < health);

  const checkPair: CheckPair = async (pair) => {
    if (!mayRun('token')) return { kind: 'failed', failure: 'aws-throttled', retryable: true };
    return { kind: 'checked', ...(await run('token', () => fleet.createInstance().check({ pair }))) };
  };
  const checkClient = createClientCheck({
    services: SERVICES,
    singleTokenServices: [],
    checkPair,
    record: () => undefined,
    describeSecret: async () => ({ services: SERVICES.join(' '), currentVersion: 'v1' }),
    notify: async () => ({ sent: 0, unsent: 0, failures: [] }),
    now: clock.now,
    sleep: clock.sleep,
  });
  await clock.run(Promise.all(Array.from({ length: SECRETS }, (_, index) => store(index))));
  return { requests: fleet.requests, busiest, dropped };

  async function run<Result>(of: keyof typeof running, work: () => Promise<Result>): Promise<Result> {
    running[of] += 1;
    busiest = Math.max(busiest, running.token + running.health);
    await clock.sleep(COLD_START_MS);
    return work().finally(() => {
      running[of] -= 1;
    });
  }

  /** Its event waits until Lambda has room, is repeated twice when it fails, and dropped after ten minutes. */
  async function store(index: number): Promise<void> {
    await clock.sleep((1_000 * index) / WRITES_A_SECOND);
    const endsAt = clock.now() + EVENT_LIFE_MS;
    let attempts = 0;
    for (let waitMs = 1_000; attempts < 3 && clock.now() < endsAt; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      if (!mayRun('health')) {
        await clock.sleep(waitMs);
        continue;
      }
      attempts += 1;
      const check = () => checkClient({ client: `client-${index}`, version: 'v1' }, endsAt);
      const [{ status }] = await Promise.allSettled([run('health', check)]);
      if (status === 'fulfilled') return;
      await clock.sleep(attempts * MINUTE_MS);
    }
    dropped += 1;
  }
}

const COLD_START_MS = 400;
const MINUTE_MS = 60_000;
/** As the stack sets it. */
const EVENT_LIFE_MS = 10 * MINUTE_MS;
/** Between two attempts of Lambda to start a function that has no room. */
const MAX_WAIT_MS = 5 * MINUTE_MS;
