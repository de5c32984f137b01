import { expect, it } from 'vitest';
import { askCold, startProcesses, WARM_UP } from './cold-wave.ts';
import { print, startFleet } from './fleet.ts';

/** The first waves find the compiler at work; in Lambda each environment has a machine for that. */
const UNMEASURED = 3;
const MEASURED = Number(process.env.FLEET_WAVES ?? 5);

/** For machines that are busy with something else. */
const TIMEOUT_MS = 300_000;

/**
 * One machine does the work of 200 here, so how many token requests they make depends on its processors and on what else
 * they do: that is printed, for people, and `cold-start.test.ts` proves it. Expected is what holds on any machine.
 */
it(
  '200 cold environments that ask at the same instant, in real time, get a token of the service or are told to come again',
  async () => {
    const clients = Array.from({ length: UNMEASURED + MEASURED }, (_, index) => `client-${index + 1}`);
    const fleet = await startFleet({ clients: [WARM_UP, ...clients] });
    try {
      const processes = await startProcesses(fleet, 1);
      let single = 0;
      for (const [index, client] of clients.entries()) {
        const wave = await askCold(fleet, processes, { client, first: 100 * (index + 1) });
        expect(wave.answers).toHaveLength(200);
        for (const { status, body } of wave.answers) {
          if (status === 200) expect(fleet.tokenService.issued(body.access_token ?? '')).toBe(true);
          else expect([503, 504]).toContain(status);
        }
        if (index < UNMEASURED) continue;
        if (wave.tokenRequests === 1) single += 1;
        print(`in real time, ${wave.tokenRequests} token requests, ${wave.description}`);
      }
      print(`in real time, ${single} of ${MEASURED} times 200 cold environments made one token request`);
    } finally {
      await fleet.close();
    }
  },
  TIMEOUT_MS,
);
