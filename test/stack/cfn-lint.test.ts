import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { environments } from '../../lib/environments.ts';
import { synthesise } from '../support/stack/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MISSING = spawnSync('cfn-lint', ['--version']).error !== undefined;
const WHY = MISSING ? ' (skipped: cfn-lint is not installed)' : '';

it.skipIf(MISSING)(
  `cfn-lint, which has AWS's schemas of every region, finds nothing wrong with any stack${WHY}`,
  () => {
    const folder = temporaryFolder();
    const files = Object.entries(environments).map(([name, form]) => {
      const file = path.join(folder, `${name}.template.json`);
      writeFileSync(file, synthesise(name, form).text);
      return file;
    });
    const regions = new Set(Object.values(environments).map(({ region }) => region));
    // W3005: the CDK writes dependencies that follow from references, too.
    const args = ['--regions', ...regions, '--ignore-checks', 'W3005', '--', ...files];
    const { stdout, status } = spawnSync('cfn-lint', args, { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  },
);
