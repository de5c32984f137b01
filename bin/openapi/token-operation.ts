import { withAwsAnswers } from './aws-answers.ts';
import { headersOf } from './headers.ts';
import { problemResponses } from './problem-responses.ts';
import { requestBody } from './request-body.ts';

const PAIR = { client: 'acme', service: 'customer-insights' };

/** `POST /token`. */
export const TOKEN_OPERATION = {
  operationId: 'issueToken',
  summary: 'Issue a token',
  description:
    'Issues a token of one client on one service. While a token lives, it is issued again; a new one is requested once for all callers. Keep it until it ends, and ask again then.',
  requestBody: requestBody('TokenRequest', {
    token: { summary: 'A token', value: PAIR },
    lasting: { summary: 'A token that lives for ten minutes at least', value: { ...PAIR, min_ttl: 600 } },
    refused: {
      summary: 'The successor of a token that the service turned away',
      value: { ...PAIR, refused: '0123456789abcdef' },
    },
  }),
  responses: withAwsAnswers({
    200: {
      description: 'A token.',
      headers: headersOf({ cacheStatus: true }),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Token' },
          examples: {
            token: {
              summary: 'A token that lives for an hour',
              value: {
                access_token: 'Xq0LrUH1tVJ6mS8yWc2bZk9dN4pA7fGe3hTiRoQxB5M',
                token_type: 'Bearer',
                expires_in: 3599,
                expires_at: '2026-01-01T01:00:00.000Z',
                expiry_source: 'response',
                fingerprint: '0123456789abcdef',
                scope: 'read',
              },
            },
          },
        },
      },
    },
    ...problemResponses(),
  }),
};
