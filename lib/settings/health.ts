import { z } from 'zod';
import { listOf, text } from './schema.ts';

/** How often every credential is proven, and who is told when one stops working. */
export const healthSchema = z.strictObject({
  every: text(rateFault).default('rate(1 hour)'),
  notify: listOf(text(emailFault)).default([]),
});

/** The seconds of a rate such as `rate(1 hour)`. */
export function rateSeconds(rate: string): number {
  const { count = '1', unit = '' } = RATE.exec(rate)?.groups ?? {};
  return Number(count) * (UNIT_SECONDS[unit.replace(/s$/, '')] ?? Number.NaN);
}

/** @see https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#rate-based */
const RATE = /^rate\((?:1 (?<unit>minute|hour|day)|(?<count>[2-9]|[1-9]\d{1,3}) (?<unit>minutes|hours|days))\)$/;

const UNIT_SECONDS: Readonly<Record<string, number>> = { minute: 60, hour: 3_600, day: 86_400 };

function rateFault(rate: string): string | undefined {
  const seconds = rateSeconds(rate);
  if (Number.isNaN(seconds)) return 'must be a rate such as rate(1 hour) or rate(30 minutes)';
  return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS
    ? undefined
    : 'must be between rate(15 minutes) and rate(1 day)';
}

/** A run may take twelve minutes, and no two of them shall overlap. */
const MIN_SECONDS = 900;
/** An alarm on silence looks back on two intervals and on a week at most. */
const MAX_SECONDS = 86_400;

function emailFault(address: string): string | undefined {
  return address.length <= 254 && EMAIL.test(address) ? undefined : 'must be an e-mail address such as ops@example.com';
}

/** What people have: no quotes, no comments, no address literals. */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@([A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}$/;
