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

/** The prefix of the metadata keys that list a role's access. `npm run diff` searches for it. */
export const ACCESS_KEY = 'Access of ';

/** Lists access by role, then by operation and service, for the template. The code asset shows only another hash. */
export function listAccess(rules: Environment['accessRules']) {
  const access: Record<string, Record<string, readonly string[]>> = {};
  for (const { role, clients, services, operations } of rules) {
    const own = access[`${ACCESS_KEY}${role}`] ?? {};
    access[`${ACCESS_KEY}${role}`] = own;
    for (const operation of operations) {
      for (const service of services === 'all' ? ['all services'] : services) {
        const what = `${operation} on ${service}`;
        own[what] = [...new Set([...(own[what] ?? []), ...(clients === 'all' ? ['all'] : clients)])].toSorted();
      }
    }
  }
  return access;
}
