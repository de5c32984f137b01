import { expect, it } from 'vitest';
import { type Finding, findingOfProblem } from '../../../functions/broker/finding.ts';
import { PROBLEMS, type ProblemType } from '../../../functions/broker/problem.ts';

it('takes only what the service or its credential has done for a finding', () => {
  const types = Object.keys(PROBLEMS) as ProblemType[];
  const findings = types.map((type): [ProblemType, Finding | undefined] => [type, findingOfProblem(type, undefined)]);

  expect(Object.fromEntries(findings.filter(([, finding]) => finding !== undefined))).toEqual({
    'token-endpoint-unavailable': 'unreachable',
    'token-endpoint-timeout': 'unreachable',
    'token-endpoint-error': 'misconfigured',
    'token-response-unusable': 'misconfigured',
    'credential-malformed': 'secret-malformed',
  });
});

it.each([
  [429, 'throttled'],
  [503, 'unreachable'],
])('tells by the status %i that a service is %s', (status, finding) => {
  const shape = { status, contentType: 'none', bytes: 0, members: [] };

  expect(findingOfProblem('token-endpoint-unavailable', shape)).toBe(finding);
});
