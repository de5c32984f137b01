import type { Finding } from '../../contract.ts';
import { type Pair, pairKey, type ServiceName } from '../pair/pair.ts';
import { type CheckedPair, isSilent, type Walk, wasAsked } from './check-pairs.ts';
import {
  type Entries,
  type Entry,
  isGood,
  isPairKey,
  type Judge,
  type PairObservation,
  type ServiceObservation,
} from './transitions.ts';

/**
 * What a run found out about one service: while it answers hardly anybody there is an incident of the service, which
 * takes the place of everything that could be said about single clients that got no answer.
 *
 * An incident begins when at least five pairs were asked and at least 80 % of them got no answer. It ends when more pairs
 * are answered than are not; between the two nothing changes, so that a service in a bad way does not come and go.
 */
export function judgeService({ service, pairs, walk, at }: ServiceFindings): Judge {
  const checked = walk.checked.filter(({ pair }) => pair.service === service);
  const missed = walk.missed.filter(({ pair }) => pair.service === service).length;
  const pairKeys = new Set(pairs.map(pairKey));
  return (entries) => {
    const open = openIncident(entries);
    const isIncident = open === undefined ? hasBegun(checked) : !hasEnded(checked, open);
    const incident: ServiceObservation = {
      kind: 'service',
      service,
      condition: isIncident ? 'incident' : 'answering',
      since: isIncident ? beginOf(checked, at) : at,
      at,
      detail: describe(checked, missed),
    };
    return {
      observations: [incident, ...observationsOf(checked, isIncident)],
      forgets: (key, entry) =>
        isPairKey(key) &&
        ((isIncident && isSilent(entry.condition)) || (!pairKeys.has(key) && at - entry.at > LIST_LAG_MS)),
    };
  };
}

interface ServiceFindings {
  readonly service: ServiceName;
  /** All that there are, of other services too; what is remembered of any other pair is forgotten. */
  readonly pairs: readonly Pair[];
  readonly walk: Walk;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** A client that is new may have been looked at by somebody else before the list shows it. */
const LIST_LAG_MS = 10 * 60_000;

/** Whether a run by itself is enough for an incident of the service to begin. */
export function hasIncident(service: ServiceName, { checked }: Walk): boolean {
  return hasBegun(checked.filter(({ pair }) => pair.service === service));
}

/** What a look at a few pairs found out, from which nothing follows for their service. */
export function judgePairs(checked: readonly CheckedPair[]): Judge {
  return (entries) => ({
    observations: observationsOf(checked, openIncident(entries) !== undefined),
    forgets: () => false,
  });
}

function openIncident(entries: Entries): Entry | undefined {
  const entry = entries.get('service');
  return entry === undefined || isGood(entry.condition) ? undefined : entry;
}

function hasBegun(checked: readonly CheckedPair[]): boolean {
  const asked = checked.filter(wasAsked);
  return asked.length >= MIN_ASKED && silentOnes(asked).length >= asked.length * MIN_SHARE;
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

function beginOf(checked: readonly CheckedPair[], at: number): number {
  return Math.min(at, ...silentOnes(checked).map(({ checkedAt }) => checkedAt));
}

function observationsOf(checked: readonly CheckedPair[], isIncident: boolean): readonly PairObservation[] {
  return checked
    .filter(({ finding }) => !(isIncident && isSilent(finding)))
    .map(({ pair, finding, checkedAt, at, version }) => ({
      kind: 'pair',
      pair,
      condition: finding,
      // The broker's clock may be ahead of ours.
      since: Math.min(checkedAt, at),
      at,
      version,
    }));
}

function describe(checked: readonly CheckedPair[], missed: number): string {
  const asked = checked.filter(wasAsked);
  const count = (finding: Finding) => asked.filter((pair) => pair.finding === finding).length;
  const silent = `unreachable: ${count('unreachable')}, throttled: ${count('throttled')}`;
  return `Pairs that were asked: ${asked.length} (${silent}). Pairs that were not reached: ${missed}.`;
}
