import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const COMMAND = 'moto_server';

/** Whether `moto_server`, which is not from npm, can be started here. */
export const motoIsInstalled = (process.env.PATH ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, COMMAND)));

/** Starts moto, which plays the APIs of AWS in memory, on a free port of 127.0.0.1. */
export async function startMoto(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const child = spawn(COMMAND, ['-H', '127.0.0.1', '-p', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const started = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
      if (started !== undefined) resolve(started);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`moto_server ended with ${code}: ${said}`)));
  });
  return {
    url,
    close: async () => {
      child.kill();
      await ended;
    },
  };
}
