import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { isRecord, membersOf, parseJsonObject } from '../../broker/json.ts';
import {
  CHECKED_FINDINGS,
  type CheckedVersion,
  EMPTY_RECORD,
  type PairRecord,
  type Rejection,
  type StoredProblem,
  type Wait,
} from '../../broker/pair/record.ts';
import type { ShapeReport } from '../../broker/problem.ts';
import { EXPIRY_SOURCES } from '../../broker/token-response/expiry.ts';
import { PROBLEMS, type ProblemType } from '../../contract.ts';
import type { SealedToken, VisibleToken } from '../sealing/sealing.ts';

/** The attributes of one pair as the table holds them. */
export type Item = Readonly<Record<string, AttributeValue>>;

/**
 * All of a record but its token. An attribute that is missing or malformed counts as its default, and one that this
 * code does not know is passed over: no item, and no newer code, can make a pair unreadable.
 */
export function readState(item: Item): PairRecord {
  const fence = number(item.fence) ?? 0;
  return {
    ...EMPTY_RECORD,
    fence: fence >= MIN_FENCE && fence <= MAX_FENCE ? fence : 0,
    leaseOwner: text(item.leaseOwner),
    leaseUntil: number(item.leaseUntil) ?? 0,
    attemptedAt: number(item.attemptedAt) ?? 0,
    forcedAt: number(item.forcedAt) ?? 0,
    rejected: readAll(item, REJECTED, readRejection),
    held: readAll(item, HELD, readHold),
    pause: readPause(item),
    checked: readChecked(item),
    disabled: item.disabled?.BOOL === true,
  };
}

/** A fence outside of these bounds was written by no lease: it counts as none, and can be taken over as none. */
export const MIN_FENCE = 1;
export const MAX_FENCE = 2 ** 52;

/** The sealed token of an item, all or nothing: the seal holds only together with every visible value. */
export function readSeal(item: Item): SealedToken | undefined {
  const bytes = item.sealedToken?.B;
  const keyVersion = text(item.sealingKeyVersion);
  const visible = readVisible(item);
  const isWhole = bytes instanceof Uint8Array && keyVersion !== undefined && visible !== undefined;
  return isWhole ? { bytes, keyVersion, visible } : undefined;
}

function readVisible(item: Item): VisibleToken | undefined {
  const texts = readWhole(VISIBLE_TEXTS, (name) => text(item[name]));
  const numbers = readWhole(VISIBLE_NUMBERS, (name) => number(item[name]));
  const expirySource = EXPIRY_SOURCES.find((source) => source === texts?.expirySource);
  const sameTokenAgain = item[SAME_TOKEN_AGAIN]?.BOOL;
  if (RETIRED.some((name) => number(item[name]) !== 0)) return undefined;
  if (!texts || !numbers || expirySource === undefined || typeof sameTokenAgain !== 'boolean') return undefined;
  return { ...texts, ...numbers, expirySource, sameTokenAgain };
}

function readWhole<Name extends string, Value>(names: readonly Name[], read: (name: Name) => Value | undefined) {
  const entries = names.map((name) => [name, read(name)] as const);
  const isWhole = entries.every(([, value]) => value !== undefined);
  return isWhole ? (Object.fromEntries(entries) as Readonly<Record<Name, Value>>) : undefined;
}

/** The attributes of a sealed token. */
export function sealAttributes({ bytes, keyVersion, visible }: SealedToken): Item {
  return {
    sealedToken: { B: bytes },
    sealingKeyVersion: { S: keyVersion },
    ...Object.fromEntries(VISIBLE_TEXTS.map((name) => [name, { S: visible[name] }])),
    ...Object.fromEntries(VISIBLE_NUMBERS.map((name) => [name, numeric(visible[name])])),
    [SAME_TOKEN_AGAIN]: { BOOL: visible.sameTokenAgain },
    ...Object.fromEntries(RETIRED.map((name) => [name, numeric(0)])),
  };
}

const VISIBLE_TEXTS = ['fingerprint', 'credentialVersion', 'tokenType', 'expirySource'] as const;
const VISIBLE_NUMBERS = ['issuedAt', 'expiresAt', 'refreshAt', 'lifetimeSeenMs'] as const;

/** This name, and the two attributes that are always 0, are what the release before this one reads. */
const SAME_TOKEN_AGAIN = 'refusalIsIdle';
const RETIRED = ['earlyRefusals', 'assumedLifetimeMs'];

/** Their names. */
export const SEAL_ATTRIBUTES = [
  'sealedToken',
  'sealingKeyVersion',
  ...VISIBLE_TEXTS,
  ...VISIBLE_NUMBERS,
  SAME_TOKEN_AGAIN,
  ...RETIRED,
];

export function pauseAttributes({ until, step, problem }: Wait): Item {
  return { pauseUntil: numeric(until), pauseStep: numeric(step), pauseProblem: { S: JSON.stringify(problem) } };
}

/** Their names. */
export const PAUSE_ATTRIBUTES = ['pauseUntil', 'pauseStep', 'pauseProblem'];

/** Each latch is a set of its own, so that it can grow before it is read. */
export function rejectedAttribute(version: string): string {
  return `${REJECTED}${version}`;
}

export const REJECTED = 'rejected:';

/** One rejected request; it counts once per fence, however often it is added. */
export function rejectedEntry(fence: number, at: number): AttributeValue {
  return { SS: [`${fence}@${at}`] };
}

/** Each hold is an attribute of its own, so that two releases with different settings never end each other's. */
export function heldAttribute(key: string): string {
  return `${HELD}${key}`;
}

export const HELD = 'held:';

export function holdValue({ until, step, problem }: Wait): AttributeValue {
  return { S: JSON.stringify({ until, step, problem }) };
}

export function checkedAttributes(checked: CheckedVersion | undefined): Item {
  if (checked === undefined) return {};
  const { version, at, finding } = checked;
  return { checked: { S: JSON.stringify({ version, at, finding }) } };
}

/** The date from which on an item is garbage: longer than any latch matters. */
export function forgetAt(now: number): AttributeValue {
  return numeric(Math.ceil(now / 1_000) + KEPT_SECONDS);
}

const KEPT_SECONDS = 90 * 24 * 60 * 60;

export function numeric(value: number): AttributeValue {
  return { N: `${value}` };
}

/** The text of an attribute; `undefined` when it is missing or of another type. */
export function text(attribute: AttributeValue | undefined): string | undefined {
  return typeof attribute?.S === 'string' ? attribute.S : undefined;
}

/** The number of an attribute; `undefined` when it is missing or of another type. */
export function number(attribute: AttributeValue | undefined): number | undefined {
  const value = typeof attribute?.N === 'string' && attribute.N.trim() !== '' ? Number(attribute.N) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

/** The members of an attribute that holds JSON; none when it is missing or malformed. */
function members(attribute: AttributeValue | undefined): Readonly<Record<string, unknown>> {
  return parseJsonObject(text(attribute) ?? '') ?? {};
}

/** The attributes whose names begin like this, by the rest of their names. */
function readAll<Entry>(item: Item, prefix: string, read: (attribute?: AttributeValue) => Entry | undefined) {
  const entries = new Map<string, Entry>();
  for (const name of Object.keys(item)) {
    const entry = name.startsWith(prefix) ? read(item[name]) : undefined;
    if (entry !== undefined) entries.set(name.slice(prefix.length), entry);
  }
  return entries;
}

function readRejection(attribute?: AttributeValue): Rejection | undefined {
  const entries: unknown = attribute?.SS;
  if (!Array.isArray(entries)) return undefined;
  const found = entries.map((entry) => ENTRY.exec(`${entry}`)).filter((match) => match !== null);
  const fences = new Set(found.map(([, fence]) => Number(fence)));
  const at = Math.max(0, ...found.map(([, , time]) => Number(time)));
  return fences.size === 0 ? undefined : { count: fences.size, at, fence: Math.max(...fences) };
}

const ENTRY = /^(-?\d+(?:\.\d+)?)@(\d+(?:\.\d+)?)$/;

/** A hold counts even when newer code gives a reason that this code does not know; so does a pause. */
function readHold(attribute?: AttributeValue): Wait | undefined {
  const { until, step, problem } = members(attribute);
  if (typeof until !== 'number' || typeof step !== 'number') return undefined;
  return { until, step, problem: readProblem(problem, 'token-endpoint-error') };
}

function readPause(item: Item): Wait | undefined {
  const until = number(item.pauseUntil);
  if (until === undefined) return undefined;
  const problem = readProblem(members(item.pauseProblem), 'token-endpoint-unavailable');
  return { until, step: number(item.pauseStep) ?? 1, problem };
}

function readProblem(value: unknown, unknownType: ProblemType): StoredProblem {
  const { type, detail, shape } = membersOf(value);
  if (!isProblemType(type) || typeof detail !== 'string') {
    return { type: unknownType, detail: 'The last token request failed.' };
  }
  return isShapeReport(shape) ? { type, detail, shape } : { type, detail };
}

function isProblemType(value: unknown): value is ProblemType {
  return typeof value === 'string' && Object.hasOwn(PROBLEMS, value);
}

/** Not looked into any further: it is only ever printed. */
function isShapeReport(value: unknown): value is ShapeReport {
  return isRecord(value) && Array.isArray(value.members);
}

function readChecked(item: Item): CheckedVersion | undefined {
  const { version, at, finding: told } = members(item.checked);
  const finding = CHECKED_FINDINGS.find((known) => known === told);
  if (typeof version !== 'string' || typeof at !== 'number' || finding === undefined) return undefined;
  return { version, at, finding };
}
