import { createHealthLog } from '../../../functions/aws/log/health-log.ts';
import { createHealthWorld } from '../health-world.ts';

/** The real rules of health, run after run, and the lines that their log writes meanwhile. */
export function createHealthDay() {
  const lines: string[] = [];
  const day = createHealthWorld();
  const log = createHealthLog({ environment: 'test', now: day.clock.now, write: (line) => lines.push(line) });

  return {
    ...day,
    lines,
    /** As many intervals, with a run at the beginning of each. */
    runs: async (count: number) => {
      for (let run = 0; run < count; run++) {
        const startedAt = day.clock.now();
        const records = day.recorded.length;
        const result = await day.clock.run(day.start());
        for (const record of day.recorded.slice(records)) log.check(record);
        log.run(result);
        await day.clock.advance(startedAt + day.world.intervalMs - day.clock.now());
      }
    },
    /** As many intervals without a run. */
    silence: (count: number) => day.clock.advance(count * day.world.intervalMs),
  };
}
