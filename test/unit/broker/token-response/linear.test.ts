import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inflate } from '../../../../functions/aws/https/inflate.ts';
import { type Answer, jwt, read } from './token-answers.ts';

/** The larger of two bodies has twice this length. */
const LENGTH = 32 * 1_024;
const CALLS = 4;
const RUNS = 3;
const ROUNDS = 4;

const TOKEN = 'tok-4f9Kq2ZxV7mN1bR8';
const repeated = (text: string, length: number) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
const within = (length: number, member: string) => ({ body: `{"token":"${TOKEN}","pad":${member.slice(0, length)}}` });
const padded = (text: string) => (length: number) => within(length, JSON.stringify(repeated(text, length - 64)));

/** Each kind of body in any length. */
const KINDS: readonly (readonly [string, (length: number) => Answer])[] = [
  ['blanks before a word', (length) => ({ type: 'text/plain', body: `${repeated(' ', length)}x` })],
  ['blanks inside of a token', (length) => ({ body: { token: `x${repeated(' ', length)}x` } })],
  ['a form of many parts', (length) => ({ type: 'text/html', body: repeated('a=b&', length) })],
  ['a form that is no form', (length) => ({ type: 'text/html', body: repeated('a-', length) })],
  [
    'Latin-1 that is declared as UTF-8',
    (length) => ({ body: Buffer.from(`{"a":"${repeated('é', length)}"}`, 'latin1') }),
  ],
  [
    'UTF-16 with its mark',
    (length) => ({ body: Buffer.from(`\ufeff{"a":"${repeated('é', length / 2)}"}`, 'utf16le') }),
  ],
  ['quotes in a JSON text', (length) => ({ body: JSON.stringify(JSON.stringify({ a: repeated('"', length / 4) })) })],
  ['a member that looks like JSON', padded('[')],
  ['a member that looks like a form', padded('a=')],
  ['a member that looks like a date', padded('2026-01-01 ')],
  ['a member that looks like base64', padded('QUJD')],
  ['a member in hexadecimal', padded('4a4b')],
  [
    'many members',
    (length) => within(length, JSON.stringify(Array.from({ length: length / 24 }, (_, at) => ({ at })))),
  ],
  ['a long name', (length) => ({ body: { token: TOKEN, [repeated('expires_', length)]: 1 } })],
  [
    'a JWT with large claims',
    (length) => ({ body: { token: TOKEN, id_token: jwt({ a: repeated('x', length / 2) }) } }),
  ],
  ['waits in a header', (length) => ({ status: 429, headers: { 'retry-after': repeated('1 ', length) }, body: '' })],
  ['dates in a header', (length) => ({ status: 429, headers: { 'retry-after': repeated('Thu, ', length) }, body: '' })],
];

it.each(KINDS)('twice the input costs at most 2.5 times the processor time: %s', (_, answerOf) => {
  const [once, twice] = [answerOf(LENGTH), answerOf(2 * LENGTH)];
  expect(
    leastRatio(
      () => read(once),
      () => read(twice),
    ),
  ).toBeLessThan(2.5);
});

it('a bomb costs what is read of it', () => {
  const [once, twice] = [gzipSync(Buffer.alloc(2 ** 22)), gzipSync(Buffer.alloc(2 ** 23))];
  const inflated = (bomb: Buffer) => () => inflate(bomb, 'gzip', LENGTH);
  expect(leastRatio(inflated(once), inflated(twice))).toBeLessThan(2.5);
});

/** Returns the least ratio of several rounds. Other work on the machine, and compiling, only add to some of them. */
function leastRatio(once: () => unknown, twice: () => unknown): number {
  for (let calls = 0; calls < CALLS; calls += 1) once();
  return Math.min(...Array.from({ length: ROUNDS }, () => leastTime(twice) / leastTime(once)));
}

/** Returns the least microseconds of the processor for some calls. */
function leastTime(call: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const before = process.cpuUsage();
    for (let calls = 0; calls < CALLS; calls += 1) call();
    const { user, system } = process.cpuUsage(before);
    // Less is the noise of the clock.
    return Math.max(user + system, 1_000);
  });
  return Math.min(...times);
}
