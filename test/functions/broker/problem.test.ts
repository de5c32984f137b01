import { expect, it } from 'vitest';
import { Problem } from '../../../functions/broker/problem.ts';

it('is printed as what it is: its type and what the caller is told, not its cause', () => {
  const problem = new Problem('secrets-unavailable', 'Come back later.', { cause: 'AccessDeniedException' });

  expect(String(problem)).toBe('Problem: secrets-unavailable: Come back later.');
});
