import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const MIB = 1_024 * 1_024;
/** The memory of the token function. */
const FUNCTION_MIB = 512;

it('1 500 pairs with the largest tokens and secrets stay far below the memory of the function', async () => {
  const script = fileURLToPath(new URL('cache-memory-process.ts', import.meta.url));
  // A heap in which 1 000 of each have no room.
  const execArgv = ['--expose-gc', '--max-old-space-size=112'];
  const child = fork(script, { execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);

  expect(message).toMatchObject({ issued: 1_500 });
  expect(message.heapBytes).toBeLessThan(80 * MIB);
  expect(message.maxBytes).toBeLessThan(0.85 * FUNCTION_MIB * MIB);
}, 120_000);
