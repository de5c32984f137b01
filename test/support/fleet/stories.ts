import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFleetModel } from './model.ts';
import { COMMANDS } from './model-commands.ts';

/** CI tells more stories. Another seed and more of them: `FLEET_SEED=7 FLEET_SEQUENCES=50000`. */
const SEED = Number(process.env.FLEET_SEED ?? 20_260_101);
const SEQUENCES = Number(process.env.FLEET_SEQUENCES ?? (process.env.CI ? 4_000 : 300));

/** Of how many files each tells its part of the stories, so that workers can share them. */
const FILES = 4;

/** Tells a part of the stories, which begin with a seed of their own. */
export function tellStories(part: 0 | 1 | 2 | 3): void {
  const [seed, numRuns] = [SEED + part, Math.ceil(SEQUENCES / FILES)];
  it(`keeps every promise in ${numRuns} stories of a fleet (seed ${seed})`, { timeout: 3_600_000 }, async () => {
    const stories = fc.commands(COMMANDS, { maxCommands: 120, size: 'max' });
    const property = fc.asyncProperty(stories, async (commands) => {
      const fleet = createFleetModel();
      fleet.start(0);
      fleet.start(1_000);
      await fc.asyncModelRun(() => ({ model: {}, real: fleet }), commands);
      await fleet.verifyRecovery();
    });
    await expect(fc.assert(property, { seed, numRuns })).resolves.toBeUndefined();
  });
}
