import type { ProblemType } from '../../functions/contract.ts';

interface Guide {
  readonly means: string;
  /** What the `detail` of such a problem can say. */
  readonly example: string;
}

/** Every problem in the words of its caller; the table of README.md is held against it and the advice of `PROBLEMS`. */
export const PROBLEM_GUIDE: Readonly<Record<ProblemType, Guide>> = {
  'invalid-request': {
    means: 'the request is not well-formed',
    example: 'min_ttl: must be a whole number of seconds.',
  },
  'access-denied': {
    means: 'no access rule covers the request, or there is no such client or service',
    example:
      'No access rule lets this role do this for this client on this service. Ask the operators of the broker for a rule.',
  },
  'not-found': {
    means: 'there is nothing at this path',
    example: 'The broker answers POST /token and POST /check.',
  },
  'method-not-allowed': { means: 'the method is not POST', example: 'Send a POST.' },
  'content-too-large': {
    means: 'the body has more than 16 KiB',
    example: 'The body has 20000 bytes; at most 16384 are read.',
  },
  'unsupported-media-type': {
    means: 'the body is neither JSON nor a form in UTF-8',
    example:
      'Send application/json or application/x-www-form-urlencoded, in UTF-8, and name it in the content-type header.',
  },
  'credential-missing': {
    means: 'there is no secret for the client',
    example:
      'No secret "token-broker/prod/acme" has a version AWSCURRENT. An operator must store one with Secrets Manager under this name.',
  },
  'credential-malformed': {
    means: 'the secret cannot be used',
    example: 'The stored credential cannot be used: secret is empty.',
  },
  'credential-rejected': {
    means: 'the service does not accept the credential; it is not sent again and again',
    example:
      'The service customer-insights rejected the credential of acme (secret version 5f0d3c1e-8a52-4b7e-9d61-2c4f7a90e3b8). An operator must store the right one.',
  },
  'client-disabled': {
    means: 'an operator has stopped the client',
    example: 'An operator has disabled the client acme.',
  },
  'token-response-unusable': {
    means: "no token was found in the service's answer",
    example: 'The answer of the token endpoint (200) is unusable: no member of it holds a token.',
  },
  'token-endpoint-error': {
    means: 'the service turned the token request itself away',
    example:
      'The token endpoint answered 404: there is nothing at this path. Check tokenPath, and the base path in authUrl.',
  },
  'token-endpoint-unavailable': {
    means: 'the service cannot be reached, is failing or throttles',
    example: 'The token endpoint answered 503.',
  },
  'refused-again': {
    means: 'the successor of a refused token was refused within 30 s',
    example: 'This token is the successor of one that was refused less than 30 seconds ago.',
  },
  'token-endpoint-timeout': {
    means: 'the service did not answer in time',
    example: 'auth.example.com took the token request and did not answer completely in time (ETIMEDOUT).',
  },
  'secrets-unavailable': {
    means: 'Secrets Manager did not give the credential',
    example: 'Secrets Manager did not give the secret "token-broker/prod/acme" in time.',
  },
  internal: {
    means: 'the broker failed',
    example: 'The broker failed. Tell its operators the request_id.',
  },
};
