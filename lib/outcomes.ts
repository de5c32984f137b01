/** How a request for a token ends when none is issued, by who can do something about it. A test proves that there are no others. */
export const OUTCOMES = {
  caller: [
    'access-denied',
    'invalid-request',
    'not-found',
    'method-not-allowed',
    'content-too-large',
    'unsupported-media-type',
  ],
  operator: [
    'credential-missing',
    'credential-malformed',
    'credential-rejected',
    'token-response-unusable',
    'token-endpoint-error',
  ],
  service: ['token-endpoint-unavailable', 'token-endpoint-timeout', 'refused-again'],
  broker: ['internal', 'secrets-unavailable'],
} as const;

/** What a check finds. */
export const FINDINGS = [
  'accepted',
  'rejected',
  'throttled',
  'unreachable',
  'misconfigured',
  'secret-missing',
  'secret-malformed',
  'disabled',
] as const;

/** Why the token of a shared record cannot be opened. */
export const UNREADABLE = ['broken', 'foreign', 'locked'] as const;

/** Why an event of Secrets Manager leads to no check. */
export const IGNORED_EVENTS = ['foreign', 'malformed'] as const;
