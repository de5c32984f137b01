import { expect, it } from 'vitest';
import { readExpiryValue } from '../../../functions/broker/token-response/expiry-value.ts';

const SECOND_MS = 1_000;
const length = (milliseconds: number) => ({ kind: 'length', milliseconds });
const moment = (time: number) => ({ kind: 'moment', time });
const UNTOLD = { kind: 'untold' };
const UNREADABLE = { kind: 'unreadable' };

it.each<[unknown, object]>([
  [3_600, length(3_600_000)],
  ['3600', length(3_600_000)],
  [' 59.25 ', length(59_250)],
  [-1, length(-1_000)],
  [1e9 - 1, length((1e9 - 1) * 1_000)],
  [1e9, moment(1e12)],
  ['1900000000', moment(1.9e12)],
  [1e12, moment(1e12)],
  ['2026-11-21T12:00:00Z', moment(Date.UTC(2026, 10, 21, 12))],
  ['0:01:00', length(3_600_000)],
  [`${' '.repeat(62)}60`, length(60_000)],
  [`${' '.repeat(63)}60`, UNREADABLE],
  [undefined, UNTOLD],
  [null, UNTOLD],
  [false, UNTOLD],
  ['', UNTOLD],
  [' ', UNTOLD],
  [true, UNREADABLE],
  [{}, UNREADABLE],
  ['soon', UNREADABLE],
  [Number.POSITIVE_INFINITY, UNREADABLE],
])('%j tells %j', (value, told) => {
  expect(readExpiryValue(value, false, SECOND_MS)).toEqual(told);
});

it('takes a number of seconds for a moment, although the unit is milliseconds, where the name tells a moment', () => {
  expect(readExpiryValue(1.9e9, true, 1)).toEqual(moment(1.9e12));
  expect(readExpiryValue(1.9e9, false, 1)).toEqual(length(1.9e9));
});
