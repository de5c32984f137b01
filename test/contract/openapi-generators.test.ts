import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const isThere = existsSync('tools/openapi/node_modules');
const title = isThere ? '' : ' (skipped: npm ci --prefix tools/openapi installs what it needs)';

describe.skipIf(!isThere)(`a generator${title}`, () => {
  it.each(['openapi', 'serve'])('finds nothing wrong in docs/%s.yaml, and types each member of an error', (name) => {
    const { types, found } = generate(`docs/${name}.yaml`);
    expect(found).toEqual([]);
    // The answer of an API behind `serve` has any type, and an object may have further members.
    const unknown = types
      .split('\n')
      .filter((line) => /^(?! *\/\*).*unknown/.test(line) && !/\[(name|key): string\]/.test(line));
    expect(unknown.map((line) => line.trim())).toEqual(
      name === 'serve' ? ['"application/json": unknown;', '"*/*": unknown;'] : [],
    );
    if (name === 'openapi')
      expect(types).toMatch(/AwsError: \{[^}]*message\?: string;[^}]*Message\?: string \| null;[^}]*\};/);
  });
});

/** Runs the generators on a description, with the TypeScript that they need. */
function generate(file: string): { readonly types: string; readonly found: readonly string[] } {
  const { stdout, stderr } = spawnSync(process.execPath, ['tools/openapi/generate.js', file], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}
