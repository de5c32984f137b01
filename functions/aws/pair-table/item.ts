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
import { EXPIRY_SOURCES, PROBLEMS, type ProblemType } from '../../contract.ts';
import { number, numeric, text } from '../attributes.ts';
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
  const seal = { bytes: bytes instanceof Uint8Array ? bytes : undefined, keyVersion: text(item.sealingKeyVersion) };
  const visible = {
    fingerprint: text(item.fingerprint),
    credentialVersion: text(item.credentialVersion),
    tokenType: text(item.tokenType),
    expirySource: EXPIRY_SOURCES.find((source) => source === item.expirySource?.S),
    issuedAt: number(item.issuedAt),
    expiresAt: number(item.expiresAt),
    refreshAt: number(item.refreshAt),
    lifetimeSeenMs: number(item.lifetimeSeenMs),
    sameTokenAgain: item.refusalIsIdle?.BOOL,
  };
  const isWhole = hasAll<Omit<SealedToken, 'visible'>>(seal) && hasAll<VisibleToken>(visible);
  return isWhole ? { ...seal, visible } : undefined;
}

function hasAll<All>(members: { readonly [Name in keyof All]: All[Name] | undefined }): members is All {
  return !Object.values(members).includes(undefined);
}

/** The attributes of a sealed token; `refusalIsIdle`, and the two that are always 0, are what the release before reads. */
export function sealAttributes({ bytes, keyVersion, visible }: SealedToken) {
  return {
    sealedToken: { B: bytes },
    sealingKeyVersion: { S: keyVersion },
    fingerprint: { S: visible.fingerprint },
    credentialVersion: { S: visible.credentialVersion },
    tokenType: { S: visible.tokenType },
    expirySource: { S: visible.expirySource },
    issuedAt: numeric(visible.issuedAt),
    expiresAt: numeric(visible.expiresAt),
    refreshAt: numeric(visible.refreshAt),
    lifetimeSeenMs: numeric(visible.lifetimeSeenMs),
    refusalIsIdle: { BOOL: visible.sameTokenAgain },
    earlyRefusals: numeric(0),
    assumedLifetimeMs: numeric(0),
  } satisfies Item;
}

export const PAUSE_ATTRIBUTES = ['pauseUntil', 'pauseStep', 'pauseProblem'];

/** Each latch is a set of its own, named by its version, so that it can grow before it is read. */
export const REJECTED = 'rejected:';

/** One rejected request; it counts once per fence, however often it is added. */
export function rejectedEntry(fence: number, at: number): AttributeValue {
  return { SS: [`${fence}@${at}`] };
}

/** Each hold is an attribute of its own, named by its key, so that releases with different settings never end each other's. */
export const HELD = 'held:';

/** The members of an attribute that holds JSON; none when it is missing or malformed. */
function members(attribute: AttributeValue | undefined): Readonly<Record<string, unknown>> {
  return parseJsonObject(text(attribute) ?? '') ?? {};
}

/** The attributes whose names begin like this, by the rest of their names. */
function readAll<Entry>(item: Item, prefix: string, read: (attribute: AttributeValue) => Entry | undefined) {
  const entries = Object.entries(item).map(
    ([name, attribute]) => [name, name.startsWith(prefix) && read(attribute)] as const,
  );
  return new Map(entries.flatMap(([name, entry]) => (entry ? [[name.slice(prefix.length), entry] as const] : [])));
}

function readRejection(attribute: AttributeValue): Rejection | undefined {
  const entries = attribute?.SS;
  const found = Array.isArray(entries) ? entries.flatMap((entry) => [...`${entry}`.matchAll(ENTRY)]) : [];
  const fences = new Set(found.map(([, fence]) => Number(fence)));
  const at = Math.max(...found.map(([, , time]) => Number(time)));
  return fences.size === 0 ? undefined : { count: fences.size, at, fence: Math.max(...fences) };
}

const ENTRY = /^(-?\d+(?:\.\d+)?)@(\d+(?:\.\d+)?)$/g;

function readHold(attribute: AttributeValue): Wait | undefined {
  const { until, step, problem } = members(attribute);
  if (typeof until !== 'number' || typeof step !== 'number') return undefined;
  return { until, step, problem: readProblem(problem, 'token-endpoint-error') };
}

function readPause(item: Item): Wait | undefined {
  const until = number(item.pauseUntil);
  const problem = readProblem(members(item.pauseProblem), 'token-endpoint-unavailable');
  return until === undefined ? undefined : { until, step: number(item.pauseStep) ?? 1, problem };
}

/** A hold or a pause counts even when newer code gives a reason that this code does not know. */
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

function readChecked(item: Item): CheckedVersion | undefined {
  const { version, at, finding: told } = members(item.checked);
  const finding = CHECKED_FINDINGS.find((known) => known === told);
  if (typeof version !== 'string' || typeof at !== 'number' || finding === undefined) return undefined;
  return { version, at, finding };
}
