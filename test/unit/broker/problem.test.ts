import { expect, it } from 'vitest';
import { findingOfProblem, Problem } from '../../../functions/broker/problem.ts';
import { type Finding, PROBLEMS, type ProblemType } from '../../../functions/contract.ts';

it('is printed as what it is: its type and what the caller is told, not its cause', () => {
  const problem = new Problem('secrets-unavailable', 'Come back later.', { cause: 'AccessDeniedException' });

  expect(String(problem)).toBe('Problem: secrets-unavailable: Come back later.');
});

it('takes for a finding only what the service, the credential or an operator has done', () => {
  const types = Object.keys(PROBLEMS) as ProblemType[];
  const findings = types.map((type): [ProblemType, Finding | undefined] => [type, findingOfProblem(type, undefined)]);

  expect(Object.fromEntries(findings.filter(([, finding]) => finding !== undefined))).toEqual({
    'token-endpoint-unavailable': 'unreachable',
    'token-endpoint-timeout': 'unreachable',
    'token-endpoint-error': 'misconfigured',
    'token-response-unusable': 'misconfigured',
    'credential-missing': 'secret-missing',
    'credential-malformed': 'secret-malformed',
    'credential-rejected': 'rejected',
    'client-disabled': 'disabled',
  });
});

it.each([
  [429, 'throttled'],
  [503, 'unreachable'],
])('tells by the status %i that a service is %s', (status, finding) => {
  const shape = { status, contentType: 'none', bytes: 0, members: [] };

  expect(findingOfProblem('token-endpoint-unavailable', shape)).toBe(finding);
});
