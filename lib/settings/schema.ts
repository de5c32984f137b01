import { z } from 'zod';
import { NAME_PATTERN } from '../../functions/vocabulary.ts';

/** A schema for strings in which `faultOf` finds no fault. */
export function text(faultOf: FaultOf) {
  return z.string().superRefine((value, context) => {
    const reason =
      faultOf(value) ?? (/\bundefined\b/.test(value) ? 'contains undefined: is a variable unset?' : undefined);
    if (reason !== undefined) context.addIssue(reason);
  });
}

/** A schema for strings that match the pattern. Otherwise the reason is `reason`. */
export function like(pattern: RegExp, reason: string) {
  return text((value) => (pattern.test(value) ? undefined : reason));
}

/** Returns why a text is wrong, or `undefined`. The reason must not quote the text. */
export type FaultOf = (text: string) => string | undefined;

/** A schema for lists without duplicates. */
export function listOf<Item extends z.ZodType>(item: Item, keyOf: (item: z.output<Item>) => unknown = (key) => key) {
  return z.array(item).superRefine((items, context) => {
    const keys = items.map(keyOf);
    for (const index of keys.keys()) {
      if (keys.indexOf(keys[index]) < index)
        context.addIssue({ code: 'custom', path: [index], message: 'is a duplicate' });
    }
  });
}

/** A schema for objects with any members in which `faultOf` finds no fault. */
export function recordOf<Value extends z.ZodType>(
  faultOf: (name: string, value: z.output<Value>) => string | undefined,
  schema: Value,
) {
  return z.record(z.string(), schema).superRefine((record, context) => {
    for (const [name, value] of Object.entries(record)) {
      const message = faultOf(name, value);
      if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message });
    }
  });
}

/** Returns why a text cannot name a client or a service. Access rules reserve `all`. */
export function nameFault(name: string): string | undefined {
  if (name === 'all') return "must not be named 'all'";
  return NAME_PATTERN.test(name)
    ? undefined
    : 'must be 1 to 63 letters, digits or . _ - and start with a letter or digit';
}

/** A fault in the settings, and its place. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
}

/** A sentence, or every fault on a line of its own: `environments.dev.account: must be 12 digits in quotes`. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(wrong: string | readonly Fault[]) {
    super(typeof wrong === 'string' ? wrong : listFaults(wrong));
  }
}

function listFaults(faults: readonly Fault[]): string {
  const lines = faults.map(({ path, reason }) => `${showPath(path)}: ${reason}`);
  const places = lines.length === 1 ? 'one place' : `${lines.length} places`;
  return `The settings are wrong in ${places}:\n${lines.join('\n')}`;
}

/** Parses an input and lists all its faults. A reason never quotes a value, because it may be a secret. */
export function check<Schema extends z.ZodType>(schema: Schema, input: unknown) {
  // A schema is made for each reading: compiling it would take longer than the parse.
  const { data, error } = schema.safeParse(input, { error: reasonFor, jitless: true });
  const faults = (error?.issues ?? []).flatMap((issue) => faultsOfIssue(issue, []));
  // Keeps the first reason of each place, because zod also reports the length of a string that should be a list.
  const places = Map.groupBy(faults, ({ path }) => showPath(path));
  return { data, faults: [...places.values()].flatMap(([first]) => first ?? []) };
}

function faultsOfIssue(issue: z.core.$ZodIssue, outer: Fault['path']): Fault[] {
  const path = [...outer, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], reason: issue.message }));
  }
  if (issue.code === 'invalid_union') {
    // Reports the faults of the most similar option, which help more than a fault of the union.
    const nearest = issue.errors.find((issues) =>
      issues.every((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
    );
    if (nearest !== undefined) return nearest.flatMap((inner) => faultsOfIssue(inner, path));
  }
  return [{ path, reason: issue.message }];
}

/** Returns the reasons that all members share. The schemas contain the others. */
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

/** Returns a place in the settings, in the form of messages. */
export function showPath(path: Fault['path']): string {
  return path.length === 0 ? 'the file' : path.map((step, index) => showStep(step, index === 0)).join('');
}

/** Quotes a name with a dot or white space, so that a path is unambiguous. */
function showStep(step: PropertyKey, isFirst: boolean): string {
  if (typeof step === 'number') return `[${step}]`;
  const name = String(step);
  if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`;
  return isFirst ? name : `.${name}`;
}
