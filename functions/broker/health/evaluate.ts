import type { Finding } from '../../contract.ts';
import { type Pair, pairKey, type ServiceName } from '../pair/pair.ts';
import { type CheckedPair, type Checks, isSilent, wasAsked } from './check-pairs.ts';
import type { ProbeAnswer } from './probe.ts';
import {
  type BrokerObservation,
  type Entries,
  type Entry,
  type Evaluation,
  isGood,
  isPairKey,
  type Observation,
  type PairObservation,
  type ServiceObservation,
} from './transitions.ts';

/** What was found out, and the service in whose memory it belongs (`undefined`: the memory of what concerns no single one). */
export type Findings = ServiceFindings | OverallFindings | ClientFindings;

/** What a run found out about one service. Times are epoch milliseconds. */
interface ServiceFindings {
  readonly kind: 'service';
  readonly service: ServiceName;
  /** The pairs that the list of clients shows, of other services too. */
  readonly listed: readonly Pair[];
  readonly checks: Checks;
  readonly at: number;
}

/** What a run found out about the broker, the probe, and pairs whose service is not configured. */
interface OverallFindings {
  readonly kind: 'overall';
  readonly service: undefined;
  readonly checks: Checks;
  readonly unknown: readonly Pair[];
  readonly probe: ProbeAnswer;
  readonly at: number;
}

/** What an event found out about a client on one service, from which nothing follows for the service. */
interface ClientFindings {
  readonly kind: 'client';
  readonly service: ServiceName;
  readonly checked: readonly CheckedPair[];
}

/** What findings come to, given what is remembered of earlier ones. */
export function evaluate(findings: Findings, entries: Entries): Evaluation {
  switch (findings.kind) {
    case 'service':
      return evaluateService(findings, entries);
    case 'overall':
      return evaluateOverall(findings, entries);
    case 'client': {
      const observations = observationsOf(findings.checked, openIncident(entries) !== undefined);
      return { observations, forgotten: new Set() };
    }
  }
}

/** Whether a run by itself is enough for an incident of the service to begin. */
export function hasIncident(service: ServiceName, { checked }: Checks): boolean {
  return hasBegun(checked.filter(({ pair }) => pair.service === service));
}

/**
 * While a service answers hardly any request there is an incident of the service, which takes the place of everything that
 * could be said about single clients that got no answer.
 *
 * An incident begins when at least five pairs were asked and at least 80 % of them got no answer. It ends when more pairs
 * are answered than are not; between the two nothing changes, so that a service in a bad way does not come and go.
 */
function evaluateService({ service, listed, checks, at }: ServiceFindings, entries: Entries): Evaluation {
  const listedKeys = new Set(listed.map(pairKey));
  const checked = checks.checked.filter(({ pair }) => pair.service === service);
  const gone = checked.filter(({ pair, finding }) => !listedKeys.has(pairKey(pair)) && isGone(finding));
  const missed = checks.missed.filter(({ pair }) => pair.service === service).length;
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
  const goneKeys = new Set(gone.map(({ pair }) => pairKey(pair)));
  const isForgotten = ([key, entry]: readonly [string, Entry]) =>
    (isPairKey(key) && isIncident && isSilent(entry.condition)) || (goneKeys.has(key) && at - entry.at > LIST_LAG_MS);
  return {
    observations: [
      incident,
      ...observationsOf(
        checked.filter((pair) => !gone.includes(pair)),
        isIncident,
      ),
    ],
    forgotten: keysOf([...entries].filter(isForgotten)),
  };
}

/** What the broker says of a client that there is no more. The check has withdrawn its token: there is nothing to tell. */
function isGone(finding: Finding): boolean {
  return finding === 'secret-missing' || finding === 'disabled';
}

/** A client that is new may have been looked at upon an event before the list shows it. */
const LIST_LAG_MS = 10 * 60_000;

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

function describe(checked: readonly CheckedPair[], missed: number): string {
  const asked = checked.filter(wasAsked);
  const count = (finding: Finding) => asked.filter((pair) => pair.finding === finding).length;
  const silent = `unreachable: ${count('unreachable')}, throttled: ${count('throttled')}`;
  return `Pairs that were asked: ${asked.length} (${silent}). Pairs that were not reached: ${missed}.`;
}

function observationsOf(checked: readonly CheckedPair[], isIncident: boolean): readonly PairObservation[] {
  return checked
    .filter((pair) => !isSilent(pair.finding) || (!isIncident && wasAsked(pair)))
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

function evaluateOverall({ checks, unknown, probe, at }: OverallFindings, entries: Entries): Evaluation {
  const broker = observeBroker(checks, at);
  const isSameTrouble = broker?.condition === 'incident' && probe.condition === 'unproven';
  const unknownKeys = new Set(unknown.map(pairKey));
  const observations: readonly Observation[] = [
    ...(broker === undefined ? [] : [broker]),
    // When no request gets an answer of the broker, one message says so.
    ...(isSameTrouble ? [] : [observeProbe(probe, at)]),
    ...unknown.map((pair): PairObservation => ({ kind: 'pair', pair, condition: 'service-unknown', since: at, at })),
  ];
  return {
    observations,
    forgotten: keysOf([...entries].filter(([key]) => isPairKey(key) && !unknownKeys.has(key))),
  };
}

/** The broker is in trouble when it had something to say about no pair at all; `undefined` when it was not asked. */
function observeBroker({ checked, missed }: Checks, at: number): BrokerObservation | undefined {
  const failures = missed.flatMap(({ failure }) => failure ?? []);
  if (checked.length > 0) return { kind: 'broker', condition: 'answering', since: at, at };
  if (failures.length === 0) return undefined;
  const counts = [...new Set(failures)]
    .toSorted()
    .map((word) => `${word} (${failures.filter((other) => other === word).length})`);
  return {
    kind: 'broker',
    condition: 'incident',
    since: at,
    at,
    detail: `No check brought a finding: ${counts.join(', ')}.`,
  };
}

function observeProbe({ condition, said }: ProbeAnswer, at: number): Observation {
  return { kind: 'probe', condition, since: at, at, detail: `The answer was: ${said}.` };
}

function keysOf(entries: readonly (readonly [string, Entry])[]): ReadonlySet<string> {
  return new Set(entries.map(([key]) => key));
}
