import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runs } from '../../../support/aws/signers.ts';
import { type Dialogue, ISOLATED, PROGRAM } from './command-line.ts';

/** Whether there is something here that can play a terminal. */
export const hasTerminal = runs('python3', '-c', 'import pty');

interface Seen {
  readonly exitCode: number;
  /** Everything that the screen has shown, control characters included. */
  readonly screen: string;
}

/** Runs the command line at a terminal; each time that a text has been shown, something is typed. */
export async function runAtTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  dialogue: Dialogue,
): Promise<Seen> {
  const child = spawn('python3', [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const argv = [process.execPath, PROGRAM, ...args];
  child.stdin.end(JSON.stringify({ argv, env: { ...ISOLATED, TERM: 'xterm', ...env }, dialogue }));
  return JSON.parse(await text(child.stdout));
}

const SCRIPT = fileURLToPath(new URL('terminal.py', import.meta.url));
