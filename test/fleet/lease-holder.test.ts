import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ask, askAtOnce, describeWaits, type Fleet, print, SERVICE, startFleet, TABLE } from './fleet.ts';

const LEASE_MS = 6_000;
const SERVICE_MS = 2_000;
const SLOWNESS = 3;
const ENVIRONMENTS = [1, 2, 3, 4, 5];
const OTHERS = 3 * ENVIRONMENTS.length;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({ clients: ['warm-up', 'acme', 'globex'], slowness: SLOWNESS });
});
afterAll(() => fleet.close());

// Side by side, because a lease takes its real time.
describe.concurrent('when the holder of the lease, in the middle of its token request,', () => {
  it('is killed, everyone else has a token soon after its lease, by one more token request', async ({ expect }) => {
    const { holder, others } = await askWhileRequested('acme');
    await holder.kill();
    const answers = (await others).flatMap((report) => report.answers);

    const goalMs = (LEASE_MS + SERVICE_MS) * 1.1;
    print(`holder killed: ${describeWaits(answers)} (goal: ${goalMs} ms), ${requestsOf('acme')} token requests`);
    expect(answers.map(({ status }) => status)).toEqual(Array(OTHERS).fill(200));
    expect(requestsOf('acme')).toBe(2);
    expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1);
    // One second more than the goal, for a machine that has other things to do.
    expect(Math.max(...answers.map(({ waitMs }) => waitMs))).toBeLessThan(goalMs + 1_000);
  });

  it('is frozen, and thaws when another one has published, it writes nothing any more', async ({ expect }) => {
    const { holder, ofHolder, others } = await askWhileRequested('globex');
    holder.freeze();
    const answers = (await others).flatMap((report) => report.answers);
    expect(answers.map(({ status }) => status)).toEqual(Array(OTHERS).fill(200));

    const [published, { calls }] = [await readItem('globex'), await thawed()];
    await ofHolder;
    const { calls: later } = await holder.order({});
    expect(later.UpdateItem).toBe(calls.UpdateItem);
    expect(await readItem('globex')).toEqual(published);
    expect(requestsOf('globex')).toBe(2);

    async function thawed() {
      const before = holder.order({});
      holder.thaw();
      return before;
    }
  });
});

/** One environment asks; as soon as the service knows of it, those of three other processes do. */
async function askWhileRequested(client: string) {
  const [holder, ...processes] = Array.from({ length: 4 }, () => fleet.startProcess());
  if (holder === undefined) throw new Error('no process');
  for (const each of [holder, ...processes]) await ask(each, 0, { client: 'warm-up' });

  fleet.tokenService.latency(SERVICE_MS * SLOWNESS, { client, service: SERVICE });
  const ofHolder = holder.order({ environments: [1], body: { client, service: SERVICE } });
  await vi.waitFor(() => expect(requestsOf(client)).toBe(1), { timeout: 15_000, interval: 20 });
  return { holder, ofHolder, others: askAtOnce(processes, ENVIRONMENTS, client) };
}

function requestsOf(client: string): number {
  return fleet.tokenService.requests.filter((request) => request.client === client).length;
}

async function readItem(client: string) {
  const command = new GetItemCommand({ TableName: TABLE, Key: { pair: { S: `${client}/${SERVICE}` } } });
  return (await fleet.dynamodbClient.send(command)).Item;
}
