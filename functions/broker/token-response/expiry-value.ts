import { parseDateTime } from './date-time.ts';
import { parseDuration } from './duration.ts';

/** An expiry as an answer tells it: a length of time, a moment, nothing at all, or something that cannot be read. */
export type ExpiryValue =
  | { readonly kind: 'length'; readonly milliseconds: number }
  | { readonly kind: 'moment'; readonly time: number }
  | { readonly kind: 'untold' }
  | { readonly kind: 'unreadable' };

/**
 * Reads the value of a member or header that tells an expiry. Numbers, as such or as text:
 *
 * - from 10¹² on: the moment in epoch milliseconds, whatever the name
 * - from 10⁹ on: the moment in epoch seconds; but a length when the unit is milliseconds and the name tells no moment
 * - below: a length in `unitMs`. (As lengths, 10⁹ seconds are 31 years.)
 *
 * Other texts: a date and time, or a duration. `null`, `false` and the empty text tell nothing.
 */
export function readExpiryValue(value: unknown, isMoment: boolean, unitMs: number): ExpiryValue {
  if (value === undefined || value === null || value === false) return { kind: 'untold' };
  if (typeof value === 'number') return readNumber(value, isMoment, unitMs);
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH) return { kind: 'unreadable' };
  const text = value.trim();
  if (text === '') return { kind: 'untold' };
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return readNumber(Number(text), isMoment, unitMs);
  return readText(text);
}

const MAX_TEXT_LENGTH = 64;
const FIRST_EPOCH_SECONDS = 1e9;
const FIRST_EPOCH_MILLISECONDS = 1e12;

function readNumber(number: number, isMoment: boolean, unitMs: number): ExpiryValue {
  if (!Number.isFinite(number)) return { kind: 'unreadable' };
  if (number >= FIRST_EPOCH_MILLISECONDS) return { kind: 'moment', time: number };
  if (number >= FIRST_EPOCH_SECONDS && (isMoment || unitMs >= 1_000)) return { kind: 'moment', time: number * 1_000 };
  return { kind: 'length', milliseconds: number * unitMs };
}

function readText(text: string): ExpiryValue {
  const time = parseDateTime(text);
  if (time !== undefined) return { kind: 'moment', time };
  const milliseconds = parseDuration(text);
  return milliseconds === undefined ? { kind: 'unreadable' } : { kind: 'length', milliseconds };
}
