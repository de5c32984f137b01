import { describe, expect, it } from 'vitest';
import { causeWord } from '../../../functions/aws/calls.ts';
import { bugPlace } from '../../../functions/aws/log/audit-log.ts';

const PLACE = /^at .*errors\.test\.ts:\d+:\d+\)?$/;

describe('the word for the cause of a failure', () => {
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
    [
      'an error whose name looks like a secret',
      Object.assign(new Error('x'), { name: 'wJalrXUtnFEMIK7MDENGbPxRfiCY' }),
    ],
    ['an error whose name is a passphrase', Object.assign(new Error('x'), { name: 'correct-horse-battery' })],
    ['an error whose name is a client id', Object.assign(new Error('x'), { code: 'acme' })],
    ['an error whose code looks like a secret', Object.assign(new Error('x'), { code: 'Se9ZpR4SSe9ZpR4S' })],
  ])('there is no word for %s', (_, thrown) => {
    expect(causeWord(thrown)).toBe('unknown');
  });
});

describe('the place of a bug', () => {
  it('is its name and where it was thrown', () => {
    expect(bugPlace(new RangeError('marked'))).toEqual({
      name: 'RangeError',
      at: expect.arrayContaining([expect.stringMatching(PLACE)]),
    });
  });

  it('is not lost on the way through functions without a name that wait', async () => {
    const places = [async () => stumble(), async () => (await Promise.all([stumble()]))[0]].map((wait) =>
      (async () => await wait())().catch(bugPlace),
    );
    for (const { at } of await Promise.all(places))
      expect(at[0]).toMatch(/^at stumble \(.*errors\.test\.ts:\d+:\d+\)$/);
  });

  it.each<[string, () => unknown]>([
    ['a message', () => new Error('marked')],
    ['a message of several lines', () => new Error('a\nmarked\n  marked')],
    ['a message that looks like a place', () => new Error('a\n    at marked (file:///marked:1:2)')],
    ['a message that was taken away', () => Object.assign(new Error('a\n    at marked\nmarked'), { message: '' })],
    ['a message that was replaced', () => Object.assign(new Error('marked\n    at marked'), { message: 'E' })],
    ['a name that is no word', () => Object.assign(new Error('x'), { name: 'marked: name' })],
    ['a name that a machine made', () => Object.assign(new Error('x'), { name: 'm4rKed7Xw2marked' })],
    ['a code that is no word', () => Object.assign(new Error('x'), { code: 'marked code' })],
    ['a trace of its own', () => Object.assign(new Error('x'), { stack: 'Error: x\n    at marked' })],
    ['a trace that is not a text', () => Object.assign(new Error('x'), { stack: ['marked'] })],
    ['a trace that throws', () => Object.defineProperty(new Error('x'), 'stack', { get: fail })],
    ['a message that throws', () => Object.defineProperty(new Error('x'), 'message', { get: fail })],
    ['causes', () => new AggregateError([new Error('marked')], 'marked', { cause: new Error('marked') })],
    ['members', () => Object.assign(new Error('x'), { $response: { body: 'marked' }, marked: 'marked' })],
    ['a text', () => 'marked'],
    ['an object that lies about itself', () => ({ toString: () => 'marked', name: 'marked', stack: 'marked' })],
    ['a proxy that throws', () => new Proxy({}, { getPrototypeOf: fail, get: fail })],
  ])('shows nothing of %s', (_, make) => {
    expect(JSON.stringify(bugPlace(make()))).not.toContain('marked');
  });
});

async function stumble(): Promise<ReturnType<typeof bugPlace>> {
  await Promise.resolve();
  throw new TypeError('marked');
}

function fail(): never {
  throw new Error('marked');
}
