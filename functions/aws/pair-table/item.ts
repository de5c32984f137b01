import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { membersOf, parseJson, textOf } from '../../broker/json.ts';
import type { PairRecord, Rejection, VisibleToken, Wait } from '../../broker/pair/record.ts';
import { EMPTY_RECORD } from '../../broker/pair/record.ts';
import type { ShapeReport } from '../../broker/problem.ts';
import { EXPIRY_SOURCES, FINDINGS, PROBLEMS, type ProblemType } from '../../vocabulary.ts';
import { forgetAt, json, text } from '../attributes.ts';
import type { SealedToken } from '../sealing/sealing.ts';

/** The attributes of a pair in the table: each member of the record as JSON, and the token's sealed bytes. */
export type Item = Readonly<Record<string, AttributeValue>>;

/**
 * Returns a record without its token. A malformed member counts as missing, and an unknown attribute is ignored, so
 * that no item and no newer release can make a pair unreadable.
 */
export function readMembers(item: Item): PairRecord {
  return {
    lease: readAll(memberOf(item, 'lease'), LEASE),
    token: undefined,
    attemptedAt: numberOf(memberOf(item, 'attemptedAt')) ?? EMPTY_RECORD.attemptedAt,
    forcedAt: numberOf(memberOf(item, 'forcedAt')) ?? EMPTY_RECORD.forcedAt,
    rejected: readMap(memberOf(item, 'rejected'), (value) => readAll(value, REJECTION)),
    held: readMap(memberOf(item, 'held'), (value) => readWait(value, 'token-endpoint-error')),
    pause: readWait(memberOf(item, 'pause'), 'token-endpoint-unavailable'),
    checked: readAll(memberOf(item, 'checked'), CHECKED),
    // The attribute is a stop in any form.
    disabled: 'disabled' in item ? { since: numberOf(membersOf(memberOf(item, 'disabled')).since) ?? 0 } : undefined,
  };
}

/** Returns the attributes of all members except token and operators' flag. A write removes undefined attributes. */
export function memberAttributes({ token: _, disabled, ...members }: PairRecord, now: number): Partial<Item> {
  const attributes = Object.entries(members).map(([name, value]) => {
    const stored = value instanceof Map ? value.size > 0 && Object.fromEntries(value) : value;
    return [name, stored ? json(stored) : undefined] as const;
  });
  // The table's expiry never deletes an item without a date, so no latch and no stop is forgotten.
  const isKept = members.rejected.size > 0 || disabled !== undefined;
  return { ...Object.fromEntries(attributes), forgetAt: isKept ? undefined : forgetAt(now) };
}

/** Returns the attributes of a token: its visible part and its sealed bytes. */
export function tokenAttributes(token: SealedToken | undefined) {
  return {
    token: token && json({ ...token.visible, keyVersion: token.keyVersion }),
    sealed: token && { B: token.bytes },
  };
}

/** Returns the readable part of an item's token. The seal is valid only together with every visible value. */
export function readToken(item: Item): { readonly visible: VisibleToken; readonly sealed?: SealedToken } | undefined {
  const members = memberOf(item, 'token');
  const visible = readAll<VisibleToken>(members, VISIBLE);
  if (visible === undefined) return undefined;
  const keyVersion = textOf(membersOf(members).keyVersion);
  const bytes = item.sealed?.B;
  if (!(bytes instanceof Uint8Array) || keyVersion === undefined) return { visible };
  return { visible, sealed: { bytes, keyVersion, visible } };
}

const VISIBLE: Readers<VisibleToken> = {
  fingerprint: textOf,
  credentialVersion: textOf,
  tokenType: textOf,
  expirySource: oneOf(EXPIRY_SOURCES),
  issuedAt: numberOf,
  expiresAt: numberOf,
  refreshAt: numberOf,
  lifetimeSeenMs: numberOf,
  sameTokenAgain: (value) => (typeof value === 'boolean' ? value : undefined),
};

const LEASE = { id: textOf, until: numberOf };
const CHECKED = { version: textOf, at: numberOf, finding: oneOf(FINDINGS) };
const REJECTION: Readers<Rejection> = {
  count: (value) => (typeof value === 'number' && value >= 1 ? Math.ceil(value) : undefined),
  at: numberOf,
  by: (value) => textOf(value) ?? '',
};

/** A missing attribute is not parsed: an empty item would cost a parser error with a stack for each member. */
function memberOf(item: Item, name: string): unknown {
  const value = text(item[name]);
  return value === undefined ? undefined : parseJson(value);
}

function readMap<Entry>(value: unknown, read: (value: unknown) => Entry | undefined): ReadonlyMap<string, Entry> {
  const entries = Object.entries(membersOf(value)).map(([name, one]) => [name, read(one)] as const);
  return new Map(entries.flatMap(([name, entry]) => (entry ? [[name, entry] as const] : [])));
}

/** A hold or a pause counts even if a newer release wrote a reason that is unknown to this release. */
function readWait(value: unknown, unknownType: ProblemType): Wait | undefined {
  const unknown = { type: unknownType, detail: 'The last token request failed.' };
  const problem = (stored: unknown) => readProblem(stored) ?? unknown;
  const wait = readAll<Omit<Wait, 'unheard'>>(value, { until: numberOf, step: numberOf, problem });
  return wait && { ...wait, ...(membersOf(value).unheard === true && { unheard: true }) };
}

function readProblem(value: unknown): Wait['problem'] | undefined {
  const problem = readAll<Omit<Wait['problem'], 'shape'>>(value, { type: oneOf(PROBLEM_TYPES), detail: textOf });
  const { shape } = membersOf(value);
  // Checks nothing further, because the report is only printed.
  const isReport = Array.isArray(membersOf(shape).members);
  return problem && { ...problem, ...(isReport && { shape: shape as ShapeReport }) };
}

type Readers<All> = { readonly [Name in keyof All]: (value: unknown) => All[Name] | undefined };

/** Returns all members of a JSON object, or `undefined` if any member is missing or malformed. */
function readAll<All>(value: unknown, readers: Readers<All>): All | undefined {
  const members = membersOf(value);
  const names = Object.keys(readers) as (keyof All & string)[];
  const read = names.map((name) => [name, readers[name](members[name])] as const);
  return read.some(([, one]) => one === undefined) ? undefined : (Object.fromEntries(read) as All);
}

function oneOf<Known extends string>(known: readonly Known[]) {
  return (value: unknown) => known.find((one) => one === value);
}

/** Rejects numbers that are too large for a double, which JSON may contain. */
function numberOf(value: unknown): number | undefined {
  return Number.isFinite(value) ? Number(value) : undefined;
}

const PROBLEM_TYPES = Object.keys(PROBLEMS) as ProblemType[];
