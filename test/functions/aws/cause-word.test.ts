import { expect, it } from 'vitest';
import { causeWord } from '../../../functions/aws/cause-word.ts';

it.each([
  ['AccessDeniedException', Object.assign(new Error('marked'), { name: 'AccessDeniedException' })],
  ['ECONNRESET', Object.assign(new Error('marked'), { code: 'ECONNRESET' })],
  ['TypeError', Object.assign(new TypeError('marked'), { code: 7 })],
])('%s is the word for an error that has it as its code, or else as its name', (word, error) => {
  expect(causeWord(error)).toBe(word);
});

it.each([
  ['no error', 'marked'],
  ['an error whose name is a text', Object.assign(new Error('x'), { name: 'marked: text' })],
  // The SDK takes the name of an error from the answer.
  ['an error whose name looks like a secret', Object.assign(new Error('x'), { name: 'wJalrXUtnFEMIK7MDENGbPxRfiCY' })],
  ['an error whose code looks like a secret', Object.assign(new Error('x'), { code: 'Se9ZpR4SSe9ZpR4S' })],
])('there is no word for %s', (_, thrown) => {
  expect(causeWord(thrown)).toBe('unknown');
});
