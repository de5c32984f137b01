import { problemResponse } from '../../functions/broker/http/response.ts';
import { Problem, type ShapeReport } from '../../functions/broker/problem.ts';
import { PROBLEMS, type ProblemType } from '../../functions/contract.ts';
import { PROBLEM_TYPES } from './answer-schemas.ts';
import type { DocumentedResponse } from './aws-answers.ts';
import { headersOf } from './headers.ts';
import { PROBLEM_GUIDE } from './problem-guide.ts';

/** The responses of the problems that an operation can answer with, by status; from the one table of problems. */
export function problemResponses(
  isPossible: (type: ProblemType) => boolean = () => true,
): Readonly<Record<string, DocumentedResponse>> {
  const byStatus = Map.groupBy(PROBLEM_TYPES.filter(isPossible), (type) => PROBLEMS[type].status);
  const responses = [...byStatus].map(([status, ofStatus]) => [status, problemResponseOf(status, ofStatus)]);
  return Object.fromEntries(responses);
}

function problemResponseOf(status: number, types: readonly ProblemType[]): DocumentedResponse {
  const retryable = types.every((type) => PROBLEMS[type].retryable);
  // An answer that keeps the broker from asking the service again says how long, also where no retry helps.
  const retryAfter = retryable || status === 424;
  const lines = types.map((type) => `* \`${type}\`: ${PROBLEM_GUIDE[type].means}. ${PROBLEMS[type].advice}`);
  const examples = types.map((type) => [type, { summary: PROBLEMS[type].title, value: exampleOf(type) }]);
  const properties = { type: { enum: types }, status: { const: status }, retryable: { const: retryable } };
  return {
    description: lines.join('\n'),
    headers: headersOf({ retryAfter, allow: types.includes('method-not-allowed') }),
    content: {
      'application/problem+json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, { properties }] },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Written by what writes the real ones. */
function exampleOf(type: ProblemType): unknown {
  const shape = type === 'token-response-unusable' ? SHAPE : undefined;
  const problem = new Problem(type, PROBLEM_GUIDE[type].example, { shape });
  return JSON.parse(problemResponse(problem, REQUEST_ID).body);
}

const REQUEST_ID = '7d2f6a0e-93b4-4c1b-8f25-61f0a4c7d9e3';

const SHAPE: ShapeReport = {
  status: 200,
  contentType: 'application/json',
  bytes: 31,
  members: [
    { path: '$', type: 'object', length: 2 },
    { path: 'status', type: 'string', length: 2 },
    { path: 'count', type: 'number' },
  ],
};
