import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface RedoclyRun {
  readonly isOk: boolean;
  /** Standard output and standard error. */
  readonly output: string;
}

/** Runs the Redocly CLI with the settings of redocly.yaml; it asks the network nothing. */
export function runRedocly(...args: readonly string[]): Promise<RedoclyRun> {
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], { cwd: ROOT, env }, (error, stdout, stderr) =>
      resolve({ isOk: error === null, output: stdout + stderr }),
    );
  });
}

const CLI = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Otherwise it looks for a newer version of itself, and counts its runs. */
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_NOTIFICATIONS: 'true' };
