import type { SentRequest } from '../recorder.ts';
import type { Entry, Outcome, Station } from './messages.ts';

/** The known facts of an answered call. */
interface AnsweredCall {
  readonly response: Response;
  readonly outcome: Outcome;
  readonly answer: Readonly<Record<string, unknown>>;
  /** The members of the audit line. Absent when the call did not reach the broker. */
  readonly audited: Readonly<Record<string, unknown>> | undefined;
  readonly sent: readonly SentRequest[];
  readonly milliseconds: number;
}

/** Returns the path of a call from the caller to the service, according to its answer, audit line and requests. */
export function wayOf(call: AnsweredCall): readonly Station[] {
  const { outcome, response, audited, sent, milliseconds } = call;
  const to = (name: SentRequest['to']) => sent.filter((request) => request.to === name);
  const [taken, ...settled] = to('lease');
  const requests = to('service');
  const isRefused = outcome.kind === 'refused';
  const { pair, cache, Duration } = audited ?? {};
  const away = awayOf(call);
  const [read, readMs] = visit(to('table'), settled.length > 0 ? 'read, written' : 'read');
  const rule = audited === undefined ? 'refused by AWS' : isRefused ? outcome.word : pair && 'allowed';

  const visits: readonly Visit[] = [
    ['caller', 'signed', milliseconds],
    ['broker', `${rule ?? 'role identified'}`, Number(Duration)],
    ['memory', memoryNote(call, away)],
    ['table', away ?? read, readMs],
    ['lease', ...visit(taken ? [taken] : [], taken?.status === 200 ? 'taken' : 'not taken')],
    ['secret', ...visit(to('secret'), 'read')],
    ['service', ...visit(requests, `${requests.at(-1)?.status ?? 'no'} answer`)],
  ];
  const last = visits.findLast(([, note]) => note !== undefined)?.[0];
  // A token of memory or the table was issued, even if a renewal at the same time failed.
  const end = cache === 'shared' || outcome.word === away ? 'table' : memoryNote(call, away) ? 'memory' : last;
  const isPassing = response.status >= 429 || outcome.word === 'throttled' || outcome.word === 'unreachable';
  const ended = outcome.kind === 'good' ? 'answered' : isPassing ? 'failed' : 'refused';
  return visits.map(([name, note, took = Number.NaN]) => ({
    name,
    state: note === undefined ? 'off' : name === end ? ended : note === away ? 'failed' : 'passed',
    note,
    milliseconds: Number.isNaN(took) ? undefined : Math.round(took),
  }));
}

/** Returns the warning about a table that failed, unless it answered the last read. */
function awayOf({ outcome, audited, sent }: AnsweredCall): string | undefined {
  if (sent.findLast((request) => request.to === 'table')?.status === 200) return undefined;
  return /table-\w+/.exec(`${[outcome.word, audited?.warnings]}`)?.[0];
}

/** A call that sent no request, or that the table did not answer, was answered with the pair's record in memory. */
function memoryNote({ outcome, audited, sent }: AnsweredCall, away: string | undefined): string | undefined {
  if (away !== undefined) return outcome.word === away ? 'remembered nothing that serves' : 'remembered the answer';
  const isSilent = audited?.pair !== undefined && outcome.kind !== 'refused' && sent.length === 0;
  return audited?.cache === 'memory' || isSilent ? 'contained the answer' : undefined;
}

/** A station. Note and duration are absent where the call did not arrive. */
type Visit = readonly [name: Station['name'], note?: string | undefined, milliseconds?: number | undefined];

function visit(requests: readonly SentRequest[], note: string): readonly [note?: string, milliseconds?: number] {
  if (requests.length === 0) return [];
  return [note, requests.reduce((sum, { milliseconds }) => sum + milliseconds, 0)];
}

/** Returns the main facts of an answer for a caller. */
export function factsOf({ response: { headers }, answer, audited }: AnsweredCall): readonly Entry[] {
  const retryAfter = headers.get('retry-after');
  const { expires_at: end, fingerprint, proven_by } = answer;
  const facts = {
    'expires in': typeof end === 'string' ? durationText(Date.parse(end) - Date.now()) : undefined,
    source: ORIGINS.get(`${audited?.cache}`) ?? proven_by,
    fingerprint,
    'retry after': retryAfter ? `${retryAfter} s` : undefined,
    'request id': headers.get('x-amzn-requestid') ?? '',
  };
  return Object.entries(facts).flatMap(([name, text]) => (text === undefined ? [] : [{ name, text: `${text}` }]));
}

/** Formats a duration in minutes, or in seconds if less than two minutes: `59 min`. */
export function durationText(ms: number): string {
  return ms < 120_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : `${Math.floor(ms / 60_000)} min`;
}

/** The source of a token, by the audit line's word. */
export const ORIGINS: ReadonlyMap<string, string> = new Map([
  ['memory', 'memory'],
  ['shared', 'the table'],
  ['none', 'a token request'],
]);
