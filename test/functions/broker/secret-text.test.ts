import { expect, it } from 'vitest';
import { shows } from '../../../functions/broker/secret-text.ts';

const SECRET = 'marked-secret';

it.each([[SECRET], [`before ${SECRET} behind`], [[1, [SECRET]]], [{ a: { b: SECRET } }], [{ [`x${SECRET}`]: 1 }]])(
  '%j shows the secret',
  (value) => {
    expect(shows(value, SECRET)).toBe(true);
  },
);

it.each([[''], ['marked-'], [7], [true], [null], [undefined], [{}], [[]], [{ a: 'marked', b: '-secret' }]])(
  '%j does not show it',
  (value) => {
    expect(shows(value, SECRET)).toBe(false);
  },
);

it('shows a secret of eight characters within other words, a shorter one not', () => {
  expect([shows('a12345678', '12345678'), shows('a1234567', '1234567')]).toEqual([true, false]);
});

it('shows a short secret only where nothing else stands', () => {
  expect([shows('abc', 'abc'), shows('abcd', 'abc'), shows({ a: 'abc' }, 'abc'), shows(123, '123')]).toEqual([
    true,
    false,
    true,
    true,
  ]);
});
