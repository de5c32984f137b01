import { isRecord } from '../json.ts';

type Members = Readonly<Record<string, unknown>>;

/** The names that lead to a member, from the outside in. */
export type MemberPath = readonly string[];

/** Writes a member's path without giving away a value of the answer. */
export type PrintPath = (path: MemberPath) => string;

/** One object of an answer and where it stands. */
export interface Level {
  readonly path: MemberPath;
  readonly members: Members;
}

/** A member of an answer, with the objects around it, the nearest first. */
export interface FoundMember {
  readonly path: MemberPath;
  readonly value: unknown;
  readonly around: readonly Level[];
}

/** Thrown while an answer is read, when no token can come of it; says what is wrong and which setting would help. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

/** `accessToken`, `access_token`, `Access-Token` and `access.token` are one name. */
export function plainName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? '' : name.toLowerCase().replace(/[-_. ]/g, '');
}

/**
 * The members of an answer down to two objects below the outermost, the outer ones first. An array of exactly one
 * stands for its entry; longer ones are not entered, nor is an object that belongs to a refresh token.
 */
export function listMembers(answer: unknown): readonly FoundMember[] {
  const found: FoundMember[] = [];
  const objects: FoundMember[] = [{ path: [], value: answer, around: [] }];
  // Grows while it is walked, so that the outer members come first.
  for (const object of objects) {
    const level = enter(object.value, object.path);
    if (level === undefined) continue;
    const around = [level, ...object.around];
    for (const [name, value] of Object.entries(level.members)) {
      if (found.length === MAX_MEMBERS) return found;
      const member = { path: [...level.path, name], value, around };
      found.push(member);
      if (around.length <= MAX_DEPTH && !plainName(name).startsWith('refresh')) objects.push(member);
    }
  }
  return found;
}

/**
 * The member at a dotted path such as `data.token`, exactly as written; `$` is the answer itself. A name that holds
 * dots itself is found first, and an array of exactly one needs no index.
 */
export function memberAt(answer: unknown, dottedPath: string): FoundMember | undefined {
  const root: FoundMember = { path: [], value: answer, around: [] };
  return dottedPath === '$' ? root : memberBelow(root, dottedPath);
}

function memberBelow(outer: FoundMember, dottedPath: string): FoundMember | undefined {
  const level = enter(outer.value, outer.path, dottedPath);
  if (level === undefined) return undefined;
  const name = Object.hasOwn(level.members, dottedPath) ? dottedPath : dottedPath.replace(/\..*$/s, '');
  if (!Object.hasOwn(level.members, name)) return undefined;
  const member = { path: [...level.path, name], value: level.members[name], around: [level, ...outer.around] };
  return name === dottedPath ? member : memberBelow(member, dottedPath.slice(name.length + 1));
}

/** The object that a value is or, for an array, holds: its only entry, or all of them when an index is asked for. */
function enter(value: unknown, path: MemberPath, rest = ''): Level | undefined {
  if (isRecord(value)) return { path, members: value };
  if (!Array.isArray(value)) return undefined;
  if (/^\d+(?:\.|$)/.test(rest)) return { path, members: { ...value } };
  const only: unknown = value.length === 1 ? value[0] : undefined;
  return isRecord(only) ? { path: [...path, '0'], members: only } : undefined;
}

const MAX_NAME_LENGTH = 64;
const MAX_MEMBERS = 1_000;
const MAX_DEPTH = 2;
