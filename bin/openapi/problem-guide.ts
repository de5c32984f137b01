import type { ProblemType } from '../../functions/broker/problem.ts';

interface Guide {
  readonly means: string;
  /** What its caller does about it. */
  readonly advice: string;
  /** What the `detail` of such a problem can say. */
  readonly example: string;
}

/** Every problem in the words of its caller; the table of README.md is held against it. */
export const PROBLEM_GUIDE: Readonly<Record<ProblemType, Guide>> = {
  'invalid-request': {
    means: 'the request is not well-formed',
    advice: 'correct the member that `detail` names',
    example: 'min_ttl: must be a whole number of seconds.',
  },
  'access-denied': {
    means: 'no access rule covers the request, or there is no such client or service',
    advice: 'check the names and your role, then ask for a rule',
    example:
      'No access rule lets this role do this for this client on this service. Ask the operators of the broker for a rule.',
  },
  'not-found': {
    means: 'there is nothing at this path',
    advice: 'send to `/token`',
    example: 'The broker answers POST /token and POST /check.',
  },
  'method-not-allowed': { means: 'the method is not POST', advice: 'send a POST', example: 'Send a POST.' },
  'content-too-large': {
    means: 'the body has more than 16 KiB',
    advice: 'send less',
    example: 'The body has 20000 bytes; at most 16384 are read.',
  },
  'unsupported-media-type': {
    means: 'the body is neither JSON nor a form in UTF-8',
    advice: 'set `content-type`',
    example:
      'Send application/json or application/x-www-form-urlencoded, in UTF-8, and name it in the content-type header.',
  },
  'credential-missing': {
    means: 'there is no secret for the client',
    advice: 'an operator stores one',
    example:
      'No secret "token-broker/prod/acme" has a version AWSCURRENT. An operator must store one with Secrets Manager under this name.',
  },
  'credential-malformed': {
    means: 'the secret cannot be used',
    advice: 'an operator corrects what `detail` names',
    example: 'The stored credential cannot be used: secret is empty.',
  },
  'credential-rejected': {
    means: 'the service does not accept the credential; it is not sent again and again',
    advice: 'an operator stores the right one',
    example:
      'The service customer-insights rejected the credential of acme (secret version 5f0d3c1e-8a52-4b7e-9d61-2c4f7a90e3b8). An operator must store the right one.',
  },
  'token-response-unusable': {
    means: "no token was found in the service's answer",
    advice: "an operator names the members in `response`; the problem shows the answer's shape",
    example: 'The answer of the token endpoint (200) is unusable: no member of it holds a token.',
  },
  'token-endpoint-error': {
    means: 'the service turned the token request itself away',
    advice: 'an operator checks `authUrl`, `tokenPath` and `parameters`',
    example:
      'The token endpoint answered 404: there is nothing at this path. Check tokenPath, and the base path in authUrl.',
  },
  'token-endpoint-unavailable': {
    means: 'the service cannot be reached, is failing or throttles',
    advice: 'try again after `Retry-After`',
    example: 'The token endpoint answered 503.',
  },
  'refused-again': {
    means: 'the successor of a refused token was refused within 30 s',
    advice: 'use the new token, or wait',
    example: 'This token is the successor of one that was refused less than 30 seconds ago.',
  },
  'token-endpoint-timeout': {
    means: 'the service did not answer in time',
    advice: 'try again',
    example: 'auth.example.com took the token request and did not answer completely in time (ETIMEDOUT).',
  },
  'secrets-unavailable': {
    means: 'Secrets Manager did not give the credential',
    advice: "try again; check the function's permissions if it lasts",
    example: 'Secrets Manager did not give the secret "token-broker/prod/acme" in time.',
  },
  internal: {
    means: 'the broker failed',
    advice: 'tell its operators the `request_id`',
    example: 'The broker failed. Tell its operators the request_id.',
  },
};
