import { isRecord } from '../json.ts';
import type { Redacted } from '../redacted.ts';
import { type Content, openText, type TokenResponse } from './content.ts';
import { MAX_NAME_LENGTH, plainName } from './names.ts';
import type { PrintPath } from './shape.ts';

/** An answer, read up to its members. */
export interface Answer {
  readonly response: TokenResponse;
  readonly content: Content;
  /** The members of the outermost object and two levels below, in this order, without the inside of a refresh token. */
  readonly members: readonly FoundMember[];
  readonly print: PrintPath;
}

/** An object of an answer, with its path. */
export interface Level {
  readonly path: readonly string[];
  readonly members: Readonly<Record<string, unknown>>;
}

/** A member of an answer, with the objects around it, the nearest object first. */
export interface FoundMember {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly around: readonly Level[];
}

/** An answer without a usable token. The message names the fault and the setting that would help. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
  /** The token, if it had only expired when it arrived. */
  readonly lapsed: Redacted | undefined;

  constructor(message: string, lapsed?: Redacted) {
    super(message);
    this.lapsed = lapsed;
  }
}

/** Lists the `members` of an answer with this content. */
export function listMembers(content: Content): readonly FoundMember[] {
  const found: FoundMember[] = [];
  const objects = [rootOf(content)];
  // The loop extends the list that it walks. Outer members come first.
  for (const object of objects) {
    const level = enter(object);
    if (level === undefined) continue;
    for (const name of Object.keys(level.members)) {
      if (found.length === MAX_MEMBERS) return found;
      const member = memberOf(level, name, object);
      found.push(member);
      const mayBeOfRefresh = name.length > MAX_NAME_LENGTH || plainName(name).startsWith('refresh');
      if (member.around.length <= MAX_DEPTH && !mayBeOfRefresh) objects.push(member);
    }
  }
  return found;
}

/** Returns the member at an exact dotted path such as `data.token` or `tokens.1`. The path `$` is the content. */
export function memberAt(content: Content, dottedPath: string): FoundMember | undefined {
  let member = rootOf(content);
  for (const name of dottedPath === '$' ? [] : dottedPath.split('.')) {
    const level = enter(member, name);
    if (level === undefined || !Object.hasOwn(level.members, name)) return undefined;
    member = memberOf(level, name, member);
  }
  return member;
}

/** Returns a header as a member of the outermost object. */
export function headerAt({ response: { headers }, content }: Answer, name: string): FoundMember | undefined {
  const header = name.toLowerCase();
  const level = enter(rootOf(content));
  const around = level ? [level] : [];
  return Object.hasOwn(headers, header) ? { path: [header], value: headers[header], around } : undefined;
}

function rootOf({ value }: Content): FoundMember {
  return { path: [], value, around: [] };
}

function memberOf(level: Level, name: string, { around }: FoundMember): FoundMember {
  return { path: [...level.path, name], value: level.members[name], around: [level, ...around] };
}

/**
 * Returns an object as it is, also from a JSON text. An array yields its only entry, or all its entries if the name is
 * an index.
 */
function enter({ value: written, path }: FoundMember, name = ''): Level | undefined {
  const value = openText(written);
  if (isRecord(value)) return { path, members: value };
  if (!Array.isArray(value)) return undefined;
  if (/^\d+$/.test(name)) return { path, members: { ...value } };
  const only: unknown = value.length === 1 ? value[0] : undefined;
  return isRecord(only) ? { path: [...path, '0'], members: only } : undefined;
}

const MAX_MEMBERS = 1_000;
const MAX_DEPTH = 2;
