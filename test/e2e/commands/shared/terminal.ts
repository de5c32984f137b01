import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runs } from '../../../support/aws/signers.ts';
import { type Dialogue, ISOLATED, PROGRAM } from './command-line.ts';

/** Whether there is something here that can play a terminal. */
export const hasTerminal = runs('python3', '-c', 'import pty');

/** Runs the command line at a terminal, where a person types; tells all that its screen shows, control characters too. */
export async function runAtTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  dialogue: Dialogue,
) {
  const child = spawn('python3', [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const argv = [process.execPath, PROGRAM, ...args];
  child.stdin.end(JSON.stringify({ argv, env: { ...ISOLATED, TERM: 'xterm', ...env }, dialogue }));
  const seen: { readonly exitCode: number; readonly screen: string } = JSON.parse(await text(child.stdout));
  return seen;
}

const SCRIPT = fileURLToPath(new URL('terminal.py', import.meta.url));
