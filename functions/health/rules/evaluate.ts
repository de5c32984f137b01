import { type Pair, pairKey, parsePairKey, type ServiceName } from '../../broker/pair.ts';
import { FINDINGS, type Finding } from '../../vocabulary.ts';
import { type CheckedPair, type Checks, failureText, isSilent, wasAsked } from './check-pairs.ts';

/** New findings, and the service whose memory they change. */
export type Findings = RunFindings | ClientFindings;

/** The findings of a run about a service, or with `undefined` about the broker and the probe. */
interface RunFindings {
  readonly kind: 'run';
  readonly service: ServiceName | undefined;
  readonly checks: Checks;
  /** The pairs of the list of clients. */
  readonly listed: readonly Pair[];
  readonly probe: ProbeAnswer;
  readonly at: number;
}

/** The finding of an event about a client on a service. It proves nothing about the service. */
interface ClientFindings {
  readonly kind: 'client';
  readonly service: ServiceName;
  readonly checked: readonly CheckedPair[];
}

/** Whether the broker refused the role without an access rule. `said` is a word for its answer or the failure. */
export interface ProbeAnswer {
  readonly condition: 'denied' | 'not-denied' | 'unproven';
  readonly said: string;
}

/** The condition of a pair, a service, the broker or the probe. Times are epoch milliseconds. */
export type Observation =
  | (Look & {
      readonly kind: 'pair';
      readonly pair: Pair;
      readonly condition: Finding;
      readonly cause?: string | undefined;
      readonly credentialExpiresAt?: string | undefined;
    })
  | (Look & {
      readonly kind: 'expiry';
      readonly pair: Pair;
      readonly condition: ExpiryCondition;
      readonly credentialExpiresAt: string;
    })
  | (Look & { readonly kind: 'service'; readonly service: ServiceName; readonly condition: 'incident' | 'answering' })
  | (Look & { readonly kind: 'broker'; readonly condition: 'incident' | 'answering' })
  | (Look & { readonly kind: 'probe'; readonly condition: ProbeAnswer['condition'] });

interface Look {
  /** The start of the condition, as far as known. */
  readonly since: number;
  /** The time of the latest observation. */
  readonly at: number;
  /** The version of the secret, if known. */
  readonly version?: string | undefined;
  /** A sentence for the message, such as why the secret is malformed. Never contains a value. */
  readonly detail?: string | undefined;
}

/** The conditions of a credential near its expiry, by the days that are left at most. */
const LIMITS_BY_DAYS = [
  [0, 'ended'],
  [1, 'ends-within-1-day'],
  [7, 'ends-within-7-days'],
  [30, 'ends-within-30-days'],
] as const;
type ExpiryCondition = (typeof LIMITS_BY_DAYS)[number][1] | 'end-malformed' | 'end-mistagged' | 'lasting';

export const CONDITIONS = [
  ...[...FINDINGS, 'incident', 'answering', 'denied', 'not-denied', 'unproven'],
  ...[...LIMITS_BY_DAYS.map(([, condition]) => condition), 'end-malformed', 'end-mistagged', 'lasting'],
] as const;

/** The last known condition. A good condition is dropped after 15 minutes. */
export interface Entry extends Look {
  readonly condition: (typeof CONDITIONS)[number];
}

/** The last known conditions, by `subjectOf`. */
export type Entries = ReadonlyMap<string, Entry>;

/** Returns what an observation is about: a pair, the expiry of its credential, the service, the broker or the probe. */
export function subjectOf(observation: Observation): string {
  if (observation.kind === 'expiry') return expiryKey(observation.pair);
  return observation.kind === 'pair' ? pairKey(observation.pair) : observation.kind;
}

function expiryKey(pair: Pair): string {
  return `${pairKey(pair)}${EXPIRY}`;
}

/** Returns whether a stored key is a subject. */
export function isSubject(key: string): boolean {
  const isPairKey = (text: string) => parsePairKey(text) !== undefined;
  if (/^(?:service|broker|probe)$/.test(key) || isPairKey(key)) return true;
  return key.endsWith(EXPIRY) && isPairKey(key.slice(0, -EXPIRY.length));
}

const EXPIRY = '/end';

/** Returns the observations and `kept`, the entries that are still valid. The others are dropped without a message. */
export function evaluate(findings: Findings, entries: Entries) {
  if (findings.kind === 'client') {
    return { observations: observePairs(findings.checked, openIncident(entries) !== undefined), kept: entries };
  }
  const { service } = findings;
  return service === undefined ? evaluateOverall(findings, entries) : evaluateService(service, findings, entries);
}

/** Returns whether the checks of a run are enough to begin an incident of the service. */
export function hasIncident(service: ServiceName, { checked }: Checks): boolean {
  return hasBegun(checked.filter(({ pair }) => pair.service === service));
}

/** Returns whether the condition needs no action. */
export function isGood({ condition }: Pick<Entry, 'condition'>): boolean {
  return ['accepted', 'answering', 'denied', 'lasting'].includes(condition);
}

/**
 * Replaces the messages about single clients without an answer by an incident of the service.
 * An incident begins when at least five pairs were asked and at least 80 % of them got no answer. It ends when more
 * pairs get an answer than get no answer. The gap between the limits prevents flapping.
 */
function evaluateService(service: ServiceName, { listed, checks, at }: RunFindings, entries: Entries) {
  const checked = checks.checked.filter(({ pair }) => pair.service === service);
  const open = openIncident(entries);
  const isIncident = open === undefined ? hasBegun(checked) : !hasEnded(checked, open);
  const condition = isIncident ? 'incident' : 'answering';
  const asked = checked.filter(wasAsked).length;
  const detail = `${silentPairs(checked).length} of ${asked} pairs that were asked got no answer.`;

  // A deleted client needs no message, because the check has withdrawn its token.
  const listedKeys = new Set(listed.flatMap((pair) => [pairKey(pair), expiryKey(pair)]));
  const without = checked.filter(({ finding }) => finding === 'secret-missing' || finding === 'disabled');
  const gone = new Set(without.map(({ pair }) => pairKey(pair)).filter((key) => !listedKeys.has(key)));
  const there = checked.filter(({ pair }) => !gone.has(pairKey(pair)));
  const isKept = (key: string) => key === 'service' || listedKeys.has(key) || (parsePairKey(key) && !gone.has(key));
  const kept = [...entries].filter(([key, entry]) => isKept(key) && !(isIncident && isSilent(entry.condition)));
  const ofService: Observation = { kind: 'service', service, condition, since: at, at, detail };
  return { observations: [ofService, ...observePairs(there, isIncident)], kept: new Map(kept) };
}

function openIncident(entries: Entries): Entry | undefined {
  const entry = entries.get('service');
  return entry?.condition === 'incident' ? entry : undefined;
}

function hasBegun(checked: readonly CheckedPair[]): boolean {
  const asked = checked.filter(wasAsked).length;
  return asked >= MIN_ASKED && silentPairs(checked).length >= asked * MIN_SHARE;
}

const MIN_ASKED = 5;
const MIN_SHARE = 0.8;

function hasEnded(checked: readonly CheckedPair[], { at: lastSeenAt }: Entry): boolean {
  const isAnswered = (pair: CheckedPair) =>
    // Traffic can prove earlier than a check that the service answers again.
    wasAsked(pair) ? !isSilent(pair.finding) : pair.provenBy === 'traffic' && pair.checkedAt > lastSeenAt;
  return checked.filter(isAnswered).length > silentPairs(checked).length;
}

function silentPairs(checked: readonly CheckedPair[]): readonly CheckedPair[] {
  return checked.filter((pair) => wasAsked(pair) && isSilent(pair.finding));
}

function observePairs(checked: readonly CheckedPair[], isIncident: boolean): readonly Observation[] {
  const reported = checked.filter((pair) => !isSilent(pair.finding) || (!isIncident && wasAsked(pair)));
  return [
    ...reported.map((look) => ({ ...look, kind: 'pair', condition: look.finding, since: look.checkedAt }) as const),
    ...checked.flatMap(observeExpiry),
  ];
}

/** Observes the expiry of a credential. An answer of an earlier release, or without a secret, does not contain it. */
function observeExpiry(look: CheckedPair): readonly Observation[] {
  const { credentialExpiresAt, at } = look;
  if (credentialExpiresAt === undefined) return [];
  const condition = expiryCondition(look, credentialExpiresAt);
  return [{ ...look, kind: 'expiry', condition, credentialExpiresAt, since: at }];
}

function expiryCondition({ at, expiryTag = '' }: CheckedPair, expiry: string): ExpiryCondition {
  if (expiry === 'malformed') return 'end-malformed';
  // Every comparison with NaN, the days until `never`, is false.
  const days = (Date.parse(expiry) - at) / DAY_MS;
  const [, near] = LIMITS_BY_DAYS.find(([limit]) => days <= limit) ?? [];
  return near ?? (expiryTag === '' || expiryTag.split(' ').includes(expiry) ? 'lasting' : 'end-mistagged');
}

export const DAY_MS = 24 * 60 * 60_000;

/** The broker has an incident if most checks have no finding, and no check reaches a service. */
function evaluateOverall({ checks, probe: { condition, said }, at }: RunFindings, entries: Entries) {
  const look = { since: at, at };
  const observations: Observation[] = [];
  const failed = checks.missed.filter(({ reason }) => reason === 'failed').map(failureText);
  // Without its table the broker still answers some checks, from what it remembers.
  const isMost = checks.missed.length > checks.checked.length;
  const isIncident = failed.length > 0 && isMost && !checks.checked.some(wasAsked);
  if (checks.checked.length > 0 && !isIncident) observations.push({ kind: 'broker', ...look, condition: 'answering' });
  if (isIncident) {
    const causes = [...new Set(failed)].toSorted().join(', ');
    const detail = `Checks returned no finding: ${causes}.`;
    observations.push({ kind: 'broker', ...look, condition: 'incident', detail });
  }
  // If the broker answers no request, the message about the broker is enough.
  if (!isIncident || condition !== 'unproven') {
    observations.push({ kind: 'probe', ...look, condition, detail: `The answer was: ${said}.` });
  }
  return { observations, kept: entries };
}
