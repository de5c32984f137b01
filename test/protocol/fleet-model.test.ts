import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFleetModel } from '../support/fleet/model.ts';
import { COMMANDS } from '../support/fleet/model-commands.ts';

/** CI tells more stories. Another seed and more of them: `FLEET_SEED=7 FLEET_SEQUENCES=50000`. */
const SEED = Number(process.env.FLEET_SEED ?? 20_260_101);
const SEQUENCES = Number(process.env.FLEET_SEQUENCES ?? (process.env.CI ? 4_000 : 300));

it(`keeps every promise in ${SEQUENCES} stories of a fleet (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const stories = fc.commands(COMMANDS, { maxCommands: 120, size: 'max' });
  const property = fc.asyncProperty(stories, async (commands) => {
    const fleet = createFleetModel();
    fleet.start(0);
    fleet.start(1_000);
    await fc.asyncModelRun(() => ({ model: {}, real: fleet }), commands);
    await fleet.verifyRecovery();
  });
  await expect(fc.assert(property, { seed: SEED, numRuns: SEQUENCES })).resolves.toBeUndefined();
});
