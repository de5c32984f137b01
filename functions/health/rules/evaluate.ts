import { type Pair, pairKey, type ServiceName } from '../../broker/pair.ts';
import { FINDINGS, type Finding } from '../../vocabulary.ts';
import { type CheckedPair, type Checks, isSilent, wasAsked } from './check-pairs.ts';

/** New findings, and the service in whose memory they belong. */
export type Findings = RunFindings | ClientFindings;

/** The findings of a run about one service; with `undefined`, about the broker and the probe. */
interface RunFindings {
  readonly kind: 'run';
  readonly service: ServiceName | undefined;
  readonly checks: Checks;
  /** The pairs that the list of clients shows. */
  readonly listed: readonly Pair[];
  readonly probe: ProbeAnswer;
  readonly at: number;
}

/** The finding of an event about one client on one service. Nothing about the service follows from it. */
interface ClientFindings {
  readonly kind: 'client';
  readonly service: ServiceName;
  readonly checked: readonly CheckedPair[];
}

/** Whether the broker refused the role without an access rule; `said` is its answer or the failure, as one word. */
export interface ProbeAnswer {
  /** Refused, as it must be; not refused; or not known. */
  readonly condition: 'denied' | 'not-denied' | 'unproven';
  readonly said: string;
}

/** The condition of a pair, a service, the broker or the probe. Times are epoch milliseconds. */
export type Observation =
  | (Look & { readonly kind: 'pair'; readonly pair: Pair; readonly condition: Finding })
  | (Look & { readonly kind: 'service'; readonly service: ServiceName; readonly condition: 'incident' | 'answering' })
  | (Look & { readonly kind: 'broker'; readonly condition: 'incident' | 'answering' })
  | (Look & { readonly kind: 'probe'; readonly condition: ProbeAnswer['condition'] });

interface Look {
  /** Since when it is so, as far as the look can tell. */
  readonly since: number;
  readonly at: number;
  /** Of the secret, when one was looked at. */
  readonly version?: string | undefined;
  /** A sentence for the message, without any value. */
  readonly detail?: string | undefined;
}

export const CONDITIONS = [...FINDINGS, 'incident', 'answering', 'denied', 'not-denied', 'unproven'] as const;

/** The last known condition. Good ones are dropped after 15 minutes. */
export interface Entry {
  readonly condition: (typeof CONDITIONS)[number];
  readonly since: number;
  /** Of the latest look. */
  readonly at: number;
  readonly version?: string | undefined;
}

/** The entries of the pairs, by key, and the entry of each other kind of observation. */
export interface Entries extends Readonly<Partial<Record<'service' | 'broker' | 'probe', Entry | undefined>>> {
  readonly pairs: ReadonlyMap<string, Entry>;
}

/** Observations from findings, and `kept`, the entries that still count; the others are dropped without a message. */
export function evaluate(findings: Findings, entries: Entries) {
  if (findings.kind === 'client') {
    return { observations: observePairs(findings.checked, openIncident(entries) !== undefined), kept: entries };
  }
  const { service } = findings;
  return service === undefined ? evaluateOverall(findings, entries) : evaluateService(service, findings, entries);
}

/** Whether a run by itself is enough for an incident of the service to begin. */
export function hasIncident(service: ServiceName, { checked }: Checks): boolean {
  return hasBegun(checked.filter(({ pair }) => pair.service === service));
}

/** Whether the condition needs no action. */
export function isGood({ condition }: Pick<Entry, 'condition'>): boolean {
  return condition === 'accepted' || condition === 'answering' || condition === 'denied';
}

/**
 * While a service answers hardly any request, one incident of the service replaces the messages about single clients that
 * got no answer.
 *
 * An incident begins when at least five pairs were asked and at least 80 % of them got no answer. It ends when more pairs
 * are answered than not. The gap between both limits keeps a shaky service from flapping.
 */
function evaluateService(service: ServiceName, { listed, checks, at }: RunFindings, entries: Entries) {
  const checked = checks.checked.filter(({ pair }) => pair.service === service);
  const open = openIncident(entries);
  const isIncident = open === undefined ? hasBegun(checked) : !hasEnded(checked, open);
  const condition = isIncident ? 'incident' : 'answering';
  const detail = `Of ${checked.filter(wasAsked).length} pairs that were asked, ${silentOnes(checked).length} got no answer.`;

  // A deleted client needs no message: the check has withdrawn its token.
  const listedKeys = new Set(listed.map(pairKey));
  const without = checked.filter(({ finding }) => finding === 'secret-missing' || finding === 'disabled');
  const gone = new Set(without.map(({ pair }) => pairKey(pair)).filter((key) => !listedKeys.has(key)));
  const there = checked.filter(({ pair }) => !gone.has(pairKey(pair)));
  const pairs = new Map(
    [...entries.pairs].filter(([key, { condition: last }]) => !gone.has(key) && !(isIncident && isSilent(last))),
  );
  const ofService: Observation = { kind: 'service', service, condition, since: at, at, detail };
  return { observations: [ofService, ...observePairs(there, isIncident)], kept: { ...entries, pairs } };
}

function openIncident({ service }: Entries): Entry | undefined {
  return service?.condition === 'incident' ? service : undefined;
}

function hasBegun(checked: readonly CheckedPair[]): boolean {
  const asked = checked.filter(wasAsked).length;
  return asked >= MIN_ASKED && silentOnes(checked).length >= asked * MIN_SHARE;
}

const MIN_ASKED = 5;
const MIN_SHARE = 0.8;

function hasEnded(checked: readonly CheckedPair[], { at: lastSeenAt }: Entry): boolean {
  const isAnswered = (pair: CheckedPair) =>
    // Traffic may prove that the service is back before a check does.
    wasAsked(pair) ? !isSilent(pair.finding) : pair.provenBy === 'traffic' && pair.checkedAt > lastSeenAt;
  return checked.filter(isAnswered).length > silentOnes(checked).length;
}

function silentOnes(checked: readonly CheckedPair[]): readonly CheckedPair[] {
  return checked.filter((pair) => wasAsked(pair) && isSilent(pair.finding));
}

function observePairs(checked: readonly CheckedPair[], isIncident: boolean): readonly Observation[] {
  return checked
    .filter((pair) => !isSilent(pair.finding) || (!isIncident && wasAsked(pair)))
    .map((look) => ({ ...look, kind: 'pair', condition: look.finding, since: look.checkedAt }));
}

/** An incident of the broker when it had no finding for any pair; nothing of it when it was not asked. */
function evaluateOverall({ checks, probe: { condition, said }, at }: RunFindings, entries: Entries) {
  const look = { since: at, at };
  const observations: Observation[] = [];
  const failures = [...new Set(checks.missed.flatMap(({ failure }) => failure ?? []))];
  const isIncident = checks.checked.length === 0 && failures.length > 0;
  if (checks.checked.length > 0) observations.push({ kind: 'broker', ...look, condition: 'answering' });
  if (isIncident) {
    const detail = `No check brought a finding: ${failures.toSorted().join(', ')}.`;
    observations.push({ kind: 'broker', ...look, condition: 'incident', detail });
  }
  // While the broker answers no request at all, the message about the broker is enough.
  if (!isIncident || condition !== 'unproven') {
    observations.push({ kind: 'probe', ...look, condition, detail: `The answer was: ${said}.` });
  }
  return { observations, kept: entries };
}
