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
  `cfn-lint, which has AWS's schemas of every region, finds nothing wrong with a stack that has every option${WHY}`,
  () => {
    const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'], all: true };
    const logDestinationArn = 'arn:aws:logs:eu-west-1:999999999999:destination:siem';
    const options = { vpc, logDestinationArn, trail: {}, tracing: true, provisionedConcurrency: 1 };
    const file = path.join(temporaryFolder(), 'template.json');
    writeFileSync(file, synthesise('prod', { ...environments.prod, ...options }).text);
    // W3005: the CDK writes dependencies that follow from references, too.
    const args = ['--regions', 'eu-west-1', '--ignore-checks', 'W3005', '--', file];
    const { stdout, status } = spawnSync('cfn-lint', args, { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  },
);
