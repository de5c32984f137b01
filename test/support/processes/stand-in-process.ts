import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts a stand-in of AWS in a process of its own, so that a burst of calls to it shares no processor with others. */
export async function startStandInProcess(
  which: 'dynamodb' | 'secrets-manager',
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const child = fork(PROGRAM, [which], { execArgv: [] });
  const ended = once(child, 'exit');
  const [url]: unknown[] = await Promise.race([once(child, 'message'), ended]);
  if (typeof url !== 'string') throw new Error(`the stand-in of ${which} has ended`);
  return {
    url,
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const PROGRAM = fileURLToPath(new URL('./stand-in-process-main.ts', import.meta.url));
