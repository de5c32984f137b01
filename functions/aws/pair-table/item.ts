import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import {
  type CheckedFinding,
  type CheckedVersion,
  EMPTY_RECORD,
  type PairRecord,
  type Rejection,
  type StoredProblem,
  type Wait,
} from '../../broker/pair/record.ts';
import type { ShapeReport } from '../../broker/problem.ts';
import type { ExpirySource } from '../../broker/token-response/expiry.ts';
import { PROBLEMS, type ProblemType } from '../../contract.ts';
import type { SealedPublication, VisiblePublication } from '../sealing/sealing.ts';

/** The attributes of one pair as the table holds them. */
export type Item = Readonly<Record<string, AttributeValue>>;

/**
 * All of a record but its publication. An attribute that is missing or malformed counts as its default, and one that this
 * code does not know is passed over: no item, and no newer code, can make a pair unreadable.
 */
export function readState(item: Item): PairRecord {
  return {
    ...EMPTY_RECORD,
    fence: readFence(item),
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

/** The sealed publication of an item, all or nothing: the seal holds only together with every visible value. */
export function readSeal(item: Item): SealedPublication | undefined {
  const bytes = item.sealedToken?.B;
  const keyVersion = text(item.sealingKeyVersion);
  const visible = readVisible(item);
  const isWhole = bytes instanceof Uint8Array && keyVersion !== undefined && visible !== undefined;
  return isWhole ? { bytes, keyVersion, visible } : undefined;
}

/** When the token of an item was requested, as far as that can be believed of a token that cannot be opened. */
export function readIssuedAt({ issuedAt }: Item): number {
  return number(issuedAt) ?? 0;
}

/** The attributes of a publication. */
export function sealAttributes({ bytes, keyVersion, visible }: SealedPublication) {
  return {
    sealedToken: { B: bytes },
    sealingKeyVersion: { S: keyVersion },
    fingerprint: { S: visible.fingerprint },
    credentialVersion: { S: visible.credentialVersion },
    tokenType: { S: visible.tokenType },
    expirySource: { S: visible.expirySource },
    issuedAt: { N: `${visible.issuedAt}` },
    expiresAt: { N: `${visible.expiresAt}` },
    refreshAt: { N: `${visible.refreshAt}` },
    // This name, and the last two attributes, are what the release before this one reads.
    refusalIsIdle: { BOOL: visible.sameTokenAgain },
    lifetimeSeenMs: { N: `${visible.lifetimeSeenMs}` },
    earlyRefusals: { N: '0' },
    assumedLifetimeMs: { N: '0' },
  } satisfies Item;
}

/** Their names. */
export const SEAL_ATTRIBUTES = [
  ...['sealedToken', 'sealingKeyVersion', 'fingerprint', 'credentialVersion', 'tokenType', 'expirySource', 'issuedAt'],
  ...['expiresAt', 'refreshAt', 'refusalIsIdle', 'lifetimeSeenMs', 'earlyRefusals', 'assumedLifetimeMs'],
];

export function pauseAttributes({ until, step, problem }: Wait): Item {
  return {
    pauseUntil: { N: `${until}` },
    pauseStep: { N: `${step}` },
    pauseProblem: { S: JSON.stringify(problem) },
  };
}

/** Their names. */
export const PAUSE_ATTRIBUTES = ['pauseUntil', 'pauseStep', 'pauseProblem'];

/** Each latch is a set of its own, so that it can grow before it is read. */
export function rejectedAttribute(version: string): string {
  return `${REJECTED}${version}`;
}

/** One rejected request; it counts once per fence, however often it is added. */
export function rejectedEntry(fence: number, at: number): AttributeValue {
  return { SS: [`${fence}@${at}`] };
}

/** Each hold is an attribute of its own, so that two releases with different settings never end each other's. */
export function heldAttribute(key: string): string {
  return `${HELD}${key}`;
}

export function holdValue({ until, step, problem }: Wait): AttributeValue {
  return { S: JSON.stringify({ until, step, problem }) };
}

export function checkedAttributes(checked: CheckedVersion | undefined): Item {
  if (checked === undefined) return {};
  const { version, at, finding } = checked;
  return { checked: { S: JSON.stringify({ version, at, finding }) } };
}

/** A fence outside of these bounds was written by no lease: it counts as none, and can be taken over as none. */
export const MIN_FENCE = 1;
export const MAX_FENCE = 2 ** 52;

export const REJECTED = 'rejected:';
export const HELD = 'held:';

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
  try {
    const value: unknown = JSON.parse(text(attribute) ?? '{}');
    return typeof value === 'object' ? { ...value } : {};
  } catch {
    return {};
  }
}

function readFence(item: Item): number {
  const fence = number(item.fence) ?? 0;
  return fence >= MIN_FENCE && fence <= MAX_FENCE ? fence : 0;
}

/** The attributes whose names begin like this, by the rest of their names. */
function readAll<Entry>(
  item: Item,
  prefix: string,
  read: (attribute: AttributeValue | undefined) => Entry | undefined,
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const name of Object.keys(item)) {
    const entry = name.startsWith(prefix) ? read(item[name]) : undefined;
    if (entry !== undefined) entries.set(name.slice(prefix.length), entry);
  }
  return entries;
}

function readRejection(attribute: AttributeValue | undefined): Rejection | undefined {
  const entries: unknown = attribute?.SS;
  if (!Array.isArray(entries)) return undefined;
  const fences = new Set<number>();
  let at = 0;
  for (const entry of entries) {
    const [, fence, time] = ENTRY.exec(`${entry}`) ?? [];
    if (fence === undefined || time === undefined) continue;
    fences.add(Number(fence));
    at = Math.max(at, Number(time));
  }
  return fences.size === 0 ? undefined : { count: fences.size, at, fence: Math.max(...fences) };
}

const ENTRY = /^(-?\d+(?:\.\d+)?)@(\d+(?:\.\d+)?)$/;

/** A hold counts even when newer code gives a reason that this code does not know; so does a pause. */
function readHold(attribute: AttributeValue | undefined): Wait | undefined {
  const { until, step, problem } = members(attribute);
  if (typeof until !== 'number' || typeof step !== 'number') return undefined;
  return { until, step, problem: readProblem(problem) ?? UNKNOWN_HOLD };
}

function readPause(item: Item): Wait | undefined {
  const until = number(item.pauseUntil);
  if (until === undefined) return undefined;
  const problem = readProblem(members(item.pauseProblem)) ?? UNKNOWN_PAUSE;
  return { until, step: number(item.pauseStep) ?? 1, problem };
}

function readProblem(value: unknown): StoredProblem | undefined {
  const { type, detail, shape }: Readonly<Record<string, unknown>> = { ...Object(value) };
  if (!isProblemType(type) || typeof detail !== 'string') return undefined;
  return isShapeReport(shape) ? { type, detail, shape } : { type, detail };
}

function isProblemType(value: unknown): value is ProblemType {
  return typeof value === 'string' && Object.hasOwn(PROBLEMS, value);
}

/** Not looked into any further: it is only ever printed. */
function isShapeReport(value: unknown): value is ShapeReport {
  return typeof value === 'object' && value !== null && 'members' in value && Array.isArray(value.members);
}

const UNKNOWN_PAUSE: StoredProblem = { type: 'token-endpoint-unavailable', detail: 'The last token request failed.' };
const UNKNOWN_HOLD: StoredProblem = { type: 'token-endpoint-error', detail: 'The last token request failed.' };

function readChecked(item: Item): CheckedVersion | undefined {
  const { version, at, finding: told } = members(item.checked);
  const finding = CHECKED_FINDINGS.find((known) => known === told);
  if (typeof version !== 'string' || typeof at !== 'number' || finding === undefined) return undefined;
  return { version, at, finding };
}

const CHECKED_FINDINGS: readonly CheckedFinding[] = [
  ...(['accepted', 'rejected', 'throttled', 'unreachable', 'misconfigured'] as const),
];

function readVisible(item: Item): VisiblePublication | undefined {
  const texts = {
    fingerprint: text(item.fingerprint),
    credentialVersion: text(item.credentialVersion),
    tokenType: text(item.tokenType),
  };
  const numbers = {
    issuedAt: number(item.issuedAt),
    expiresAt: number(item.expiresAt),
    refreshAt: number(item.refreshAt),
    lifetimeSeenMs: number(item.lifetimeSeenMs),
  };
  const expirySource = EXPIRY_SOURCES.find((source) => source === text(item.expirySource));
  const sameTokenAgain = item.refusalIsIdle?.BOOL;
  if (number(item.earlyRefusals) !== 0 || number(item.assumedLifetimeMs) !== 0) return undefined;
  if (!isComplete(texts) || !isComplete(numbers)) return undefined;
  if (expirySource === undefined || typeof sameTokenAgain !== 'boolean') return undefined;
  return { ...texts, ...numbers, expirySource, sameTokenAgain };
}

function isComplete<Values extends Readonly<Record<string, unknown>>>(
  values: Values,
): values is Values & { readonly [Name in keyof Values]: NonNullable<Values[Name]> } {
  return Object.values(values).every((value) => value !== undefined);
}

const EXPIRY_SOURCES: readonly ExpirySource[] = ['response', 'jwt', 'configured', 'assumed'];
