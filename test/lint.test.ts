import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** The rooms of the broker, from the door inwards: each may use those behind it. */
const ROOMS = ['http', 'pair', 'token-request', 'token-response', 'credential'];
const fileOf = (room: string) => `../${room}/file.ts`;

/** The imports that are allowed and refused in files of each place. */
const ARROWS: Readonly<Record<string, { readonly allowed: readonly string[]; readonly refused: readonly string[] }>> = {
  'functions/broker/audit.ts': {
    allowed: ['./pair.ts', './authorize.ts', '../contract.ts'],
    refused: [
      './pair/record.ts',
      './http/request.ts',
      './token-broker.ts',
      '../environment.ts',
      '../aws/calls.ts',
      '../../client/error.ts',
      'node:crypto',
      'zod/mini',
      'zod',
    ],
  },
  'functions/broker/token-broker.ts': {
    allowed: ['./pair/record.ts', './check-credential.ts', './audit.ts', '../contract.ts'],
    refused: ['../environment.ts', '../aws/calls.ts', 'node:crypto'],
  },
  ...Object.fromEntries(
    ROOMS.map((room, index) => [
      `functions/broker/${room}/file.ts`,
      {
        allowed: ['./other.ts', '../audit.ts', '../../contract.ts', ...ROOMS.slice(index + 1).map(fileOf)],
        refused: [
          ...['health', ...ROOMS.slice(0, index)].map(fileOf),
          ...(room === 'http' ? [] : ['../token-broker.ts', '../check-credential.ts']),
          ...['../../environment.ts', '../../aws/calls.ts', '../../../client/error.ts', 'node:crypto', 'zod/mini'],
        ],
      },
    ]),
  ),
  'functions/broker/health/file.ts': {
    allowed: ['./other.ts', '../pair.ts', '../../contract.ts'],
    refused: [...ROOMS.map(fileOf), '../token-broker.ts', '../check-credential.ts', '../../environment.ts'],
  },
  'functions/aws/function-url.ts': {
    allowed: ['./log/emf.ts', '../broker/pair/pair.ts', '../environment.ts', 'node:crypto', '@smithy/signature-v4'],
    refused: ['../token-function.ts', '../../client/error.ts', '../../lib/settings/names.ts'],
  },
  'functions/aws/log/emf.ts': {
    allowed: ['./audit-log.ts', '../sealing/sealing.ts', '../../broker/pair/pair.ts', '../../contract.ts'],
    refused: ['../../token-function.ts', '../../../client/error.ts', '../../../lib/settings/names.ts'],
  },
  'functions/token.ts': {
    allowed: ['./aws/log/emf.ts', './broker/pair/pair.ts', './contract.ts', 'node:crypto'],
    refused: ['../client/error.ts', '../lib/settings/names.ts', '../bin/app.ts'],
  },
  ...Object.fromEntries(
    ['health.ts', 'health-function.ts', 'release-check.ts', 'release-check-function.ts'].map((file) => [
      `functions/${file}`,
      { allowed: ['./aws/log/emf.ts', '../client/error.ts'], refused: ['../lib/settings/names.ts'] },
    ]),
  ),
  'bin/app.ts': { allowed: ['../lib/token-broker-stack.ts'], refused: ['../test/support/example.ts'] },
  'lib/token-broker-stack.ts': {
    allowed: ['./token/canary.ts', '../functions/environment.ts', '../functions/contract.ts', 'aws-cdk-lib'],
    refused: ['../functions/token.ts', '../functions/broker/pair.ts', '../client/error.ts', '../bin/app.ts'],
  },
  'lib/token/canary.ts': {
    allowed: ['./lambda-function.ts', '../settings/names.ts', 'aws-cdk-lib', '../../functions/contract.ts'],
    refused: ['../environments.ts', '../../functions/token.ts', '../../client/error.ts', '../../bin/app.ts'],
  },
  'client/error.ts': {
    allowed: ['./sign.ts', '../functions/contract.ts', '@smithy/signature-v4'],
    refused: ['../functions/environment.ts', '../functions/broker/pair.ts', '../lib/settings/names.ts'],
  },
  'client/commands/token.ts': {
    allowed: ['../index.ts', './options.ts', '../serve/server.ts', '../../functions/contract.ts', 'commander'],
    refused: ['../token-broker.ts', '../../functions/environment.ts', '../../lib/settings/names.ts'],
  },
  'client/serve/server.ts': {
    allowed: ['../index.ts', './key.ts', '../../functions/contract.ts', '../../functions/broker/http/request.ts'],
    refused: [
      ...[
        '../token-broker.ts',
        '../commands/options.ts',
        '../../functions/environment.ts',
        '../../functions/aws/calls.ts',
      ],
      ...[
        '../../functions/broker/pair/record.ts',
        '../../functions/broker/token-broker.ts',
        '../../lib/settings/names.ts',
      ],
    ],
  },
  'bin/commands/client.ts': {
    allowed: [
      './client/put.ts',
      '../../lib/settings/names.ts',
      '../../client/index.ts',
      '../../client/commands/main.ts',
    ],
    refused: ['../../client/error.ts', '../../test/support/example.ts'],
  },
  'bin/commands/shared/checks.ts': {
    allowed: ['../client/put.ts', '../../app.ts', '../../../client/index.ts'],
    refused: ['../../../client/error.ts', '../../../test/support/example.ts'],
  },
};

let folder: string;
let faults: readonly Fault[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lint-'));
  for (const file of ['biome.json', '.gitignore']) cpSync(join(ROOT, file), join(folder, file));
  for (const [file, { allowed, refused }] of Object.entries(ARROWS)) {
    write(file, [...allowed, ...refused].map((imported) => `import '${imported}';\n`).join(''));
  }
  write('functions/broker/one/circle.ts', partOfCircle('../other/circle.ts'));
  write('functions/broker/other/circle.ts', partOfCircle('../one/circle.ts'));
  faults = await lint();
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the linter', () => {
  it.each(Object.entries(ARROWS))('refuses exactly the forbidden imports of %s', (file, { allowed, refused }) => {
    const imports = [...allowed, ...refused];
    const found = faults.filter(({ location, category }) => location.path === file && category.endsWith('Imports'));
    expect(new Set(found.map(({ location }) => imports[location.start.line - 1]))).toEqual(new Set(refused));
  });

  it('refuses a circle of two rooms, even one of types', () => {
    const found = faults.filter(({ location }) => location.path.endsWith('/circle.ts'));
    expect(found.map(({ category }) => category)).toEqual(Array(2).fill('lint/suspicious/noImportCycles'));
  });
});

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BIOME = fileURLToPath(import.meta.resolve('@biomejs/biome/bin/biome'));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

function partOfCircle(next: string): string {
  return `import type { Part as Next } from '${next}';\n\nexport interface Part {\n  readonly next: Next;\n}\n`;
}

interface Fault {
  readonly category: string;
  readonly location: { readonly path: string; readonly start: { readonly line: number } };
}

/** Biome's findings in all files, in their order; it exits with 1 because there are some. */
function lint(): Promise<readonly Fault[]> {
  const args = [BIOME, 'lint', '--reporter=json', '--max-diagnostics=none'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder }, (_, stdout, stderr) => {
      if (stdout.startsWith('{')) resolve(JSON.parse(stdout).diagnostics);
      else reject(new Error(`Biome gave no report: ${stderr}`));
    });
  });
}
