import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inflate } from '../../../../functions/aws/https/sender.ts';
import { type Answer, jwt, read } from './token-answers.ts';

/** The larger of two bodies has twice this length. */
const LENGTH = 16 * 1_024;
const RUNS = 3;
const ROUNDS = 10;
const MOST = 2.5;

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const repeated = (text: string, length: number) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
const within = (length: number, member: string) => `{"token":"${TOKEN}","pad":${member.slice(0, length)}}`;
const padded = (text: string) => (length: number) => within(length, JSON.stringify(repeated(text, length - 64)));
const listed = (length: number, of: (at: number) => unknown) => Array.from({ length: length / 24 }, (_, at) => of(at));

/** Each kind of body in any length. */
const BODIES: readonly (readonly [string, (length: number) => unknown])[] = [
  ['a form of many parts', (length) => repeated('a=b&', length)],
  ['a form that is no form', (length) => repeated('a-', length)],
  ['a form of nothing but separators', (length) => `access_token=${'&'.repeat(length)}`],
  ['blanks before nothing', (length) => `Bearer${' '.repeat(length)}`],
  ['dots', (length) => '.'.repeat(length)],
  ['arrays in each other', (length) => '['.repeat(length / 2) + ']'.repeat(length / 2)],
  ['arrays without an end', (length) => '['.repeat(length)],
  ['objects in each other', (length) => `${'{"data":'.repeat(length / 8)}1${'}'.repeat(length / 8)}`],
  ['a nearly endless number', (length) => '9'.repeat(length)],
  ['escapes', (length) => `{"expires_in":"${'\\u0039'.repeat(length / 6)}","token":"a"}`],
  ['blanks inside of a token', (length) => ({ token: `x${' '.repeat(length)}x` })],
  ['Latin-1 that is declared as UTF-8', (length) => Buffer.from(`{"a":"${'é'.repeat(length)}"}`, 'latin1')],
  ['UTF-16 with its mark', (length) => Buffer.from(`\ufeff{"a":"${'é'.repeat(length / 2)}"}`, 'utf16le')],
  ['quotes in a JSON text', (length) => JSON.stringify(JSON.stringify({ a: '"'.repeat(length / 4) }))],
  ['texts in texts', (length) => nestedText(Math.log2(length) - 1)],
  ['texts with objects', (length) => ({ token: TOKEN, ...listed(length, () => '{"a":1}') })],
  ['a member that looks like JSON', padded('[')],
  ['a member that looks like a form', padded('a=')],
  ['a member that looks like a date', padded('2026-01-01 ')],
  ['a member that looks like base64', padded('QUJD')],
  ['a member in hexadecimal', padded('4a4b')],
  ['many entries', (length) => within(length, JSON.stringify(listed(length, (at) => ({ at }))))],
  ['many names of tokens', (length) => `{${listed(length, (at) => `"token${at}":1`)}}`],
  ['a long name', (length) => ({ token: TOKEN, [repeated('expires_', length)]: 1 })],
  ['a JWT with large claims', (length) => ({ token: TOKEN, id_token: jwt({ a: 'x'.repeat(length / 2) }) })],
  // A token is searched for the credential in all its encodings.
  ...['%2525', 'a+%41', 'abcd.', '\\u0041', 'QUJD'].map(
    (part) => [`"${part}" in a token`, (length: number) => ({ token: repeated(part, length / 2) })] as const,
  ),
];

const KINDS: readonly (readonly [string, (length: number) => Answer])[] = [
  ...BODIES.map(([what, bodyOf]) => [what, (length: number) => ({ type: null, body: bodyOf(length) })] as const),
  ...['1 ', 'Thu, '].map((wait) => {
    const headers = (length: number) => ({ 'retry-after': repeated(wait, length / 2) });
    return [
      `"${wait}" in a header`,
      (length: number) => ({ status: 429, headers: headers(length), body: '' }),
    ] as const;
  }),
];

it.each(KINDS)('twice the input costs at most 2.5 times the processor time: %s', (_, answerOf) => {
  const settings = { response: { passThrough: ['pad', 'data.data'] } };
  const [once, twice] = [answerOf(LENGTH), answerOf(2 * LENGTH)].map((answer) => () => read({ ...answer, settings }));
  expect(leastRatio(once, twice)).toBeLessThan(MOST);
});

it('a bomb costs what is read of it', () => {
  const [once, twice] = [2 ** 22, 2 ** 23].map((length) => {
    const bomb = gzipSync(Buffer.alloc(length));
    return () => inflate(bomb, 'gzip', LENGTH);
  });
  expect(leastRatio(once, twice)).toBeLessThan(MOST);
});

/** Returns the least ratio of the rounds until it is small. Other work of the machine, and compiling, only add to it. */
function leastRatio(once: () => unknown = () => undefined, twice: () => unknown = once): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= MOST; round += 1) {
    least = Math.min(least, leastTime(twice) / leastTime(once));
  }
  return least;
}

/** Returns the least microseconds of the processor for a call. */
function leastTime(call: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const before = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(before);
    // Less is the noise of the clock.
    return Math.max(user + system, 1_000);
  });
  return Math.min(...times);
}

/** An object in a text in a text …: each level doubles the escapes. */
function nestedText(depth: number): string {
  let text = '{"token":"abcdefgh12345678"}';
  while (text.length < 2 ** depth) text = JSON.stringify(text);
  return text;
}
