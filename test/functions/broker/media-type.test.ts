import { expect, it } from 'vitest';
import { mediaTypeOf } from '../../../functions/broker/token-response/media-type.ts';

it.each([
  ['application/json', 'application/json'],
  ['Application/JSON; charset=utf-8', 'application/json'],
  [' application/json ;charset=utf-8', 'application/json'],
  ['', undefined],
  [' ; charset=utf-8', undefined],
  [undefined, undefined],
])('the header %j names the type %j', (header, type) => {
  expect(mediaTypeOf(header)).toBe(type);
});
