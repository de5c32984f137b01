import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import {
  EMPTY_RECORD,
  type PairRecord,
  type Pause,
  type Rejection,
  type StoredProblem,
} from '../../broker/pair/record.ts';
import type { ShapeReport } from '../../broker/problem.ts';
import { PROBLEMS, type ProblemType } from '../../contract.ts';
import { type Item, number, text } from './item.ts';

/**
 * All of a record but its publication. An attribute that is missing or of the wrong type counts as its default, and
 * one that this code does not know is passed over: no item, and no newer code, can make a pair unreadable.
 */
export function readState(item: Item): PairRecord {
  return {
    ...EMPTY_RECORD,
    fence: readFence(item),
    leaseOwner: text(item.leaseOwner),
    leaseUntil: number(item.leaseUntil) ?? 0,
    attemptedAt: number(item.attemptedAt) ?? 0,
    forcedAt: number(item.forcedAt) ?? 0,
    rejected: readRejected(item),
    pause: readPause(item),
    disabled: item.disabled?.BOOL === true,
  };
}

export function pauseAttributes({ until, step, problem }: Pause): Item {
  return {
    pauseUntil: { N: `${until}` },
    pauseStep: { N: `${step}` },
    pauseProblem: { S: JSON.stringify(problem) },
  };
}

/** Each latch is a set of its own, so that it can grow without anybody reading it first. */
export function rejectedAttribute(version: string): string {
  return `${REJECTED}${version}`;
}

/** One rejected request; it counts once per fence, however often it is added. */
export function rejectedEntry(fence: number, at: number): AttributeValue {
  return { SS: [`${fence}@${at}`] };
}

/** A fence outside of these bounds was written by nobody: it counts as none, and can be taken over as none. */
export const MIN_FENCE = 1;
export const MAX_FENCE = 2 ** 52;

function readFence(item: Item): number {
  const fence = number(item.fence) ?? 0;
  return fence >= MIN_FENCE && fence <= MAX_FENCE ? fence : 0;
}

function readRejected(item: Item): PairRecord['rejected'] {
  const rejected = new Map<string, Rejection>();
  for (const name of Object.keys(item)) {
    const rejection = name.startsWith(REJECTED) ? readRejection(item[name]?.SS) : undefined;
    if (rejection !== undefined) rejected.set(name.slice(REJECTED.length), rejection);
  }
  return rejected;
}

function readRejection(entries: unknown): Rejection | undefined {
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

/** A pause counts even when newer code gives a reason that this code does not know. */
function readPause(item: Item): Pause | undefined {
  const until = number(item.pauseUntil);
  if (until === undefined) return undefined;
  return { until, step: number(item.pauseStep) ?? 1, problem: readProblem(item.pauseProblem) ?? UNKNOWN_PROBLEM };
}

function readProblem(attribute: AttributeValue | undefined): StoredProblem | undefined {
  try {
    const { type, detail, shape }: Record<string, unknown> = JSON.parse(text(attribute) ?? '{}');
    if (!isProblemType(type) || typeof detail !== 'string') return undefined;
    return isShapeReport(shape) ? { type, detail, shape } : { type, detail };
  } catch {
    return undefined;
  }
}

function isProblemType(value: unknown): value is ProblemType {
  return typeof value === 'string' && Object.hasOwn(PROBLEMS, value);
}

/** Not looked into any further: it is only ever printed. */
function isShapeReport(value: unknown): value is ShapeReport {
  return typeof value === 'object' && value !== null && 'members' in value && Array.isArray(value.members);
}

const REJECTED = 'rejected:';
const ENTRY = /^(-?\d+(?:\.\d+)?)@(\d+(?:\.\d+)?)$/;

const UNKNOWN_PROBLEM: StoredProblem = {
  type: 'token-endpoint-unavailable',
  detail: 'The last token request failed.',
};
