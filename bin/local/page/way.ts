import type { SentRequest } from '../recorder.ts';
import type { Entry, Outcome, Station } from './messages.ts';

/** All that is known of a call once it is answered. */
interface AnsweredCall {
  readonly requestId: string;
  readonly status: number;
  readonly outcome: Outcome;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly retryAfter: string | undefined;
  /** The members of the audit line; absent when the broker did not hear of the call. */
  readonly audited: Readonly<Record<string, unknown>> | undefined;
  /** What the broker sent for it. */
  readonly sent: readonly SentRequest[];
  /** As the caller measured it. */
  readonly milliseconds: number;
}

/** The way of a call, from the caller to the service: only what its answer, its audit line and its requests show. */
export function wayOf({ outcome, status, audited, sent, milliseconds }: AnsweredCall): readonly Station[] {
  const to = (name: SentRequest['to']) => sent.filter((request) => request.to === name);
  const [taken, ...settled] = to('lease');
  const requests = to('service');
  const isRefused = outcome.kind === 'refused';
  const { pair, cache, Duration } = audited ?? {};
  // Without a request of its own, all that the broker knew of the pair was in its memory.
  const isKnown = cache === 'memory' || (pair !== undefined && !isRefused && sent.length === 0);
  const rule = audited === undefined ? 'refused by AWS' : isRefused ? outcome.word : pair && 'allowed';

  const visits: readonly Visit[] = [
    ['caller', 'signed', milliseconds],
    ['broker', `${rule ?? 'knows the role'}`, Number(Duration)],
    ['memory', isKnown ? 'had the answer' : undefined],
    ['table', ...visit(to('table'), settled.length > 0 ? 'read, written' : 'read')],
    ['lease', ...visit(taken ? [taken] : [], taken?.status === 200 ? 'taken' : 'not taken')],
    ['secret', ...visit(to('secret'), 'read')],
    ['service', ...visit(requests, `${requests.at(-1)?.status ?? 'no'} answer`)],
  ];
  const last = visits.findLast(([, note]) => note !== undefined)?.[0];
  // A token of memory or the table was issued, also when a renewal beside it failed.
  const end = cache === 'memory' ? 'memory' : cache === 'shared' ? 'table' : last;
  const isPassing = status >= 429 || outcome.word === 'throttled' || outcome.word === 'unreachable';
  const ended = outcome.kind === 'good' ? 'answered' : isPassing ? 'failed' : 'refused';
  return visits.map(([name, note, took = Number.NaN]) => ({
    name,
    state: note === undefined ? 'off' : name === end ? ended : 'passed',
    note,
    milliseconds: Number.isNaN(took) ? undefined : Math.round(took),
  }));
}

/** A note and what was measured, where the call came. */
type Visit = readonly [name: Station['name'], note?: string | undefined, milliseconds?: number];

function visit(requests: readonly SentRequest[], note: string): readonly [note?: string, milliseconds?: number] {
  if (requests.length === 0) return [];
  return [note, requests.reduce((sum, { milliseconds }) => sum + milliseconds, 0)];
}

/** The few things that a caller wants to know of an answer. */
export function factsOf({ requestId, answer, retryAfter, audited }: AnsweredCall): readonly Entry[] {
  const { expires_at: end, fingerprint, proven_by } = answer;
  const facts = {
    'lives for': typeof end === 'string' ? durationText(Date.parse(end) - Date.now()) : undefined,
    'came from': ORIGINS.get(`${audited?.cache}`) ?? proven_by,
    fingerprint,
    'retry after': retryAfter && `${retryAfter} s`,
    'request id': requestId,
  };
  return Object.entries(facts).flatMap(([name, text]) => (text === undefined ? [] : [{ name, text: `${text}` }]));
}

/** A duration in minutes, or in seconds when it is short: `59 min`. */
export function durationText(ms: number): string {
  return ms < 120_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : `${Math.floor(ms / 60_000)} min`;
}

/** Where a token came from, by the audit line's word. */
export const ORIGINS: ReadonlyMap<string, string> = new Map([
  ['memory', 'memory'],
  ['shared', 'the table'],
  ['none', 'a token request'],
]);
