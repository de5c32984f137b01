import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { tableText, talkOfProgress } from '../../../client/commands/output.ts';

describe('a table', () => {
  it('has columns as wide as they must be, and nothing at the end of a line', () => {
    expect(tableText(['A', 'LONG'], [['one', 'b'], ['c']])).toBe('A    LONG\none  b\nc\n');
  });

  it('does not let a cell steer the terminal', () => {
    expect(tableText(['A'], [['a\u001b[2J\n']])).toBe('A\na�[2J�\n');
  });
});

describe('progress', () => {
  it('is told every few seconds, and not for short work', () => {
    const lines: unknown[] = [];
    const stderr = new Writable({ write: (line, _, done) => done(void lines.push(String(line))) });
    let now = 0;
    const tell = talkOfProgress({ stderr }, 'Checking', () => now);
    for (let done = 1; done <= 100; done += 1) {
      now = done * 100;
      tell(done, 100);
    }
    expect(lines).toEqual(['Checking: 30 of 100\n', 'Checking: 60 of 100\n', 'Checking: 90 of 100\n']);
  });
});
