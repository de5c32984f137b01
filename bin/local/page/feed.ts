import type { AnsweredRequest } from '../function-url/server.ts';
import type { Outcome, SeenRequest } from './messages.ts';

/** The last requests to the broker, for the page. */
export interface RequestFeed {
  /** Takes each audit line; what is not about one request to the broker is passed over. */
  readonly audit: (line: string) => void;
  /** Takes each answer of the Function URL: of those that the broker never saw there is no audit line. */
  readonly answered: (request: AnsweredRequest) => void;
  /** Oldest first. */
  readonly recent: () => readonly SeenRequest[];
  /** Gives the function that ends it. */
  readonly subscribe: (listener: (request: SeenRequest) => void) => () => void;
}

/** How many requests are remembered. */
export const FEED_LENGTH = 30;

export function createRequestFeed(now: () => number = Date.now): RequestFeed {
  const recent = new Map<string, SeenRequest>();
  const listeners = new Set<(request: SeenRequest) => void>();

  function add(requestId: string, request: SeenRequest): void {
    recent.set(requestId, request);
    for (const oldest of [...recent.keys()].slice(0, -FEED_LENGTH)) recent.delete(oldest);
    for (const listener of listeners) listener(request);
  }

  return {
    audit(line) {
      const { Requests, requestId, _aws, outcome, operation, caller, pair, cache, Duration } = JSON.parse(line);
      // Other lines tell what health made of its requests, which are seen by themselves.
      if (Requests !== 1) return;
      add(requestId, {
        at: _aws.Timestamp,
        outcome: outcomeOf(outcome),
        caller: roleName(caller),
        subject: pair ?? operation ?? '',
        origin: originOf(operation, cache),
        milliseconds: Math.round(Duration),
      });
    },
    answered({ requestId, method, path, status, failure }) {
      if (recent.has(requestId)) return;
      const word = failure === undefined ? `AWS answered ${status}` : 'function failed';
      add(requestId, { at: now(), outcome: outcomeOf(word), subject: `${method} ${path}` });
    },
    recent: () => [...recent.values()],
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Of `aws:111111111111:billing/session`. */
function roleName(caller: string | undefined): string | undefined {
  return /:([^:/]+)\/[^/]*$/.exec(caller ?? '')?.[1];
}

function originOf(operation: string | undefined, cache: string | undefined): string | undefined {
  if (operation === 'check') return 'check';
  return cache === 'none' ? 'token request' : cache && `from ${cache}`;
}

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
