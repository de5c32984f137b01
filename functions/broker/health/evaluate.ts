import { FINDINGS, type Finding } from '../../contract.ts';
import { type Pair, pairKey, type ServiceName } from '../pair/pair.ts';
import { type CheckedPair, type Checks, isSilent, wasAsked } from './check-pairs.ts';

/** What was found out, and the service in whose memory it belongs. */
export type Findings = RunFindings | ClientFindings;

interface Told {
  /** What a message says after everything else. */
  readonly postscript?: string;
  /** The message is out: this is only remembered. */
  readonly isTold?: boolean;
}

/** What a run found out, as far as it is about one service; without one: about the broker, the probe and unknown services. */
interface RunFindings extends Told {
  readonly kind: 'run';
  readonly service: ServiceName | undefined;
  readonly checks: Checks;
  /** The pairs that the list of clients shows, and those that it shows of services that are not configured. */
  readonly listed: readonly Pair[];
  readonly unknown: readonly Pair[];
  readonly probe: ProbeAnswer;
  readonly at: number;
}

/** What an event found out about a client on one service, from which nothing follows for the service. */
interface ClientFindings extends Told {
  readonly kind: 'client';
  readonly service: ServiceName;
  readonly checked: readonly CheckedPair[];
}

/** What the role without an access rule was answered, or why it was not, as one word; and what that proves. */
export interface ProbeAnswer {
  /** Refused as it must be, more than that, or neither is proven. */
  readonly condition: 'denied' | 'not-denied' | 'unproven';
  readonly said: string;
}

/** What a look at something told. Times are epoch milliseconds. */
export type Observation =
  | PairObservation
  | (Look & { readonly kind: 'service'; readonly service: ServiceName; readonly condition: 'incident' | 'answering' })
  | (Look & { readonly kind: 'broker'; readonly condition: 'incident' | 'answering' })
  | (Look & { readonly kind: 'probe'; readonly condition: ProbeAnswer['condition'] });

export interface PairObservation extends Look {
  readonly kind: 'pair';
  readonly pair: Pair;
  /** `service-unknown`: the service is not configured. */
  readonly condition: (typeof OF_PAIRS)[number];
}

interface Look {
  /** Since when it is so, as far as the look can tell. */
  readonly since: number;
  readonly at: number;
  /** Of the secret, when one was looked at. */
  readonly version?: string | undefined;
  /** A sentence for the message, without any value. */
  readonly detail?: string | undefined;
}

export type Condition = (typeof CONDITIONS)[number];

const OF_PAIRS = [...FINDINGS, 'service-unknown'] as const;
export const CONDITIONS = [...OF_PAIRS, 'incident', 'answering', 'denied', 'not-denied', 'unproven'] as const;

/** What is remembered of a look. One at something that is as it should be is remembered only for a while. */
export interface Entry {
  readonly condition: Condition;
  readonly since: number;
  /** Of the latest look. */
  readonly at: number;
  readonly version?: string | undefined;
}

/** By the key of what was looked at: that of a pair, or the kind. */
export type Entries = ReadonlyMap<string, Entry>;

/** What findings come to, and the keys of entries that are of no interest any longer; no message tells of those. */
export interface Evaluation {
  readonly observations: readonly Observation[];
  readonly forgotten: ReadonlySet<string>;
}

/** What findings come to, given what is remembered of earlier ones. */
export function evaluate(findings: Findings, entries: Entries): Evaluation {
  if (findings.kind === 'run') {
    const { service } = findings;
    return service === undefined ? evaluateOverall(findings, entries) : evaluateService(service, findings, entries);
  }
  return { observations: observePairs(findings.checked, openIncident(entries) !== undefined), forgotten: new Set() };
}

/** Whether a run by itself is enough for an incident of the service to begin. */
export function hasIncident(service: ServiceName, { checked }: Checks): boolean {
  return hasBegun(checked.filter(({ pair }) => pair.service === service));
}

/** Whether there is nothing to do about it. */
export function isGood(condition: Condition): boolean {
  return condition === 'accepted' || condition === 'answering' || condition === 'denied';
}

/**
 * While a service answers hardly any request there is an incident of the service, which takes the place of everything that
 * could be said about single clients that got no answer.
 *
 * An incident begins when at least five pairs were asked and at least 80 % of them got no answer. It ends when more pairs
 * are answered than are not; between the two nothing changes, so that a service in a bad way does not come and go.
 */
function evaluateService(service: ServiceName, { listed, checks, at }: RunFindings, entries: Entries): Evaluation {
  const checked = checks.checked.filter(({ pair }) => pair.service === service);
  const missed = checks.missed.filter(({ pair }) => pair.service === service).length;
  const open = openIncident(entries);
  const isIncident = open === undefined ? hasBegun(checked) : !hasEnded(checked, open);
  const incident: Observation = {
    kind: 'service',
    service,
    condition: isIncident ? 'incident' : 'answering',
    since: isIncident ? Math.min(at, ...silentOnes(checked).map(({ checkedAt }) => checkedAt)) : at,
    at,
    detail: describe(checked, missed),
  };

  // Of a client that there is no more there is nothing to tell: the check has withdrawn its token.
  const listedKeys = new Set(listed.map(pairKey));
  const isGone = ({ pair, finding }: CheckedPair) =>
    (finding === 'secret-missing' || finding === 'disabled') && !listedKeys.has(pairKey(pair));
  const { gone = [], there = [] } = Object.groupBy(checked, (one) => (isGone(one) ? 'gone' : 'there'));
  const goneKeys = new Set(gone.map(({ pair }) => pairKey(pair)));
  const forgotten = [...entries].filter(
    ([key, entry]) => (isIncident && isSilent(entry.condition)) || (goneKeys.has(key) && at - entry.at > LIST_LAG_MS),
  );
  return {
    observations: [incident, ...observePairs(there, isIncident)],
    forgotten: new Set(forgotten.map(([key]) => key)),
  };
}

/** A client that is new may have been looked at upon an event before the list shows it. */
const LIST_LAG_MS = 10 * 60_000;

function openIncident(entries: Entries): Entry | undefined {
  const entry = entries.get('service');
  return entry?.condition === 'incident' ? entry : undefined;
}

function hasBegun(checked: readonly CheckedPair[]): boolean {
  const asked = checked.filter(wasAsked).length;
  return asked >= MIN_ASKED && silentOnes(checked).length >= asked * MIN_SHARE;
}

const MIN_ASKED = 5;
const MIN_SHARE = 0.8;

function hasEnded(checked: readonly CheckedPair[], { at: lastSeenAt }: Entry): boolean {
  const isAnswered = (pair: CheckedPair) =>
    // Callers may be faster than the checks in getting the tokens which show that the service is back.
    wasAsked(pair) ? !isSilent(pair.finding) : pair.provenBy === 'traffic' && pair.checkedAt > lastSeenAt;
  return checked.filter(isAnswered).length > silentOnes(checked).length;
}

function silentOnes(checked: readonly CheckedPair[]): readonly CheckedPair[] {
  return checked.filter((pair) => wasAsked(pair) && isSilent(pair.finding));
}

function describe(checked: readonly CheckedPair[], missed: number): string {
  const asked = checked.filter(wasAsked);
  const count = (finding: Finding) => asked.filter((pair) => pair.finding === finding).length;
  const silent = `unreachable: ${count('unreachable')}, throttled: ${count('throttled')}`;
  return `Pairs that were asked: ${asked.length} (${silent}). Pairs that were not reached: ${missed}.`;
}

function observePairs(checked: readonly CheckedPair[], isIncident: boolean): readonly Observation[] {
  return checked
    .filter((pair) => !isSilent(pair.finding) || (!isIncident && wasAsked(pair)))
    .map(({ pair, finding: condition, checkedAt, at, version }) => {
      // The broker's clock may be ahead of ours.
      return { kind: 'pair', pair, condition, since: Math.min(checkedAt, at), at, version };
    });
}

function evaluateOverall({ checks, unknown, probe, at }: RunFindings, entries: Entries): Evaluation {
  const look = { since: at, at };
  const broker = observeBroker(checks);
  const { condition, said } = probe;
  // When no request gets an answer of the broker, one message says so.
  const isSameTrouble = broker?.condition === 'incident' && condition === 'unproven';
  const observations: readonly (Observation | undefined)[] = [
    broker && { kind: 'broker', ...look, ...broker },
    isSameTrouble ? undefined : { kind: 'probe', ...look, condition, detail: `The answer was: ${said}.` },
    ...unknown.map((pair) => ({ kind: 'pair', ...look, pair, condition: 'service-unknown' }) as const),
  ];
  const known = new Set(['broker', 'probe', ...unknown.map(pairKey)]);
  return {
    observations: observations.filter((observation) => observation !== undefined),
    forgotten: new Set([...entries.keys()].filter((key) => !known.has(key))),
  };
}

/** The broker is in trouble when it had something to say about no pair at all; `undefined` when it was not asked. */
function observeBroker({ checked, missed }: Checks) {
  if (checked.length > 0) return { condition: 'answering' } as const;
  const counts = Map.groupBy(missed.flatMap(({ failure }) => failure ?? []).toSorted(), (failure) => failure);
  if (counts.size === 0) return undefined;
  const words = [...counts].map(([failure, { length }]) => `${failure} (${length})`);
  return { condition: 'incident', detail: `No check brought a finding: ${words.join(', ')}.` } as const;
}
