import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:timers/promises';

/**
 * From now on a second of this process takes as many seconds of the machine as `factor` says: Date and
 * timers run slower, while computing and the network are as fast as ever. Hundreds of instances, of
 * which each has a machine of its own in Lambda, have on a few processors the time that they would have there.
 *
 * @param since when all processes began to be slow, epoch milliseconds
 */
export function slowDown(factor: number, since: number): void {
  const { now } = Date;
  const { setTimeout } = globalThis;
  const { setTimeout: sleep } = promises;
  Date.now = () => since + (now() - since) / factor;
  globalThis.setTimeout = Object.assign(
    (call: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => setTimeout(call, ms * factor, ...given),
    setTimeout,
  );
  promises.setTimeout = (ms, ...rest) => sleep((ms ?? 0) * factor, ...rest);
  syncBuiltinESMExports();
}
