import { PROBLEMS, type ProblemType } from '../functions/contract.ts';

/** How a request for a token ends when none is issued, by who can do something about it. */
export const OUTCOMES = {
  caller: problemsOf('caller'),
  operator: problemsOf('operator'),
  service: problemsOf('service'),
  broker: problemsOf('broker'),
};

function problemsOf(who: (typeof PROBLEMS)[ProblemType]['concerns']): readonly string[] {
  return Object.entries(PROBLEMS).flatMap(([type, { concerns }]) => (concerns === who ? [type] : []));
}

/** Why the token of a shared record cannot be opened. */
export const UNREADABLE = ['closed', 'no-key'] as const;

/** Why an event of Secrets Manager leads to no check. */
export const IGNORED_EVENTS = ['foreign', 'malformed'] as const;
