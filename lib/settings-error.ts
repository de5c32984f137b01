import { z } from 'zod';
import { nearestName } from './nearest-name.ts';

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

/** What a schema makes of an input, or everything that does not fit. No reason quotes a value: it may be a secret. */
export function check<Schema extends z.ZodType>(schema: Schema, input: unknown): Checked<z.output<Schema>> {
  const { data, error } = schema.safeParse(input, { error: reasonFor });
  return { data, faults: (error?.issues ?? []).flatMap((issue) => faultsOfIssue(issue, [])) };
}

interface Checked<Data> {
  readonly data: Data | undefined;
  readonly faults: readonly Fault[];
}

function faultsOfIssue(issue: z.core.$ZodIssue, outer: Fault['path']): Fault[] {
  const path = [...outer, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], reason: unknownMember(key, issue.message) }));
  }
  if (issue.code === 'invalid_union') {
    // A form that fits but for something inside it says more than "none of the forms fits".
    const nearest = issue.errors.find((issues) =>
      issues.every((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
    );
    if (nearest !== undefined) return nearest.flatMap((inner) => faultsOfIssue(inner, path));
  }
  return [{ path, reason: issue.message }];
}

/** @param known the names of the members that there are, with commas between; nothing when they are not known */
function unknownMember(key: string, known: string): string {
  if (known === '') return 'is not a known member';
  const meant = nearestName(key, known.split(', '));
  return `is not a known member${meant === undefined ? '' : `, did you mean ${meant}?`} (known: ${known})`;
}

/** The reasons that are the same wherever they occur; the schema says the others. */
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
      // Completed by `unknownMember`, which knows the keys one by one.
      return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape).join(', ') : '';
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
