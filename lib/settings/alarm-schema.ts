import { z } from 'zod';
import { ALWAYS } from './schema.ts';

/** When each alarm rings; `false` switches it off. Every default of an alarm stands here. */
export const alarmSchema = z.strictObject({
  // The token function itself: it failed, was held back, or took longer than its services can be blamed for.
  errors: alarm({ threshold: atLeast(1), ...when({ minutes: 5 }) }).prefault({}),
  internalErrors: alarm({ threshold: atLeast(1), ...when({ minutes: 5 }) }).prefault({}),
  throttles: alarm({ threshold: atLeast(1), ...when({ minutes: 5, periods: 3, breaching: 2 }) }).prefault({}),
  p99Duration: alarm({ beyondMs: beyondServices(), ...when({ minutes: 5, periods: 3, breaching: 2 }) }).prefault({}),

  // The same of the newest version alone: they take it back while it has only a part of the traffic.
  newVersionErrors: alarm({ threshold: atLeast(1), ...when({ minutes: 1 }) }).prefault({}),
  newVersionInternalErrors: alarm({ threshold: atLeast(1), ...when({ minutes: 1 }) }).prefault({}),
  newVersionP99Duration: alarm({
    beyondMs: beyondServices(),
    ...when({ minutes: 1, periods: 3, breaching: 2 }),
  }).prefault({}),

  // Callers. A share of few requests says nothing.
  clientErrorSurge: alarm({
    percent: z.int().min(1).max(100).default(25),
    minimumRequests: atLeast(50),
    ...when({ minutes: 5, periods: 3, breaching: 2 }),
  }).prefault({}),
  deniedCallerSurge: alarm({ threshold: atLeast(20), ...when({ minutes: 5 }) }).prefault({}),

  // Credentials and services, as traffic or the schedule finds them.
  credentialRejected: alarm({ threshold: atLeast(1), ...when({ minutes: 5 }) }).prefault({}),
  latchActive: alarm({ threshold: atLeast(1) }).prefault({}),
  serviceIncident: alarm({ threshold: atLeast(1) }).prefault({}),

  // What the broker stands on.
  sharedCacheDegraded: alarm({ threshold: atLeast(5), ...when({ minutes: 5, periods: 3, breaching: 2 }) }).prefault({}),
  secretsStale: alarm({ threshold: atLeast(1), ...when({ minutes: 5, periods: 3, breaching: 2 }) }).prefault({}),

  // The schedule. Its runs take different times, so that one interval may well see none of them end.
  healthSilent: alarm({ intervals: z.int().min(1).max(7).default(2) }).prefault({}),
  probeNotDenied: alarm({}).prefault({}),
  failedEvents: alarm({}).prefault({}),
});

export type AlarmSettings = z.output<typeof alarmSchema>;

function alarm<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.union([z.literal(false), z.strictObject(shape).superRefine(windowFits, ALWAYS)], {
    error: 'must be an object, or false to switch the alarm off',
  });
}

function atLeast(count: number) {
  return z.int().min(1).default(count);
}

/** What the broker may take beyond the longest time that a service is given: no service can then be why it is slow. */
function beyondServices() {
  return z.int().min(500).max(4_000).default(2_000);
}

/** Rings when `breaching` of the last `periods` periods are bad. */
function when({ minutes, periods = 1, breaching = 1 }: Window) {
  return {
    minutes: z.int().min(1).max(1_440).default(minutes),
    periods: z.int().min(1).default(periods),
    breaching: z.int().min(1).default(breaching),
  };
}

interface Window {
  readonly minutes: number;
  readonly periods?: number;
  readonly breaching?: number;
}

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html */
function windowFits(tuning: Readonly<Record<string, unknown>>, context: z.core.$RefinementCtx): void {
  const { minutes, periods, breaching } = tuning;
  if (typeof periods !== 'number') return;
  const fault = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
  if (typeof breaching === 'number' && breaching > periods) fault('breaching', 'must not be more than periods');
  const days = typeof minutes === 'number' && minutes >= 60 ? 7 : 1;
  if (typeof minutes === 'number' && minutes * periods > days * 1_440) {
    fault('periods', `must not look back for more than ${days === 1 ? 'a day' : 'seven days'}`);
  }
}
