import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { SETTINGS_VARIABLE } from '../../../lib/settings/names.ts';
import { explainSettings, readSettings } from '../../../lib/settings/settings-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

afterEach(() => vi.unstubAllEnvs());

describe('the file of the settings', () => {
  it('is lib/environments.ts without the variable', () => {
    vi.stubEnv(SETTINGS_VARIABLE, undefined);
    const { folder, organisation, ...settings } = readSettings();
    expect([path.basename(folder), organisation]).toEqual(['lib', {}]);
    expect(settings.environments).toEqual(environments);
    expect(settings.context).not.toHaveProperty('@aws-cdk/core:bootstrapQualifier');
  });

  it.each([
    ['environments.ts', 'export const environments: Readonly<Record<string, object>> = { dev: {} };'],
    ['environments.json', '{ "environments": { "dev": {} } }'],
    ['environments.mts', 'export const environments: object = { dev: {} };'],
  ])('is %s in the folder where the person stands', (name, content) => {
    const folder = named(name, content, true);
    expect(readSettings()).toMatchObject({ folder: path.join(folder, 'org'), environments: { dev: {} } });
  });

  it('names what the organisation requires of each stack, for the CDK', () => {
    named('a.json', withOrganisation({ permissionsBoundary: 'team/bounds', bootstrapQualifier: 'broker1' }));
    expect(readSettings().context).toMatchObject({
      '@aws-cdk/core:permissionsBoundary': { name: 'team/bounds' },
      '@aws-cdk/core:bootstrapQualifier': 'broker1',
      '@aws-cdk/core:checkSecretUsage': true,
    });
  });

  const WITHOUT = 'export const all = {};';
  it.each<[what: string, name: string, content: string, sentence: RegExp | string]>([
    ['that does not exist', 'other/environments.ts', '', /There is no file \/.*environments\.ts$/],
    ['of another kind', 'environments.js', WITHOUT, 'The settings must be a file .ts, .mts or .json'],
    ['that is a script', 'environments.cts', WITHOUT, 'The settings must be a file .ts, .mts or .json'],
    ['that is a copy', 'environments.ts.old', WITHOUT, 'The settings must be a file .ts, .mts or .json'],
    ['with a mistake in its syntax', 'a.ts', `${'\n'.repeat(10)}export const = ;`, /loaded, line 11: \S/],
    ['with an enum', 'a.ts', 'export enum Place { Here }', /loaded, line 1: TypeScript enum is not supported/],
    ['that throws', 'a.ts', "throw new Error('No account\\nhere');", 'The file cannot be loaded: No account'],
    ['with another file that is not there', 'a.ts', "import './no.ts';", /loaded: Cannot find module '\/.*no\.ts' /],
    // @see nodejs/node#58503
    [
      'that imports a type as a value',
      'a.ts',
      "import { OfNobody } from 'node:fs';\nexport const environments: OfNobody = {};",
      /does not provide an export named 'OfNobody'\. A type needs import type$/,
    ],
    ['below node_modules', 'node_modules/a/a.ts', WITHOUT, /Stripping types is currently unsupported .* node_modules/],
    ['with broken JSON', 'a.json', '{"environments":{"a":"marked",}}', /loaded: Expected .* \(line 1 column \d+\)$/],
    ['with JSON that is no JSON', 'a.json', 'marked', /loaded: Unexpected token '.' is not valid JSON$/],
    ['with a comment in JSON', 'a.json', '// marked\n{}', /loaded: Unexpected token '\/' is not valid JSON$/],
    ['that waits', 'a.mts', 'await 0;', /loaded: require\(\) cannot .* top-level await/],
    ['that exports by default', 'a.mts', 'export default { dev: {} };', /by default: write export const environments /],
    ['without environments', 'a.ts', WITHOUT, inOnePlace('environments: is missing')],
    ['with a list', 'a.json', '{ "environments": [] }', inOnePlace('environments: must be an object')],
    ['with none', 'a.json', '{"environments":{}}', inOnePlace('environments: must have at least one environment')],
    ['that is a list', 'a.json', '[]', inOnePlace('the file: must be an object')],
    [
      'with a boundary that is no name',
      'a.json',
      withOrganisation({ permissionsBoundary: 'arn:aws:iam::111111111111:policy/bounds' }),
      inOnePlace('organisation.permissionsBoundary: must be the name of a managed policy, with its path'),
    ],
    [
      'with a qualifier that the CDK would refuse',
      'a.json',
      withOrganisation({ bootstrapQualifier: 'token-broker' }),
      inOnePlace('organisation.bootstrapQualifier: must be 1 to 10 lower-case letters and digits'),
    ],
    [
      'with an unknown requirement',
      'a.json',
      withOrganisation({ qualifier: 'broker1' }),
      /organisation\.qualifier: is not a known member \(known: permissionsBoundary, bootstrapQualifier\)$/,
    ],
    [
      'with an organisation in the other spelling',
      'a.mts',
      'export const [environments, organization] = [{ dev: {} }, {}];',
      'organization: is not a known member. Did you mean organisation?',
    ],
  ])('%s is refused with one sentence that names it', (_, name, content, sentence) => {
    if (name === 'other/environments.ts') vi.stubEnv(SETTINGS_VARIABLE, path.join(temporaryFolder(), name));
    else named(name, content);
    const said = refusal();
    expect(said).toContain(`${process.env[SETTINGS_VARIABLE]}: `);
    expect(said.slice(said.indexOf(': ') + 2)).toEqual(
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    );
    expect(said).not.toMatch(/marked| {4}at /);
  });

  describe('in a folder of npm init, whose package.json says "type": "commonjs"', () => {
    it('is read as .mts, and as a script', () => {
      for (const [name, content] of [
        ['a.mts', 'export const environments = { dev: {} };'],
        ['a.ts', 'module.exports = { environments: { dev: {} } };'],
      ] as const) {
        commonJs(name, content);
        expect(readSettings()).toMatchObject({ environments: { dev: {} } });
      }
    });

    it.each([
      ['that exports', 'export const environments = {};', "Unexpected token 'export'"],
      ['that imports', "import './b.ts';", 'Cannot use import statement outside a module'],
    ])('is refused as .ts %s, with the name that is read', (_, content, reason) => {
      commonJs('a.ts', content);
      const advice = 'Its package.json makes it CommonJS: name it a.mts';
      expect(refusal()).toMatch(new RegExp(`a\\.ts: The file cannot be loaded, line 1: ${reason}\\. ${advice}$`));
    });

    it('is refused with the name of the file that it imports', () => {
      const folder = commonJs('a.mts', "import './b.ts';\nexport const environments = {};");
      writeFileSync(path.join(folder, 'org/b.ts'), 'export const b = 1;');
      expect(refusal()).toMatch(/: name it b\.mts$/);
    });
  });

  it.each(['', '  '])('is refused when its name is %j, like a variable that a pipeline does not set', (name) => {
    vi.stubEnv(SETTINGS_VARIABLE, name);
    expect(refusal()).toMatch(/^TOKEN_BROKER_ENVIRONMENTS_FILE: The name of the settings file is empty: .* or unset/);
  });

  // Without `--`, as in `npm run deploy prod --settings FILE`.
  /** @see release-it/release-it#435, mario-andreschak/FLUJO#510 */
  it.each([
    ['--settings', 'npm_config_settings', 'true'],
    ['--dry-run', 'npm_config_dry_run', 'true'],
    ['--execute', 'npm_config_execute', ''],
  ])('is refused when npm has taken %s', (option, name, value) => {
    vi.stubEnv(name, value);
    expect(refusal()).toMatch(`npm has taken ${option}: write -- before it `);
  });
});

it('an error that is not about the settings is thrown again', () => {
  expect(() => explainSettings(new TypeError('a defect'))).toThrow('a defect');
});

/** Writes a file, and names it in the variable: as it is, or relative to the folder where the person stands. */
function named(name: string, content: string, isRelative = false): string {
  const folder = temporaryFolder();
  const file = path.join(folder, 'org', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  vi.stubEnv(SETTINGS_VARIABLE, isRelative ? `./org/${name}` : file);
  vi.stubEnv('INIT_CWD', isRelative ? folder : '/nonexistent');
  return folder;
}

/** Writes a file next to the package.json of `npm init -y`, and names it in the variable. */
function commonJs(name: string, content: string): string {
  const folder = named(name, content);
  writeFileSync(path.join(folder, 'org/package.json'), '{"name":"settings","type":"commonjs"}');
  return folder;
}

function refusal(): string {
  try {
    readSettings();
  } catch (error) {
    return explainSettings(error);
  }
  throw new Error('The file is not refused.');
}

function inOnePlace(fault: string): string {
  return `The settings are wrong in one place:\n${fault}`;
}

function withOrganisation(organisation: object): string {
  return JSON.stringify({ environments: { dev: {} }, organisation });
}
