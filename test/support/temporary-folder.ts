import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder that lasts as long as the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
