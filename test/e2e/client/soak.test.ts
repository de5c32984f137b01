// The client imports it with its first call, and no virtual clock waits for files.
import '@smithy/signature-v4';
import { expect, it } from 'vitest';
import { TokenBrokerError } from '../../../client/error.ts';
import { createTokenBroker, type TokenBroker } from '../../../client/token-broker.ts';
import { createTokenEndpoint } from '../../../functions/broker/http/token-endpoint.ts';
import { refreshAt } from '../../../functions/broker/pair/obtain-token.ts';
import { exchange } from '../../support/broker-world.ts';
import { BILLING } from '../../support/example.ts';
import { createFleet, type Instance } from '../../support/fleet/fleet.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const LIFETIMES = 6;
const WORKERS = 50;
const PROCESSES = 10;
const INSTANCES = 5;
const PAIRS = ['acme', 'globex'].flatMap((client) =>
  ['customer-insights', 'merchant-payment-cleansing'].map((service) => ({ client, service })),
);
/** The time from when a worker has a token until the service checks it. */
const ON_THE_WAY_MS = 500;

it.each([60, 3_600])(
  '50 workers use no expired token in six life times of %d s, and the broker requests no more tokens than those need',
  async (lifetimeSeconds) => {
    const lifetimeMs = lifetimeSeconds * 1_000;
    const { clock, requests, clients, random, endOf, counts } = createSoakWorld(lifetimeSeconds);
    const startedAt = clock.now();
    const expired: unknown[] = [];

    async function work(broker: TokenBroker): Promise<void> {
      while (clock.now() < startedAt + LIFETIMES * lifetimeMs) {
        const pair = anyOf(PAIRS, random);
        const token = await broker.token(pair).catch((error: unknown) => {
          if (!(error instanceof TokenBrokerError && error.type === 'network-error')) throw error;
          counts.failures += 1;
        });
        await clock.sleep(ON_THE_WAY_MS);
        counts.uses += 1;
        if (token && clock.now() >= endOf(token.accessToken)) expired.push({ pair, at: clock.now() - startedAt });
        await clock.sleep((lifetimeMs / 30) * random());
      }
    }
    await clock.run(Promise.all(clients.flatMap((broker) => Array(WORKERS / PROCESSES).fill(broker)).map(work)));

    expect(expired).toEqual([]);
    const elapsedMs = clock.now() - startedAt;
    const meanMsToRefresh = refreshAt({ expiresAt: lifetimeMs, lifetimeSeenMs: lifetimeMs }, 0.5);
    expect(requests.length).toBeLessThanOrEqual(PAIRS.length * (elapsedMs / meanMsToRefresh + 1));
    // In one life time each process asks for each pair about once, and again when it asked too early or got no answer.
    expect(counts.asks).toBeLessThanOrEqual(PROCESSES * PAIRS.length * LIFETIMES * 2);

    // The test proves something only if the workers worked, if requests were lost, and if tokens ended.
    expect(counts.uses).toBeGreaterThan(WORKERS * 180);
    expect(counts.lost).toBeGreaterThan(12);
    expect(requests.length).toBeGreaterThanOrEqual(PAIRS.length * (LIFETIMES - 1));
    expect(counts.failures).toBeGreaterThan(100);
  },
);

/** The real rules of the broker in several instances, and processes with the client, whose clocks are minutes off. */
function createSoakWorld(lifetimeSeconds: number) {
  const random = seededRandom(7);
  /** By token: when the service stops accepting it. */
  const ends = new Map<string, number>();
  const { clock, requests, createInstance } = createFleet({
    lifetimeSeconds,
    answer: (n, { at }) => {
      const token = n.toString(16).padStart(16, '0');
      ends.set(token, at + lifetimeSeconds * 1_000);
      return exchange(200, { access_token: token, expires_in: lifetimeSeconds });
    },
  });
  const endpoints = Array.from({ length: INSTANCES }, () =>
    endpointOf(createInstance({ skewMs: Math.round(1_000 * (random() - 0.5)) })),
  );
  const counts = { asks: 0, lost: 0, uses: 0, failures: 0 };
  const startedAt = clock.now();

  /** One request or answer in ten is lost on its way, and all in one life time: every token comes to its end. */
  async function fetchFromBroker(_: unknown, init: RequestInit | undefined): Promise<Response> {
    const lifetimes = (clock.now() - startedAt) / (lifetimeSeconds * 1_000);
    if (lifetimes > 4 && lifetimes < 5) throw new TypeError('fetch failed');
    counts.asks += 1;
    const fate = random();
    const endpoint = anyOf(endpoints, random);
    await clock.sleep(20 * random());
    const answer = fate < 0.05 ? undefined : await endpoint(String(init?.body));
    await clock.sleep(20 * random());
    if (answer !== undefined && fate >= 0.1)
      return new Response(answer.body, { ...answer, headers: { ...answer.headers } });
    counts.lost += 1;
    throw new TypeError('fetch failed');
  }

  const clients = Array.from({ length: PROCESSES }, () => {
    const skewMs = Math.round(6 * 60_000 * (random() - 0.5));
    return createTokenBroker({
      url: 'https://broker.example.com',
      region: 'eu-west-1',
      credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example-secret' },
      fetch: fetchFromBroker,
      now: () => clock.now() + skewMs,
      sleep: clock.sleep,
      random,
    });
  });
  return { clock, requests, clients, random, counts, endOf: (token: string) => ends.get(token) ?? 0 };
}

function endpointOf({ broker, now }: Instance) {
  const endpoint = createTokenEndpoint({ broker, rulesOf: () => [], audit: () => undefined, now });
  const request = { requestId: 'request-1', method: 'POST', path: '/token', query: '', caller: BILLING };
  return (text: string) => {
    const body = new TextEncoder().encode(text);
    return endpoint({ ...request, contentType: 'application/json', body, deadline: now() + 14_500 });
  };
}

function anyOf<T>(list: readonly T[], random: () => number): T {
  const [one] = list.slice(Math.floor(random() * list.length));
  if (one === undefined) throw new Error('the list is empty');
  return one;
}
