import { startProcesses, WARM_UP } from '../../test/fleet/cold-wave.ts';
import { ask, askAtOnce, type Fleet, startFleet } from '../../test/fleet/fleet.ts';
import type { EnvironmentAnswer, EnvironmentProcess } from '../../test/support/environment-process.ts';

/** What a fleet of 200 environments, in 8 processes around one DynamoDB, asked the token service for. */
export interface FleetWaves {
  readonly coldTokenRequests: number;
  readonly softWindowTokenRequests: number;
  /** How many environments, the refresher apart, took as long to answer as the token service did. */
  readonly softWindowWaiting: number;
}

/** All environments ask for the token of one pair: cold, at the same instant; then again in the token's soft window. */
export async function measureFleet(): Promise<FleetWaves> {
  const fleet = await startFleet({
    clients: [WARM_UP, 'acme'],
    lifetimeSeconds: LIFETIME_SECONDS,
    slowness: SLOWNESS,
  });
  try {
    const processes = await startProcesses(fleet, SLOWNESS, SERVICE_MS);
    await askAtOnce(processes, ENVIRONMENTS, 'acme');
    const coldTokenRequests = requestsOf(fleet);

    const answers = (await Promise.all(processes.map(askInSoftWindow))).flat();
    return {
      coldTokenRequests,
      softWindowTokenRequests: requestsOf(fleet) - coldTokenRequests,
      softWindowWaiting: answers.filter(isWaiting).length,
    };
  } finally {
    await fleet.close();
  }
}

/** Of each process: others than those that have warmed it up. */
const ENVIRONMENTS = Array.from({ length: 25 }, (_, index) => 100 + index);
/** The clocks of the environments go that much slower, so that this machine has the time of 200. */
const SLOWNESS = 10;
const SERVICE_MS = 300;
const LIFETIME_SECONDS = 3_600;

/** The window is the last fifth of the life time, give or take a tenth of that. */
const UNTIL_SOFT_WINDOW_SECONDS = 2_980;

/** One environment of a process after the other, else they would wait for each other's share of the processor. */
async function askInSoftWindow(process: EnvironmentProcess): Promise<readonly EnvironmentAnswer[]> {
  await process.order({ advanceMs: UNTIL_SOFT_WINDOW_SECONDS * 1_000 });
  const answers: EnvironmentAnswer[] = [];
  for (const environment of ENVIRONMENTS) answers.push(await ask(process, environment, { client: 'acme' }));
  return answers;
}

function requestsOf({ tokenService }: Fleet): number {
  return tokenService.requests.filter(({ client }) => client === 'acme').length;
}

function isWaiting({ waitMs, audit }: EnvironmentAnswer): boolean {
  return audit.TokenRequests === 0 && waitMs >= SERVICE_MS;
}
