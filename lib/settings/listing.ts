import { showPath } from './schema.ts';
import type { Environment } from './settings.ts';

/** A single setting with its full path. */
export interface ListedSetting {
  /** The path, in the form of error messages: `services.customer-insights.tokenPath`. */
  readonly path: string;
  readonly value: unknown;
  readonly source: 'written' | 'default';
}

/** Lists the settings of an environment, including defaults. */
export function listSettings(form: unknown, environment: Environment): readonly ListedSetting[] {
  const { name: _name, folder: _folder, ...settings } = environment;
  return listed(settings, form, []);
}

function listed(value: unknown, written: unknown, steps: readonly PropertyKey[]): ListedSetting[] {
  const entries = Object.entries(membersOf(value));
  const source = written === undefined ? 'default' : 'written';
  if (entries.length === 0) return [{ path: showPath(steps), value, source }];
  return entries.flatMap(([key, inner]) => {
    const step = Array.isArray(value) ? Number(key) : key;
    return listed(inner, membersOf(written)[key], [...steps, step]);
  });
}

/** Returns the members of an object or of a list of objects. A list of names is a single value. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return {};
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return {};
  return Object.fromEntries(Object.entries(value));
}
