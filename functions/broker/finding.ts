import type { ProblemType, ShapeReport } from './problem.ts';

/** What a check says of a pair. */
export type Finding = (typeof FINDINGS)[number];

export const FINDINGS = [
  'accepted',
  'rejected',
  /** The service asks for patience. */
  'throttled',
  'unreachable',
  /** The service answers, but not with a token: a wrong path, host, parameter or response setting. */
  'misconfigured',
  'secret-missing',
  'secret-malformed',
  'disabled',
] as const;

/** How a finding came about: a token request of this check, or of traffic before it, or what keeps it from being made. */
export type ProvenBy = (typeof PROOFS)[number];

export const PROOFS = ['request', 'traffic', 'latch', 'pause', 'secret', 'operator'] as const;

/** What a failed token request says of the pair; `undefined` when the failure is the broker's own. */
export function findingOfProblem(type: ProblemType, shape: ShapeReport | undefined): Finding | undefined {
  if (type === 'token-endpoint-unavailable') return shape?.status === 429 ? 'throttled' : 'unreachable';
  return FINDING_OF_PROBLEM[type];
}

const FINDING_OF_PROBLEM: Partial<Record<ProblemType, Finding>> = {
  'token-endpoint-timeout': 'unreachable',
  'token-endpoint-error': 'misconfigured',
  'token-response-unusable': 'misconfigured',
  'credential-malformed': 'secret-malformed',
};
