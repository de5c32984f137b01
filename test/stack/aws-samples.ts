import type { Point } from '../support/cloudwatch/metric-points.ts';
import { DEPLOYED } from '../support/cloudwatch/resolve.ts';

/**
 * What AWS's own metrics look like, minute by minute, as CloudWatch shows them for a function behind a Function URL: one
 * value for each call, errors and throttles as noughts and ones. A surge of calls, a bad hour, or a queue that fills.
 */
export interface Sample {
  readonly namespace: 'AWS/Lambda' | 'AWS/SQS' | 'TokenBrokerTrail/test';
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** The values of a minute as it should be, and of one that is not. */
  readonly calm: readonly number[];
  readonly bad: readonly number[];
}

const ALIAS = { FunctionName: 'token-broker-test', Resource: 'token-broker-test:live' };
const NEW_VERSION = { ...ALIAS, ExecutedVersion: DEPLOYED.version };
const QUEUE = { QueueName: DEPLOYED.queue };

/** Milliseconds of sixty calls: most of them from memory, a few with a token request, one on a cold start. */
const CALM_DURATIONS = [...Array(54).fill(2.4), 48.1, 61.9, 130.2, 388.7, 402.5, 910.3];

/** Calls in which DynamoDB and Secrets Manager take seconds. */
const SLOW_DURATIONS = [...Array(30).fill(2.4), ...Array(30).fill(7_214.6)];

const ONE_FAILS = [...Array(59).fill(0), 1];
const NONE_FAILS = Array(60).fill(0);
const EVERY_THIRD = Array.from({ length: 60 }, (_, call) => (call % 3 === 0 ? 1 : 0));

/** By the alarm that they are about; what else the alarm reads comes along. */
export const AWS_SAMPLES: Readonly<Record<string, readonly Sample[]>> = {
  errors: [lambda('Errors', ALIAS, NONE_FAILS, ONE_FAILS)],
  throttles: [lambda('Throttles', ALIAS, NONE_FAILS, EVERY_THIRD)],
  'p99-duration': [lambda('Duration', ALIAS, CALM_DURATIONS, SLOW_DURATIONS)],
  'client-error-surge': [
    lambda('Url4xxCount', ALIAS, ONE_FAILS, EVERY_THIRD),
    lambda('UrlRequestCount', ALIAS, Array(60).fill(1), Array(60).fill(1)),
  ],
  'new-version-errors': [lambda('Errors', NEW_VERSION, [0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0])],
  'new-version-p99-duration': [lambda('Duration', NEW_VERSION, [2.4, 2.4, 388.7], [2.4, 2.4, 7_214.6])],
  'direct-invocation': [record('DirectInvocations')],
  'function-changed': [record('FunctionChanges')],
  'sealing-key-written': [record('SealingKeyWrites')],
  'trail-changed': [record('TrailChanges')],
  'failed-events': [
    { namespace: 'AWS/SQS', name: 'ApproximateNumberOfMessagesVisible', dimensions: QUEUE, calm: [0], bad: [2] },
  ],
};

/** The points of a sample, for minutes that are as `isBad` says. */
export function samplePoints({ calm, bad, ...metric }: Sample, at: number, isBad: boolean): readonly Point[] {
  return (isBad ? bad : calm).map((value) => ({ ...metric, value, at }));
}

function lambda(
  name: string,
  dimensions: Sample['dimensions'],
  calm: readonly number[],
  bad: readonly number[],
): Sample {
  return { namespace: 'AWS/Lambda', name, dimensions, calm, bad };
}

/** What a filter makes of the trail's records: nothing, until one matches. */
function record(name: string): Sample {
  return { namespace: 'TokenBrokerTrail/test', name, dimensions: {}, calm: [], bad: [1] };
}
