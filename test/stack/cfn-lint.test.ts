import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { synthesise } from '../support/stack/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MISSING = spawnSync('cfn-lint', ['--version']).error !== undefined;
const WHY = MISSING ? ' (skipped: cfn-lint is not installed)' : '';

describe.skipIf(MISSING)(`cfn-lint, which has AWS's schemas of every region${WHY}`, () => {
  it.each(Object.entries(environments))('finds nothing wrong with the stack of %s', (name, form) => {
    const file = path.join(temporaryFolder(), `${name}.template.json`);
    writeFileSync(file, synthesise(name, form).text);
    // W3005: the CDK writes dependencies that follow from references, too.
    const args = ['--regions', form.region, '--ignore-checks', 'W3005', '--', file];
    const { stdout, status } = spawnSync('cfn-lint', args, { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });
});
