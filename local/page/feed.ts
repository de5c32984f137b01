import type { Message } from '../../functions/health/rules/messages.ts';
import { FINDINGS, type Finding, PROBLEMS } from '../../functions/vocabulary.ts';
import { commandsIn } from '../command-lines.ts';
import { CHECKERS } from '../config.ts';
import type { AnsweredRequest } from '../function-url/server.ts';
import type { OperatorMessage, Outcome, SeenRequest } from './messages.ts';
import { ORIGINS } from './way.ts';

/** Stores recent events for the page: requests to the broker, findings of checks, messages to operators. */
export function createFeed(now: () => number = Date.now) {
  let rows: readonly SeenRequest[] = [];
  let messages: readonly Omit<OperatorMessage, 'commands'>[] = [];
  const tokens = { all: 0, saved: 0 };
  const lines = new Map<string, string>();
  const findings = new Map<string, Found>();

  function add(request: SeenRequest): void {
    const isCheckers = Object.values<string>(CHECKERS).includes(request.caller ?? '');
    const run = isCheckers ? rows.find(({ folded, at }) => folded && request.at - at < RUN_GAP_MS) : undefined;
    const row = isCheckers ? fold(request, run?.folded) : request;
    rows = [row, ...rows.filter((seen) => seen !== run)].slice(0, ROWS);
  }

  return {
    /** Takes each audit line. Ignores a line that does not describe a single request to the broker. */
    audit(line: string): void {
      const { Requests, requestId, _aws, outcome, operation, caller, pair, cache, Duration, ...more } =
        JSON.parse(line);
      // Other lines summarize requests of the health function, each of which has a line of its own.
      if (Requests !== 1) return;
      const at = _aws.Timestamp;
      lines.set(requestId, line);
      for (const oldest of [...lines.keys()].slice(0, -LINES)) lines.delete(oldest);
      const isProof = outcome === 'issued' && more.TokenRequests > 0;
      if (outcome === 'issued') {
        tokens.all += 1;
        tokens.saved += isProof || cache === 'none' ? 0 : 1;
      }
      const finding = isProof ? 'accepted' : findingIn(outcome);
      if (pair && finding) findings.set(pair, { id: requestId, finding, at, version: more.credentialVersion });
      add({
        id: requestId,
        at,
        outcome: outcomeOf(outcome),
        // The role is `billing` in `aws:111111111111:billing/session`.
        caller: /:([^:/]+)\/[^/]*$/.exec(caller ?? '')?.[1],
        subject: pair ?? operation ?? '',
        origin: operation === 'check' ? 'check' : ORIGINS.get(cache),
        milliseconds: Math.round(Duration),
      });
    },
    /** Takes each answer of the Function URL. Requests that AWS refused have no audit line. */
    answered({ requestId, method, path, status, failure }: AnsweredRequest): void {
      if (lines.has(requestId)) return;
      const word = failure === undefined ? `AWS answered ${status}` : 'function failed';
      add({ id: requestId, at: now(), outcome: outcomeOf(word), subject: `${method} ${path}` });
    },
    /** Takes each message to the operators. */
    message({ subject, text }: Message): void {
      messages = [{ at: now(), subject, text }, ...messages].slice(0, ROWS);
    },
    /** Returns the events, newest first, with commands for the broker at this URL. */
    events: (url: string) => ({
      requests: rows,
      messages: messages.map((message) => ({ ...message, commands: commandsIn(message.text, url, {}) })),
      saved: tokens.all ? `${tokens.saved} of ${tokens.all} tokens without a request to the service` : 'no token yet',
    }),
    auditLine: (requestId: string): string | undefined => lines.get(requestId),
    /** Returns the finding of the last check or token request of a pair. */
    findingOf: (pair: string): Found | undefined => findings.get(pair),
  };
}

/** The finding of a request with its id, its time, and the version of the credential. */
export interface Found extends Pick<SeenRequest, 'id' | 'at'> {
  readonly finding: Finding;
  readonly version?: string | undefined;
}

const PROBLEM_KINDS: Readonly<Record<string, { readonly finding?: Finding; readonly concerns: string }>> = PROBLEMS;

/** Returns the finding of a check, or of the problem of a call. A caller's own mistake has no finding. */
function findingIn(outcome: string): Finding | undefined {
  return FINDINGS.find((finding) => finding === outcome) ?? PROBLEM_KINDS[outcome]?.finding;
}

const ROWS = 30;
const LINES = 200;
/** A longer time between two requests of the schedule means that the next run has begun. */
const RUN_GAP_MS = 15_000;

/** Returns a single row for all requests of a run. */
function fold(newest: SeenRequest, earlier: readonly SeenRequest[] = []): SeenRequest {
  const requests = [newest, ...earlier].slice(0, LINES);
  // The probe must be refused. The client of a refused role then calls `whoami`, which proves nothing.
  const asked = requests.filter(({ outcome }) => outcome.word !== 'identified');
  const isProbes = ({ caller }: SeenRequest) => caller === CHECKERS.probe;
  const countsOf = (seen: readonly SeenRequest[]) =>
    [...Map.groupBy(seen, ({ outcome }) => outcome.word)].map(([word, { length }]) => `${length} ${word}`).toSorted();
  const probed = countsOf(asked.filter(isProbes));
  const isWell = asked.every((seen) => seen.outcome.kind === (isProbes(seen) ? 'refused' : 'good'));
  return {
    id: requests.at(-1)?.id ?? newest.id,
    at: newest.at,
    outcome: { word: 'schedule', kind: isWell ? 'good' : 'bad' },
    subject: countsOf(asked.filter((seen) => !isProbes(seen))).join(', ') || 'nothing checked',
    origin: probed.length > 0 ? `probe: ${probed.join(', ')}` : undefined,
    folded: requests,
  };
}

/** Classifies an outcome as a success, as the refusal of a request or its caller, or as a failure. */
export function outcomeOf(word: string): Outcome {
  if (word === 'issued' || word === 'accepted' || word === 'identified') return { word, kind: 'good' };
  return { word, kind: PROBLEM_KINDS[word]?.concerns === 'caller' ? 'refused' : 'bad' };
}
