import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Where the stacks of this test run are kept; a test that runs without the set-up has a folder for itself. */
export const SYNTHESISED = process.env.TOKEN_BROKER_SYNTHESISED ?? newFolder();

/** Makes the folder before the first test of a run, and removes it after the last one. */
export function setup(): () => void {
  process.env.TOKEN_BROKER_SYNTHESISED = SYNTHESISED;
  return () => rmSync(SYNTHESISED, { recursive: true, force: true });
}

function newFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'token-broker-stacks-'));
}
