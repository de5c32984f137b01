import { FINDINGS } from '../../contract.ts';
import { type Pair, pairKey, type ServiceName } from '../pair/pair.ts';

/** What a look at something told. Times are epoch milliseconds. */
export type Observation = PairObservation | ServiceObservation | BrokerObservation | ProbeObservation;

export interface PairObservation extends Look {
  readonly kind: 'pair';
  readonly pair: Pair;
  readonly condition: (typeof PAIR_CONDITIONS)[number];
  /** The secret version that was looked at. */
  readonly version?: string | undefined;
}

export interface ServiceObservation extends Look {
  readonly kind: 'service';
  readonly service: ServiceName;
  readonly condition: (typeof CONDITIONS_OF_MANY)[number];
}

export interface BrokerObservation extends Look {
  readonly kind: 'broker';
  readonly condition: (typeof CONDITIONS_OF_MANY)[number];
}

/** The probe is a role that the broker must refuse. */
export interface ProbeObservation extends Look {
  readonly kind: 'probe';
  readonly condition: (typeof PROBE_CONDITIONS)[number];
}

interface Look {
  /** Since when it is so, as far as the look can tell. */
  readonly since: number;
  readonly at: number;
  /** A sentence for the message, without any value. */
  readonly detail?: string | undefined;
}

/** The findings of the broker and one of our own: `service-unknown`, a service that is not configured. */
const PAIR_CONDITIONS = [...FINDINGS, 'service-unknown'] as const;

/** Of a service, or the broker: it answers hardly any request, or it does. */
const CONDITIONS_OF_MANY = ['incident', 'answering'] as const;

/** Refused as it must be, not refused, or without an answer that would prove either. */
const PROBE_CONDITIONS = ['denied', 'not-denied', 'unproven'] as const;

export const CONDITIONS = [...PAIR_CONDITIONS, ...CONDITIONS_OF_MANY, ...PROBE_CONDITIONS] as const;

export type Condition = Observation['condition'];

/** What is remembered of a look. One at something that is as it should be is remembered only for a while. */
export interface Entry {
  readonly condition: Condition;
  readonly since: number;
  /** Of the latest look. */
  readonly at: number;
  readonly version?: string | undefined;
}

/** By the key of what was looked at. */
export type Entries = ReadonlyMap<string, Entry>;

/** What the findings of a run or of an event come to, given what is remembered. */
export interface Evaluation {
  readonly observations: readonly Observation[];
  /** Keys of entries that are of no interest any longer; no message tells of it. */
  readonly forgotten: ReadonlySet<string>;
}

/** A change that the operators have to be told about. */
export interface Transition {
  readonly observation: Observation;
  readonly before: Entry | undefined;
}

/** Where observations differ from what is remembered; `quiet` is what can be remembered without a message. */
export function findTransitions(entries: Entries, { observations, forgotten }: Evaluation, now: number) {
  const quiet = new Map([...entries].filter(([key, entry]) => !forgotten.has(key) && !isFaded(entry, now)));
  const transitions: Transition[] = [];
  for (const observation of observations) {
    const key = observationKey(observation);
    const before = quiet.get(key);
    // A run or an event that looked later was faster.
    if (before !== undefined && observation.at < before.at) continue;
    if (isTransition(observation, before)) transitions.push({ observation, before });
    else if (before !== undefined && !isGood(before.condition)) quiet.set(key, { ...before, at: observation.at });
  }
  return { transitions, quiet };
}

/** What is remembered once the messages about these transitions are out. */
export function remember(entries: Entries, transitions: readonly Transition[]): Entries {
  const told = transitions.map(({ observation }) => [observationKey(observation), entryOf(observation)] as const);
  return new Map([...entries, ...told]);
}

/** Whether the key is one of a pair. */
export function isPairKey(key: string): boolean {
  return key.includes('/');
}

export function isGood(condition: Condition): boolean {
  return condition === 'accepted' || condition === 'answering' || condition === 'denied';
}

/** The key of what was looked at; a memory is about one service, or about everything else. */
export function observationKey(observation: Observation): string {
  return observation.kind === 'pair' ? pairKey(observation.pair) : observation.kind;
}

/** What was never seen counts as good. Another version that is no better is told: an operator has tried. */
function isTransition(observation: Observation, before: Entry | undefined): boolean {
  const { condition } = observation;
  if (before === undefined) return !isGood(condition);
  if (before.condition !== condition) return true;
  const versions = new Set([before.version, versionOf(observation)].filter((version) => version !== undefined));
  return (condition === 'rejected' || condition === 'secret-malformed') && versions.size === 2;
}

/** By then every run is over that may have looked before. */
function isFaded({ condition, at }: Entry, now: number): boolean {
  return isGood(condition) && now - at > LONGEST_RUN_MS;
}

/** No Lambda function runs longer. */
const LONGEST_RUN_MS = 15 * 60_000;

function entryOf(observation: Observation): Entry {
  const { condition, since, at } = observation;
  return { condition, since, at, version: versionOf(observation) };
}

function versionOf(observation: Observation): string | undefined {
  return observation.kind === 'pair' ? observation.version : undefined;
}
