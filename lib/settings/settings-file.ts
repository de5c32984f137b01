import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { SETTINGS_VARIABLE } from './names.ts';
import { check, like, recordOf, SettingsError } from './schema.ts';

/** The settings of all environments, with the folder of their certificate files. */
export interface SettingsFile {
  readonly folder: string;
  /** The environments as they are written. `parseEnvironment` checks them. */
  readonly environments: Readonly<Record<string, unknown>>;
  readonly organisation: z.output<typeof organisationSchema>;
  /** The context of the CDK: that of cdk.json, with the organisation's requirements. */
  readonly context: Readonly<Record<string, unknown>>;
}

/**
 * Reads the settings synchronously, because the parser of an option needs them.
 *
 * @throws SettingsError for a file that cannot be loaded, or that contains no settings
 */
export function readSettings(): SettingsFile {
  const { file, folder, name } = settingsPlace();
  if (name.trim() === '') throw new SettingsError(UNNAMED);
  // Without `--`, npm would let a command continue without the option: with other settings, or in earnest.
  const taken = OPTIONS.find((option) => process.env[`npm_config_${option.replace('-', '_')}`] !== undefined);
  if (taken !== undefined)
    throw new SettingsError(`npm has taken --${taken}: write -- before it (PowerShell: npm.cmd)`);
  const loaded = load(file);
  const { data, faults } = check(fileSchema, loaded);
  const names = Object.keys(loaded ?? {});
  if (names.includes('default') && !names.includes('environments')) throw new SettingsError(BY_DEFAULT);
  const similar = names.find((name) => /^organi[sz]/i.test(name) && name !== 'organisation');
  if (similar !== undefined) throw new SettingsError(`${similar}: is not a known member. Did you mean organisation?`);
  if (data === undefined) throw new SettingsError(faults);
  const { organisation, environments } = data;
  const { permissionsBoundary, bootstrapQualifier } = organisation;
  const required = {
    ...(permissionsBoundary && { [BOUNDARY]: { name: permissionsBoundary } }),
    ...(bootstrapQualifier && { [QUALIFIER]: bootstrapQualifier }),
  };
  const shared: SettingsFile['context'] = require('../../cdk.json').context;
  for (const [key, value] of Object.entries(required)) {
    if (isDeepStrictEqual(shared[key] ?? value, value)) continue;
    throw new SettingsError(`The organisation of the settings contradicts ${key} in cdk.json: remove one of the two`);
  }
  return { folder, environments, organisation, context: { ...shared, ...required } };
}

const UNNAMED = 'The name of the settings file is empty: name a file, or unset it to use lib/environments.ts';
const BY_DEFAULT = 'The file exports the environments by default: write export const environments = …';
const OPTIONS = ['settings', 'dry-run', 'execute', 'method', 'app', 'service', 'services', 'environment', 'region'];

/** The members of the context that concern the bootstrap. */
export const BOUNDARY = '@aws-cdk/core:permissionsBoundary';
export const QUALIFIER = '@aws-cdk/core:bootstrapQualifier';

/** The CDK's own qualifier. */
export const DEFAULT_QUALIFIER = 'hnb659fds';

/** Returns the sentence for a SettingsError, which begins with the name of the file. Throws any other error again. */
export function explainSettings(error: unknown): string {
  if (!(error instanceof SettingsError)) throw error;
  return `${settingsPlace().name.trim() || SETTINGS_VARIABLE}: ${error.message}`;
}

/** Returns the file of the settings, its folder, and its name in messages. */
function settingsPlace() {
  // A relative path counts from the folder where the person typed it. npm changes to the folder of the project.
  const { [SETTINGS_VARIABLE]: named, INIT_CWD = '.' } = process.env;
  const file = named === undefined ? SHIPPED : resolve(INIT_CWD, named);
  return { file, folder: dirname(file), name: named ?? 'lib/environments.ts' };
}

const SHIPPED = fileURLToPath(new URL('../environments.ts', import.meta.url));
const require = createRequire(import.meta.url);

function load(file: string): unknown {
  if (!/\.(m?ts|json)$/.test(file)) throw new SettingsError('The settings must be a file .ts, .mts or .json');
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new SettingsError(`There is no file ${file}`);
  try {
    return require(file);
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : { message: 'it throws no Error', stack: '' };
    // Node puts the place of a mistake in the syntax before the stack.
    const [, place = '', line] = /^(?:file:)?(\S.*):(\d+)\n/.exec(stack ?? '') ?? [];
    // JSON.parse quotes the text around a mistake, which may be a secret.
    const [reason] = message.replace(/^.*\.json: |, \.*".*(?= is not valid JSON$)/gs, '').split('\n', 1);
    // npm init writes "type": "commonjs", with which Node takes a file .ts for a script.
    const isScript = place.endsWith('.ts') && /^Unexpected token 'export'|^Cannot use import statement/.test(message);
    const byType = message.includes('not provide an export named') ? '. A type needs import type' : '';
    const advice = isScript ? `. Its package.json makes it CommonJS: name it ${basename(place, '.ts')}.mts` : byType;
    const where = line === undefined ? '' : `, line ${line}`;
    throw new SettingsError(`The file cannot be loaded${where}: ${reason}${advice}`);
  }
}

/** The requirements of an organisation on every stack and on its bootstrap. */
const organisationSchema = z.strictObject({
  // The name of a policy, because the bootstrap of the CDK accepts no ARN.
  permissionsBoundary: like(/^[\w+/=,.@-]{1,512}$/, 'must be the name of a managed policy, with its path').optional(),
  bootstrapQualifier: like(/^[a-z0-9]{1,10}$/, 'must be 1 to 10 lower-case letters and digits').optional(),
});

const fileSchema = z.object({
  environments: recordOf(() => undefined, z.unknown()).refine((all) => Object.keys(all).length > 0, {
    error: 'must have at least one environment',
  }),
  organisation: organisationSchema.default({}),
});
