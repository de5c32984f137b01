import { PROBLEMS, type ProblemType } from '../../functions/contract.ts';
import { withAwsAnswers } from './aws-answers.ts';
import { headersOf } from './headers.ts';
import { problemResponses } from './problem-responses.ts';
import { requestBody } from './request-body.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

const FOUND = {
  ...PAIR,
  stage: 'AWSCURRENT',
  version: '5f0d3c1e-8a52-4b7e-9d61-2c4f7a90e3b8',
  checked_at: '2026-01-01T00:00:00.000Z',
};

/** To a check what an operator must end is a finding, and no check refuses a token. */
function isProblemOfCheck(type: ProblemType): boolean {
  return PROBLEMS[type].concerns !== 'operator' && type !== 'refused-again';
}

/** `POST /check`. */
export const CHECK_OPERATION = {
  operationId: 'checkCredential',
  summary: 'Check a credential',
  description:
    'Finds out whether the credential of one client works on one service, by a token request only where nothing else tells. For roles whose access rule has the operation `check`. Every finding is a 200; problems say what kept the broker from one.',
  requestBody: requestBody('CheckRequest', {
    current: { summary: 'The version in use', value: PAIR },
    pending: { summary: 'A version before it is put into use', value: { ...PAIR, stage: 'AWSPENDING' } },
  }),
  responses: withAwsAnswers({
    200: {
      description: 'What is known of the credential.',
      headers: headersOf({ retryAfter: true }),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Check' },
          examples: {
            accepted: {
              summary: 'It works',
              value: { ...FOUND, finding: 'accepted', proven_by: 'request', expires_in: 3599 },
            },
            throttled: {
              summary: 'A request of another check came just before: try again after `Retry-After`',
              value: { ...FOUND, stage: 'AWSPENDING', finding: 'throttled', proven_by: 'latch' },
            },
            rejected: {
              summary: 'The service rejected it before, so it was not sent again',
              value: { ...FOUND, finding: 'rejected', proven_by: 'latch' },
            },
          },
        },
      },
    },
    ...problemResponses(isProblemOfCheck),
  }),
};
