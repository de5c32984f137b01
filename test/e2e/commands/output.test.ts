import { describe, expect, it } from 'vitest';
import { tableText } from '../../../client/commands/output.ts';

describe('a table', () => {
  it('has columns as wide as they must be, and nothing at the end of a line', () => {
    expect(tableText(['A', 'LONG'], [['one', 'b'], ['c']])).toBe('A    LONG\none  b\nc\n');
  });

  it('does not let a cell steer the terminal', () => {
    expect(tableText(['A'], [['a\u001b[2J\n']])).toBe('A\na�[2J�\n');
  });
});
