import type { MemberPath } from './members.ts';

/** Writes a member's path without giving away a value of the answer. */
export type PrintPath = (path: MemberPath) => string;

/**
 * Thrown while an answer is read, when no token can come of it. Says what is wrong and which setting would help; paths
 * are printed only where the problem is made, because names can be as secret as values.
 */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
  readonly explain: (printPath: PrintPath) => string;

  constructor(explanation: string | ((printPath: PrintPath) => string)) {
    super('The answer of the token endpoint holds no usable token');
    this.explain = typeof explanation === 'string' ? () => explanation : explanation;
  }
}
