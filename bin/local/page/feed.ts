import type { AnsweredRequest } from '../function-url/server.ts';
import type { Outcome, SeenRequest } from './messages.ts';

/** Keeps the last requests to the broker, for the page. */
export function createRequestFeed(now: () => number = Date.now) {
  const recent = new Map<string, SeenRequest>();

  function add(requestId: string, request: SeenRequest): void {
    recent.set(requestId, request);
    for (const oldest of [...recent.keys()].slice(0, -FEED_LENGTH)) recent.delete(oldest);
  }

  return {
    /** Takes each audit line; what is not about one request to the broker is passed over. */
    audit(line: string): void {
      const { Requests, requestId, _aws, outcome, operation, caller, pair, cache, Duration } = JSON.parse(line);
      // Other lines tell what health made of its requests, which are seen by themselves.
      if (Requests !== 1) return;
      const origin = cache === 'none' ? 'token request' : cache && `from ${cache}`;
      add(requestId, {
        at: _aws.Timestamp,
        outcome: outcomeOf(outcome),
        // Of `aws:111111111111:billing/session`.
        caller: /:([^:/]+)\/[^/]*$/.exec(caller ?? '')?.[1],
        subject: pair ?? operation ?? '',
        origin: operation === 'check' ? 'check' : origin,
        milliseconds: Math.round(Duration),
      });
    },
    /** Takes each answer of the Function URL: of those that the broker never saw there is no audit line. */
    answered({ requestId, method, path, status, failure }: AnsweredRequest): void {
      if (recent.has(requestId)) return;
      const word = failure === undefined ? `AWS answered ${status}` : 'function failed';
      add(requestId, { at: now(), outcome: outcomeOf(word), subject: `${method} ${path}` });
    },
    /** Newest first. */
    recent: (): readonly SeenRequest[] => [...recent.values()].toReversed(),
  };
}

const FEED_LENGTH = 30;

/** An outcome and how it is to be seen: as a success, as the refusal of a request or its caller, or as a failure. */
export function outcomeOf(word: string): Outcome {
  if (word === 'issued' || word === 'accepted' || word === 'identified') return { word, kind: 'good' };
  return { word, kind: REFUSALS.has(word) ? 'refused' : 'bad' };
}

const REFUSALS = new Set([
  'access-denied',
  'invalid-request',
  'not-found',
  'method-not-allowed',
  'content-too-large',
  'unsupported-media-type',
]);
