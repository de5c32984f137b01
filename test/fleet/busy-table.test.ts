import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it, type TestContext } from 'vitest';
import type { StoreLimits } from '../../functions/aws/pair-table/circuit-breaker.ts';
import { type InstanceAnswer, startInstanceFleet } from '../support/processes/instance-fleet.ts';

const INSTANCES = 40;
const LIFETIME_SECONDS = 20;
const BUSY_MS = 20_000;
/** The processes of the fleet share a machine, whose pauses must not count as outages. */
const PATIENT = { timeoutMs: 5_000 };

/** The processes share processors, so a secret may come too late. */
const KNOWN = ['credential-rejected', 'secrets-unavailable'];

// Each fleet mostly waits, so they share the machine.
describe.concurrent('40 instances of the bundle', () => {
  it.for([0.5, 1])(
    'send no more than they need in 20 s of a table that throttles a share of %d',
    async (share, test) => {
      const { expect } = test;
      const fleet = await startBusyFleet(test);
      // All of them were cold, and asked at the same instant.
      expect(fleet.tokenService.requests).toHaveLength(1);
      const startedAt = Date.now();
      fleet.failWhere(() => (Math.random() < share ? throttle : undefined));
      const over = sleep(BUSY_MS).then(() => fleet.failWhere(() => undefined));
      const answers = (await Promise.all(['acme', 'wrong'].map((client) => askAll(fleet, client, over)))).flat();

      const requests = fleet.tokenService.requests.filter(({ at }) => at >= startedAt);
      const accepted = requests.filter(({ ok }) => ok).length;
      const rejected = requests.length - accepted;
      const longestMs = Math.round(Math.max(...answers.map(({ waitMs }) => waitMs)));
      const kinds = Map.groupBy(answers, ({ body: { type = 'token' } }) => type);
      const counts = [...kinds].map(([kind, { length }]) => `${length} ${kind}`).join(', ');
      // Measured, not asserted: times on a shared machine are for people.
      print(`busy ${share}: ${accepted} requests, ${rejected} rejections, longest wait ${longestMs} ms; ${counts}`);

      expect(rejected).toBeLessThanOrEqual(3);
      // The token of 20 s that they had, and at most two more.
      expect(accepted).toBeLessThanOrEqual(2);
      const known = ['token', ...KNOWN, ...(share === 1 ? ['table-unavailable'] : [])];
      expect([...kinds.keys()].filter((kind) => !known.includes(kind))).toEqual([]);
      expect(kinds.get('token')?.length).toBeGreaterThan(INSTANCES);
    },
  );

  it('send a wrong credential three times at most while writes are throttled late and one call in twenty is slow', async (test) => {
    const fleet = await startBusyFleet(test, {});
    const slow = () => ({ delayMs: 200 + 400 * Math.random() });
    const throttleLate = (response: ServerResponse) => void setTimeout(throttle, 100, response);
    let share = 1;
    fleet.failWhere(({ operation }) => {
      if (operation === 'UpdateItem' && Math.random() < share) return throttleLate;
      return Math.random() < 0.05 ? slow() : undefined;
    });
    setTimeout(() => {
      share = 0.5;
    }, BUSY_MS / 2);
    const answers = await askAll(fleet, 'wrong', sleep(BUSY_MS));
    fleet.failWhere(() => undefined);
    answers.push(await fleet.ask(0, 'wrong'));

    const rejected = fleet.tokenService.requests.filter(({ ok }) => !ok).length;
    const kinds = new Set(answers.map(({ body: { type = 'token' } }) => type));
    print(`writes throttled late: ${rejected} rejections; ${answers.length} answers: ${[...kinds].join(', ')}`);
    const { expect } = test;
    expect(rejected).toBeLessThanOrEqual(3);
    expect([...kinds].filter((kind) => ![...KNOWN, 'table-unavailable'].includes(kind))).toEqual([]);
  });

  it('send nothing in 20 s of a table that never answers, and have a token soon after it is back', async (test) => {
    const fleet = await startBusyFleet(test, { timeoutMs: 2_000 });
    fleet.failWhere(() => () => undefined);
    const over = sleep(BUSY_MS);
    const answers = (await Promise.all(['acme', 'wrong'].map((client) => askAll(fleet, client, over)))).flat();
    const { expect } = test;
    expect(new Set(answers.map(({ body: { type = 'token' } }) => type))).toEqual(
      new Set(['token', 'table-unavailable']),
    );
    expect(fleet.tokenService.requests).toHaveLength(1);

    fleet.failWhere(() => undefined);
    const backAt = Date.now();
    await expect
      .poll(async () => (await fleet.ask(0, 'acme')).body.type, { interval: 500, timeout: 30_000 })
      .toBeUndefined();
    print(`dead table: ${answers.length} answers; a token ${Date.now() - backAt} ms after it was back`);
    expect(fleet.tokenService.requests).toHaveLength(2);
  });
});

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function throttle(response: ServerResponse): void {
  response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
  response.end('{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}');
}

/** The start of the last fleet. 40 cold instances need the whole machine, so fleets start one after the other. */
let lastStart: Promise<unknown> = Promise.resolve();

/** 40 instances of the bundle, warm for `acme`, whose table can be made busy. */
function startBusyFleet({ onTestFinished }: TestContext, storeLimits: StoreLimits = PATIENT) {
  const start = lastStart.then(async () => {
    const clients = ['acme', 'wrong'];
    const fleet = await startInstanceFleet({ clients, processes: 4, lifetimeSeconds: LIFETIME_SECONDS, storeLimits });
    onTestFinished(() => fleet.close());
    await Promise.all(Array.from({ length: INSTANCES }, (_, instance) => fleet.ask(instance, 'acme')));
    return fleet;
  });
  lastStart = start.catch(() => undefined);
  return start;
}

type Fleet = Awaited<ReturnType<typeof startInstanceFleet>>;

/** Every instance asks again a second after each of its answers. */
async function askAll(fleet: Fleet, client: string, over: Promise<unknown>): Promise<InstanceAnswer[]> {
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  const loop = async (instance: number) => {
    const answers: InstanceAnswer[] = [];
    while (!isOver) {
      answers.push(await fleet.ask(instance, client));
      await sleep(1_000);
    }
    return answers;
  };
  return (await Promise.all(Array.from({ length: INSTANCES }, (_, instance) => loop(instance)))).flat();
}
