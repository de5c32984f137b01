import { z } from 'zod';
import { showPath } from './schema.ts';
import { type Environment, environmentSchema } from './settings.ts';

/** A single setting with its full path. */
export interface ListedSetting {
  /** The path, in the form of error messages: `services.customer-insights.tokenPath`. */
  readonly path: string;
  /** The value, or `undefined` without a default. */
  readonly value: unknown;
  readonly source: 'written' | 'default' | 'not set';
}

/** Lists all settings of an environment, including defaults and settings that are not set. */
export function listSettings(form: unknown, environment: Environment): readonly ListedSetting[] {
  const { name: _name, folder, ...settings } = environment;
  return listed(environmentSchema(folder), settings, form, []);
}

function listed(schema: unknown, value: unknown, written: unknown, steps: readonly PropertyKey[]): ListedSetting[] {
  const values = membersOf(value);
  if (Object.keys(values).length === 0) {
    const source = value === undefined ? 'not set' : written === undefined ? 'default' : 'written';
    return [{ path: showPath(steps), value, source }];
  }
  const shape = shapeOf(schema);
  return Object.keys({ ...shape, ...values }).flatMap((key) => {
    const step = Array.isArray(value) ? Number(key) : key;
    return listed(shape[key] ?? elementOf(schema), values[key], membersOf(written)[key], [...steps, step]);
  });
}

/** Returns the members of an object or of a list of objects. A list of names is a single value. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return {};
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return {};
  return Object.fromEntries(Object.entries(value));
}

/** Returns the members that a schema allows, also of a schema with a default and of a union. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return shapeOf(schema.unwrap());
  if (schema instanceof z.ZodUnion) return shapeOf(schema.options.find((option) => option instanceof z.ZodObject));
  return schema instanceof z.ZodObject ? schema.shape : {};
}

function elementOf(schema: unknown): unknown {
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
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
