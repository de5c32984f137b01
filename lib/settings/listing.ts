import { z } from 'zod';
import { type Environment, environmentSchema } from './environment.ts';
import { showPath } from './schema.ts';

/** One setting, down to its last step. */
export interface ListedSetting {
  /** As the messages about wrong settings write it: `services.customer-insights.tokenPath`. */
  readonly path: string;
  /** `undefined` when it is not set and has no default. */
  readonly value: unknown;
  readonly source: 'written' | 'default' | 'not set';
}

/** All settings of an environment, those that `form` leaves to their defaults and those that could be set too. */
export function listSettings(form: unknown, { name: _name, ...settings }: Environment): readonly ListedSetting[] {
  return listed(environmentSchema, settings, form, []);
}

function listed(schema: unknown, value: unknown, written: unknown, steps: readonly PropertyKey[]): ListedSetting[] {
  const inner = unwrapped(schema);
  const members = membersOf(value);
  if (members === undefined || members.length === 0) {
    const source = value === undefined ? 'not set' : written === undefined ? 'default' : 'written';
    return [{ path: showPath(steps), value, source }];
  }
  const keys = inner instanceof z.ZodObject ? Object.keys(inner.shape) : members.map(([key]) => key);
  const values = new Map(members);
  const writtenMembers = new Map(membersOf(written));
  return keys.flatMap((key) => {
    const step = Array.isArray(value) ? Number(key) : key;
    return listed(schemaOf(inner, key), values.get(key), writtenMembers.get(key), [...steps, step]);
  });
}

/** The members of an object, or of a list of objects; a list of names is one value. */
function membersOf(value: unknown): [key: string, value: unknown][] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return undefined;
  return Object.entries(value);
}

function schemaOf(schema: unknown, key: string): unknown {
  if (schema instanceof z.ZodObject) return schema.shape[key];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
}

/** Without what only says whether it may be left out, and of several forms the one that has members. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return unwrapped(schema.unwrap());
  }
  if (schema instanceof z.ZodUnion) return schema.options.find((option) => option instanceof z.ZodObject);
  return schema;
}
