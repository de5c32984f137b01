import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { isRecord, membersOf, parseJson } from '../../broker/json.ts';
import {
  CHECKED_FINDINGS,
  type CheckedVersion,
  EMPTY_RECORD,
  type PairRecord,
  type Rejection,
  type StoredProblem,
  type VisibleToken,
  type Wait,
} from '../../broker/pair/record.ts';
import type { ShapeReport } from '../../broker/problem.ts';
import { EXPIRY_SOURCES, PROBLEMS, type ProblemType } from '../../contract.ts';
import { forgetAt, json, text } from '../attributes.ts';
import type { SealedToken } from '../sealing/sealing.ts';

/** The attributes of one pair as the table holds them: one for each member of the record, as JSON; and the token's sealed bytes. */
export type Item = Readonly<Record<string, AttributeValue>>;

/**
 * All of a record but its token. A member that is missing or malformed counts as missing, and an attribute that this release
 * does not know is passed over: no item, and no newer release, can make a pair unreadable.
 */
export function readMembers(item: Item): PairRecord {
  return {
    lease: readLease(memberOf(item, 'lease')),
    token: undefined,
    attemptedAt: numberOf(memberOf(item, 'attemptedAt')) ?? EMPTY_RECORD.attemptedAt,
    forcedAt: numberOf(memberOf(item, 'forcedAt')) ?? EMPTY_RECORD.forcedAt,
    rejected: readMap(memberOf(item, 'rejected'), readRejection),
    held: readMap(memberOf(item, 'held'), (value) => readWait(value, 'token-endpoint-error')),
    pause: readWait(memberOf(item, 'pause'), 'token-endpoint-unavailable'),
    checked: readChecked(memberOf(item, 'checked')),
    // In any form it is a stop.
    disabled: item.disabled && { since: numberOf(membersOf(memberOf(item, 'disabled')).since) ?? 0 },
  };
}

/** The attributes of all members but the token and the operators' flag; `undefined` for one that is to be removed. */
export function memberAttributes(
  record: PairRecord,
  now: number,
): Readonly<Record<string, AttributeValue | undefined>> {
  const { lease, attemptedAt, forcedAt, rejected, held, pause, checked, disabled } = record;
  return {
    lease: lease && json(lease),
    attemptedAt: attemptedAt === 0 ? undefined : json(attemptedAt),
    forcedAt: forcedAt === 0 ? undefined : json(forcedAt),
    rejected: rejected.size === 0 ? undefined : json(Object.fromEntries(rejected)),
    held: held.size === 0 ? undefined : json(Object.fromEntries(held)),
    pause: pause && json(pause),
    checked: checked && json(checked),
    // The table's garbage collection leaves an item without a date alone: no latch and no stop is forgotten.
    forgetAt: rejected.size > 0 || disabled ? undefined : forgetAt(now),
  };
}

/** The attributes of a token: its visible part, and its sealed bytes where there is a key. */
export function tokenAttributes(visible: VisibleToken | undefined, sealed: SealedToken | undefined) {
  const keyVersion = sealed?.keyVersion;
  return { token: visible && json({ ...visible, keyVersion }), sealed: sealed && { B: sealed.bytes } };
}

/** The token of an item as far as it can be read: the seal holds only together with every visible value. */
export function readToken(item: Item): { readonly visible: VisibleToken; readonly sealed?: SealedToken } | undefined {
  const members = membersOf(memberOf(item, 'token'));
  const { keyVersion } = members;
  const visible = readVisible(members);
  if (visible === undefined) return undefined;
  const bytes = item.sealed?.B;
  const isSealed = bytes instanceof Uint8Array && typeof keyVersion === 'string';
  return { visible, ...(isSealed && { sealed: { bytes, keyVersion, visible } }) };
}

function readVisible(members: Readonly<Record<string, unknown>>): VisibleToken | undefined {
  const visible = {
    fingerprint: textOf(members.fingerprint),
    credentialVersion: textOf(members.credentialVersion),
    tokenType: textOf(members.tokenType),
    expirySource: EXPIRY_SOURCES.find((source) => source === members.expirySource),
    issuedAt: numberOf(members.issuedAt),
    expiresAt: numberOf(members.expiresAt),
    refreshAt: numberOf(members.refreshAt),
    lifetimeSeenMs: numberOf(members.lifetimeSeenMs),
    sameTokenAgain: typeof members.sameTokenAgain === 'boolean' ? members.sameTokenAgain : undefined,
  };
  return hasAll<VisibleToken>(visible) ? visible : undefined;
}

function hasAll<All>(members: { readonly [Name in keyof All]: All[Name] | undefined }): members is All {
  return !Object.values(members).includes(undefined);
}

function memberOf(item: Item, name: string): unknown {
  return parseJson(text(item[name]) ?? '');
}

function readMap<Entry>(value: unknown, read: (value: unknown) => Entry | undefined): ReadonlyMap<string, Entry> {
  const entries = Object.entries(membersOf(value)).map(([name, one]) => [name, read(one)] as const);
  return new Map(entries.flatMap(([name, entry]) => (entry ? [[name, entry] as const] : [])));
}

function readLease(value: unknown): PairRecord['lease'] {
  const { id, until } = membersOf(value);
  return typeof id === 'string' && typeof until === 'number' ? { id, until } : undefined;
}

function readRejection(value: unknown): Rejection | undefined {
  const { count, at, by } = membersOf(value);
  if (typeof count !== 'number' || count < 1 || typeof at !== 'number') return undefined;
  return { count: Math.ceil(count), at, by: textOf(by) ?? '' };
}

/** A hold or a pause counts even when newer code gives a reason that this code does not know. */
function readWait(value: unknown, unknownType: ProblemType): Wait | undefined {
  const { until, step, problem, unheard } = membersOf(value);
  if (typeof until !== 'number' || typeof step !== 'number') return undefined;
  return { until, step, problem: readProblem(problem, unknownType), ...(unheard === true && { unheard }) };
}

function readProblem(value: unknown, unknownType: ProblemType): StoredProblem {
  const { type, detail, shape } = membersOf(value);
  if (isProblemType(type) && typeof detail === 'string')
    return { type, detail, ...(isShapeReport(shape) && { shape }) };
  return { type: unknownType, detail: 'The last token request failed.' };
}

function isProblemType(value: unknown): value is ProblemType {
  return typeof value === 'string' && Object.hasOwn(PROBLEMS, value);
}

/** Not looked into any further: it is only ever printed. */
function isShapeReport(value: unknown): value is ShapeReport {
  return isRecord(value) && Array.isArray(value.members);
}

function readChecked(value: unknown): CheckedVersion | undefined {
  const { version, at, finding: told } = membersOf(value);
  const finding = CHECKED_FINDINGS.find((known) => known === told);
  if (typeof version !== 'string' || typeof at !== 'number' || finding === undefined) return undefined;
  return { version, at, finding };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** JSON has no other numbers than finite ones. */
function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
