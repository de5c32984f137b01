import { z } from 'zod';
import { NAME_PATTERN } from '../../functions/vocabulary.ts';

/** A string in which `faultOf` finds no fault. */
export function text(faultOf: FaultOf) {
  return z.string().superRefine((value, context) => {
    const reason = faultOf(value);
    if (reason !== undefined) context.addIssue(reason);
  });
}

/** Why a text is wrong, or `undefined`; the reason must not quote it. */
export type FaultOf = (text: string) => string | undefined;

/** A list without duplicates. */
export function listOf<Item extends z.ZodType>(item: Item, keyOf: (item: z.output<Item>) => unknown = (one) => one) {
  return z.array(item).superRefine((items, context) => {
    const keys = items.map(keyOf);
    for (const index of keys.keys()) {
      if (keys.indexOf(keys[index]) < index)
        context.addIssue({ code: 'custom', path: [index], message: 'is there twice' });
    }
  });
}

/** An object with any member names in which `faultOf` finds no fault. */
export function recordOf<Value extends z.ZodType>(faultOf: FaultOf, value: Value) {
  return z.record(z.string(), value).superRefine((record, context) => {
    for (const name of Object.keys(record)) {
      const message = faultOf(name);
      if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message });
    }
  });
}

/** Why a text cannot name a client or a service. An access rule says `all` for all of them. */
export function nameFault(name: string): string | undefined {
  if (name === 'all') return "must not be called 'all'";
  return NAME_PATTERN.test(name)
    ? undefined
    : 'must be 1 to 63 letters, digits or . _ - and start with a letter or digit';
}

/** One wrong place in the settings. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
}

/** Names every wrong place, one a line: `environments.dev.account: must be 12 digits in quotes`. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(faults: readonly Fault[]) {
    const lines = faults.map(({ path, reason }) => `${showPath(path)}: ${reason}`);
    super(
      `The settings are wrong in ${lines.length === 1 ? 'one place' : `${lines.length} places`}:\n${lines.join('\n')}`,
    );
  }
}

/** Parses an input, or lists everything that is wrong in it. No reason quotes a value: it may be a secret. */
export function check<Schema extends z.ZodType>(schema: Schema, input: unknown) {
  const { data, error } = schema.safeParse(input, { error: reasonFor });
  const faults = (error?.issues ?? []).flatMap((issue) => faultsOfIssue(issue, []));
  // Of a text that stands where a list must be, zod judges the length too: each place has one reason.
  const places = Map.groupBy(faults, ({ path }) => showPath(path));
  return { data, faults: [...places.values()].flatMap(([first]) => first ?? []) };
}

function faultsOfIssue(issue: z.core.$ZodIssue, outer: Fault['path']): Fault[] {
  const path = [...outer, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], reason: issue.message }));
  }
  if (issue.code === 'invalid_union') {
    // The faults inside the form that was probably meant say more than "none of the forms fits".
    const nearest = issue.errors.find((issues) =>
      issues.every((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
    );
    if (nearest !== undefined) return nearest.flatMap((inner) => faultsOfIssue(inner, path));
  }
  return [{ path, reason: issue.message }];
}

/** The reasons that are the same for every member; the schemas say the others. */
function reasonFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(' or ')}`;
    case 'too_small':
      return `must ${issue.origin === 'number' ? 'be' : 'have'} at least ${issue.minimum}`;
    case 'too_big':
      return `must ${issue.origin === 'number' ? 'be' : 'have'} at most ${issue.maximum}`;
    case 'unrecognized_keys':
      return issue.inst instanceof z.ZodObject
        ? `is not a known member (known: ${Object.keys(issue.inst.shape).join(', ')})`
        : 'is not a known member';
    default:
      return undefined;
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** A place in the settings, as messages name it. */
export function showPath(path: Fault['path']): string {
  return path.length === 0 ? 'the file' : path.map((step, index) => showStep(step, index === 0)).join('');
}

/** A name that holds a dot or white space is quoted, so that a path can be read in one way only. */
function showStep(step: PropertyKey, isFirst: boolean): string {
  if (typeof step === 'number') return `[${step}]`;
  const name = String(step);
  if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`;
  return isFirst ? name : `.${name}`;
}
