import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { InstanceAnswer } from '../support/processes/instance-fleet.ts';
import { startInstanceFleet } from '../support/processes/instance-fleet.ts';

const INSTANCES = 12;
/** Of each instance: 100 a second in all. */
const PAUSE_MS = (1_000 * INSTANCES) / 100;
/** 300 000 plays the outage of docs/scale.md. */
const OUTAGE_MS = Number(process.env.FLEET_OUTAGE_MS ?? 15_000);
/** Three limits of 500 ms, the polls between them, and what a busy machine adds. */
const FIRST_WAIT_MS = 3_000;

it('12 instances of the bundle send nothing while the table is dead, and have a token soon after it is back', async (test) => {
  const fleet = await startInstanceFleet({
    clients: ['warm', 'refused', 'cold'],
    processes: 3,
    slowness: 1,
    lifetimeSeconds: OUTAGE_MS / 1_000 + 3_600,
    isFaulty: true,
  });
  test.onTestFinished(() => fleet.close());
  let refused: string | undefined;
  const ask = (instance: number, client: string) =>
    fleet.ask(instance, client, client === 'refused' ? { refused } : {});
  const all = Array.from({ length: INSTANCES }, (_, instance) => instance);
  for (const instance of all) await ask(instance, 'warm');
  for (const instance of all) await ask(instance, 'refused');
  ({ fingerprint: refused } = (await ask(0, 'refused')).body);
  // Memory confirms no refusal, and an unknown fingerprint only for a second.
  await sleep(1_000);

  fleet.failWith('hang');
  const begun = { at: Date.now(), requests: fleet.tokenService.requests.length };
  const backAt = begun.at + OUTAGE_MS;
  const answers: (InstanceAnswer & { readonly client: string; readonly at: number })[] = [];
  const call = async (instance: number) => {
    for (let n = instance; Date.now() < backAt; n += 1) {
      const client = ['warm', 'refused', 'cold'][n % 3] ?? 'cold';
      answers.push({ client, ...(await ask(instance, client)), at: Date.now() });
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(all.map(call));
  const sent = fleet.tokenService.requests.length - begun.requests;
  fleet.failWith(undefined);
  const until = async (client: string) => {
    for (;;) {
      const { status } = await ask(0, client);
      if (status === 200) return Math.round((Date.now() - backAt) / 100) / 10;
      await sleep(250);
    }
  };
  const first = { cold: await until('cold'), refused: await until('refused') };

  const kinds = Map.groupBy(answers, ({ client, body: { type = 'token' } }) => `${client}: ${type}`);
  const waitedMs = Math.round(answers.reduce((sum, { waitMs }) => sum + waitMs, 0));
  const late = answers.filter(({ waitMs }) => waitMs > 100).length;
  const counts = [...kinds].map(([kind, { length }]) => `${length} ${kind}`).join(', ');
  process.stdout.write(
    `${answers.length} calls in ${OUTAGE_MS / 1_000} s without the table: ${counts}; ${sent} token requests; ` +
      `${late} waited, all together ${waitedMs / 1_000} s; first token after ${first.cold} s and ${first.refused} s\n`,
  );
  expect(sent).toBe(0);
  expect([...kinds.keys()].sort()).toEqual(['cold: table-unavailable', 'refused: table-unavailable', 'warm: token']);
  expect(waitedMs).toBeLessThan(INSTANCES * (FIRST_WAIT_MS + OUTAGE_MS / 10));
  expect(first.cold).toBeLessThan(12);
});
