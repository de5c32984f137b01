import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** The rooms of the broker, from the door inwards: each may use those behind it. */
const ROOMS = ['http', 'pair', 'token-request', 'token-response', 'credential'];
const fileOf = (room: string) => `../${room}/file.ts`;
const STORIES = ['../token-broker.ts', '../check-credential.ts'];
/** The houses that a person opens, and in which houses a file of each is refused: only `cli/local.ts` imports `local`. */
const HOUSES: Readonly<Record<string, RegExp>> = {
  'bin/app.ts': /^(functions|client|lib|cli|local)/,
  'cli/audit.ts': /^(functions|client|lib|bin|local)/,
  'cli/clients/put.ts': /^(functions|client|lib|bin|local)/,
  'cli/shared/checks.ts': /^(functions|client|lib|local)/,
  'local/start.ts': /^(functions|client|lib|bin|cli(?!\/local\.ts))/,
};
const ABOVE_BROKER = ['../../variables.ts', '../../health/rules/run.ts', '../../../client/error.ts', 'node:crypto'];

/** Further imports that are refused in files of each place. The code itself has those that are allowed. */
const PLANTED: Readonly<Record<string, readonly string[]>> = {
  'functions/broker/audit.ts': ['./pair/record.ts', './token-broker.ts', '../variables.ts', '../aws/calls.ts', 'zod'],
  'functions/broker/token-broker.ts': ['../variables.ts', 'node:crypto'],
  ...Object.fromEntries(
    ROOMS.map((room, index) => {
      const outer = ROOMS.slice(0, index).map(fileOf);
      return [`functions/broker/${room}/file.ts`, [...outer, ...(index === 0 ? [] : STORIES), ...ABOVE_BROKER]];
    }),
  ),
  'functions/health/notifications.ts': [
    '../broker/problem.ts',
    '../aws/dynamodb.ts',
    '../token-function.ts',
    '../../lib/environments.ts',
  ],
  'functions/health/rules/run.ts': [
    '../notifications.ts',
    '../../broker/problem.ts',
    '../../aws/calls.ts',
    '../../../client/error.ts',
    '@aws-sdk/client-sns',
    'node:crypto',
  ],
  'functions/aws/function-url.ts': ['../token-function.ts', '../../client/error.ts', '../../lib/settings/names.ts'],
  'functions/aws/log/emf.ts': ['../../token-function.ts', '../../../client/error.ts', '../../../lib/settings/names.ts'],
  'functions/token.ts': ['../client/error.ts', '../lib/settings/names.ts'],
  'functions/health.ts': ['../lib/settings/names.ts'],
  'functions/release-check-function.ts': ['../lib/settings/names.ts'],
  'functions/aws/pair-table/pair-state.ts': ['../../../client/error.ts'],
  'bin/app.ts': ['../test/support/example.ts', '../client/error.ts'],
  'lib/token-broker-stack.ts': ['../functions/token.ts', '../client/error.ts'],
  'lib/token/canary.ts': ['../environments.ts', '../../functions/token.ts', '../../client/error.ts'],
  'client/error.ts': ['../functions/variables.ts', '../functions/broker/pair.ts', '../lib/settings/names.ts'],
  'client/commands/doctor/reach.ts': ['../../token-broker.ts', '../../../functions/broker/pair.ts'],
  'client/commands/token.ts': ['../token-broker.ts', '../../functions/variables.ts', '../../lib/settings/names.ts'],
  'client/serve/server.ts': ['../token-broker.ts', '../commands/options.ts', '../../functions/broker/pair/record.ts'],
  'cli/health.ts': ['../client/error.ts', '../test/support/example.ts', '../local/config.ts', '../bin/stack.ts'],
  'cli/local.ts': ['../client/error.ts', '../test/support/example.ts'],
  'cli/doctor/stack.ts': ['../../client/serve/server.ts'],
  'cli/shared/secrets.ts': ['../../client/error.ts', '../../test/support/example.ts', '../../local/shell.ts'],
  'local/shell.ts': ['../client/error.ts', '../test/support/example.ts', '../cli/local.ts'],
  'local/page/overview.ts': ['../../client/error.ts', '../../bin/stack.ts'],
  'local/page/browser/page.tsx': ['../../../client/error.ts'],
};

const REFUSED = Object.fromEntries(
  Object.entries(PLANTED).map(([file, planted]) => {
    const root = '../'.repeat(file.split('/').length - 1);
    const houses = Object.keys(HOUSES).filter((house) => HOUSES[house]?.test(file));
    return [file, [...planted, ...houses.map((house) => `${root}${house}`)]];
  }),
);

let folder: string;
let faults: readonly Fault[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lint-'));
  for (const file of ['biome.json', '.gitignore']) cpSync(join(ROOT, file), join(folder, file));
  for (const [file, refused] of Object.entries(REFUSED)) {
    write(file, refused.map((imported) => `import '${imported}';\n`).join(''));
  }
  write('functions/broker/one/circle.ts', partOfCircle('../other/circle.ts'));
  write('functions/broker/other/circle.ts', partOfCircle('../one/circle.ts'));
  faults = await lint();
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the linter', () => {
  it.each(Object.entries(REFUSED))('refuses the forbidden imports of %s', (file, refused) => {
    const found = faults.filter(({ location, category }) => location.path === file && category.endsWith('Imports'));
    expect(new Set(found.map(({ location }) => refused[location.start.line - 1]))).toEqual(new Set(refused));
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
