import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { MetricName } from '../../functions/vocabulary.ts';
import type { BrokerMetric, CalledFunction } from './metrics.ts';

/** The condition of an alarm, and its message. */
export interface AlarmDefinition<Watched> {
  readonly watch: (watched: Watched) => Metric;
  /** The value that rings, 1 by default. `msBeyondServices` is added to the longest `requestTimeoutMs` of a service. */
  readonly threshold?: number | { readonly msBeyondServices: number };
  /** Makes the threshold a percentage of `whole`. Below `atLeast` requests, a percentage has no meaning. */
  readonly shareOf?: { readonly whole: (watched: Watched) => Metric; readonly atLeast: number };
  /** The subject of the metric: requests, runs of health, or (`silence`) the absence of runs. */
  readonly of?: 'traffic' | 'run' | 'silence';
  /** Rings when `count` of the last `of` periods are bad. The default is 1 of 1. */
  readonly bad?: readonly [count: number, of: number];
  /** The event, in a sentence. */
  readonly means: string;
  /** The remedy. */
  readonly act: string;
}

/** The sources of an environment's alarms. */
export interface WatchedBroker {
  readonly called: CalledFunction;
  readonly broker: BrokerMetric;
  readonly failedEvents: IQueue;
}

/** The alarms that notify the operators, by name. docs/messages.md repeats their messages. */
export const ALARMS: Readonly<Record<string, AlarmDefinition<WatchedBroker>>> = {
  // Missing or late answers, and too many refusals.
  errors: {
    watch: ({ called }) => called.metricErrors(),
    means: 'The token function crashed, ran out of memory or ran into its time-out: callers got no answer.',
    act: 'Its log says which request it was. If it began with a deployment, follow "Go back to an earlier version" (docs/runbook.md).',
  },
  'internal-errors': {
    watch: ({ broker }) => broker('Requests', { outcome: 'internal' }),
    means: 'The broker has a bug, or may not do something that it must: callers got the problem `internal`.',
    act: 'The `cause` of the audit lines with this outcome says where. If it began with a deployment, follow "Go back to an earlier version" (docs/runbook.md).',
  },
  throttles: {
    watch: ({ called }) => called.metricThrottles(),
    bad: [2, 3],
    means: 'Lambda turns calls away: the concurrency of the function or of the account is used up.',
    act: 'Does one caller repeat without end? Then stop it. Otherwise raise `reservedConcurrency`, "Settings" (docs/deploy.md), or the quota of the account.',
  },
  'p99-duration': {
    watch: ({ called }) => called.metricDuration({ statistic: 'p99' }),
    threshold: { msBeyondServices: 2_000 },
    bad: [2, 3],
    means: 'Calls take longer than any service is allowed to: it is the broker that is slow.',
    act: 'Look for cold starts and throttles, and at how DynamoDB and Secrets Manager answer. If it began with a deployment, follow "Go back to an earlier version" (docs/runbook.md).',
  },
  'client-error-surge': {
    watch: ({ called }) => called.metric('Url4xxCount', { statistic: 'Sum' }),
    shareOf: { whole: ({ called }) => called.metric('UrlRequestCount', { statistic: 'Sum' }), atLeast: 50 },
    threshold: 25,
    bad: [2, 3],
    means: 'Many calls end in a 4xx, by the broker or by AWS in front of it.',
    act: 'The dashboard says which outcome grows. If none does, AWS refuses signatures: follow "A call that fails" (docs/runbook.md) as the caller.',
  },
  'denied-caller-surge': {
    watch: ({ broker }) => broker('Requests', { outcome: 'access-denied' }),
    threshold: 20,
    means: 'Roles ask for what no access rule gives them.',
    act: 'Find them in the audit lines with the outcome access-denied, "Audit lines" (docs/alarms.md): a role lacks a rule, or tries what it can reach.',
  },

  // Faults of credentials, DynamoDB and Secrets Manager that traffic finds.
  'credential-rejected': {
    watch: ({ broker }) => broker('CredentialRejected'),
    means: 'A service rejected a credential.',
    act: 'Find it with `client list` and follow "A rejected credential" (docs/runbook.md). It ends by itself: the credential is not sent again.',
  },
  'table-unavailable': {
    watch: ({ broker }) => broker('TableUnavailable'),
    threshold: 5,
    means:
      'The broker cannot reach its table, or its sealing key: callers without a remembered token get 503, and no service receives a token request.',
    act: 'Follow "Without the table" (docs/alarms.md). If it began with a deployment, follow "Go back to an earlier version" (docs/runbook.md).',
  },
  'table-busy': {
    watch: ({ broker }) => broker('TableBusy'),
    threshold: 5,
    means:
      'DynamoDB throttles the table: callers without a remembered token wait and get 503, and nothing is sent without the lease.',
    act: 'Follow "Without the table" (docs/alarms.md): a hot key, the throughput of the table, a quota of the account, or KMS.',
  },
  'secrets-stale': {
    watch: ({ broker }) => broker('SecretStale'),
    bad: [2, 3],
    means: 'Secrets Manager cannot be read: the credentials known last serve, for 24 hours at most.',
    act: 'Look at the state of AWS and at what the function may do with secrets and key. Rotate nothing until it is over.',
  },

  // Findings and absence of health runs. Runs differ in length, so an interval may contain no end of a run.
  'latch-active': {
    ...ofRuns('PairsRejected'),
    means: 'Credentials are latched: their services rejected them. Each is sent at most twice more.',
    act: 'Find them with `client list` and follow "A rejected credential" (docs/runbook.md). It ends with the run of health that finds none.',
  },
  'credential-expiring': {
    ...ofRuns('PairsExpiring'),
    means: 'A credential ends within seven days, or has ended.',
    act: 'Follow "A credential that ends" (docs/runbook.md): the messages of health name the client, and `client list` shows each end.',
  },
  'service-incident': {
    ...ofRuns('ServiceIncidents'),
    means: 'A service answers hardly any request.',
    act: 'Leave the credentials as they are and follow "A service incident" (docs/runbook.md).',
  },
  'health-silent': {
    watch: ({ broker }) => broker('Heartbeat'),
    of: 'silence',
    // The run after a late run ends in the same period.
    bad: [2, 2],
    means: 'No run of health came to its end, so it is unknown whether the credentials work.',
    act: 'Follow "A silent health" (docs/runbook.md).',
  },
  'probe-not-denied': {
    ...ofRuns('ProbeNotDenied'),
    means: 'A role without an access rule was not refused by the broker, or could not try.',
    act: 'The message of health says which. Until you know, take it for a breach and look at what was deployed last: "Go back to an earlier version" (docs/runbook.md).',
  },
  'operators-unreachable': {
    ...ofRuns('OperatorsUnreachable'),
    means:
      'Fewer subscriptions of the topic are confirmed than `notify` has addresses, or none is: alarms and messages of health do not reach every operator.',
    act: 'Find the address that is missing, and follow "Subscribe an address" (docs/alarms.md).',
  },
  'failed-events': {
    watch: ({ failedEvents }) => failedEvents.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum' }),
    means: 'The health function failed for good, at a run or at the event of a new secret version.',
    act: 'The log of `token-broker-health-<environment>` says why. The next run of health checks what was left. The queue keeps the events: delete them when read.',
  },
};

/** Watches the maximum that a run of health reported. */
function ofRuns(metricName: MetricName) {
  const watch = ({ broker }: WatchedBroker) => broker(metricName, {}, { statistic: 'Maximum' });
  return { watch, of: 'run' as const };
}

/** The sources of a new version's alarms. Errors of the previous version must not block the release that fixes them. */
export interface WatchedVersion {
  readonly calls: (metricName: 'Errors' | 'Duration', statistic: string) => Metric;
  readonly requests: (outcome: string) => Metric;
}

const GOES_BACK = 'During a deployment it is taken back by itself: follow "When a deployment fails" (docs/deploy.md).';

/**
 * The alarms that roll a new version back, which watch only its own traffic. They send no message, because the alarms
 * above count every version. A rejected credential rings no alarm of this list.
 */
export const NEW_VERSION_ALARMS: Readonly<Record<string, AlarmDefinition<WatchedVersion>>> = {
  'new-version-errors': {
    watch: ({ calls }) => calls('Errors', 'Sum'),
    means: 'The newest version of the token function crashed, ran out of memory or ran into its time-out.',
    act: `${GOES_BACK} The log of the function says which request it was.`,
  },
  'new-version-internal-errors': {
    watch: ({ requests }) => requests('internal'),
    means: 'The newest version of the token function answered with the problem internal.',
    act: `${GOES_BACK} The audit lines with this outcome and version have a cause.`,
  },
  'new-version-table-unavailable': {
    watch: ({ requests }) => requests('table-unavailable'),
    means: 'The newest version of the token function cannot use the table or the sealing key: callers got 503.',
    act: `${GOES_BACK} The audit lines with this outcome and version name the right, or the key.`,
  },
  'new-version-p99-duration': {
    watch: ({ calls }) => calls('Duration', 'p99'),
    threshold: { msBeyondServices: 2_000 },
    bad: [2, 3],
    means: 'The newest version of the token function takes longer than any service is allowed to.',
    act: `${GOES_BACK} Compare its cold starts and its code with those of the version before.`,
  },
};

/** The source of the trail's alarms, the number of records that match a filter. */
type RecordsOf = (metricName: string) => Metric;

/** The alarms of the setting `trail`. CloudTrail delivers a record within about five minutes. */
export const TRAIL_ALARMS: Readonly<Record<string, AlarmDefinition<RecordsOf>>> = {
  'direct-invocation': {
    watch: (recordsOf) => recordsOf('DirectInvocations'),
    means:
      'The token function was invoked, or an attempt was made, other than through its URL: the caller in that event may be made up.',
    act: 'Follow "A record of the trail" (docs/alarms.md); unless you know who it was, take it for a breach.',
  },
  'function-changed': {
    watch: (recordsOf) => recordsOf('FunctionChanges'),
    means: 'Code, configuration, policy or concurrency of a function was changed other than by a deployment.',
    act: 'Follow "A record of the trail" (docs/alarms.md); unless an operator stopped the broker, deploy what was there before.',
  },
  'sealing-key-written': {
    watch: (recordsOf) => recordsOf('SealingKeyWrites'),
    means: 'The sealing key, its stages or its policy were changed by a role that the setting trail does not name.',
    act: 'Follow "A record of the trail" (docs/alarms.md), then "Rotate the sealing key" (docs/deploy.md) as after a leak.',
  },
  'secret-policy-written': {
    watch: (recordsOf) => recordsOf('SecretPolicyWrites'),
    means:
      "The policy of a client's secret was changed, or a copy of it made, by a role that the setting trail does not name.",
    act: 'Follow "A record of the trail" (docs/alarms.md); unless an operator stopped or started that client, take it for a breach.',
  },
  'secret-read': {
    watch: (recordsOf) => recordsOf('SecretReads'),
    means:
      "The value of a client's secret was read, or an attempt was made, by another role than the token function's.",
    act: 'Follow "A record of the trail" (docs/alarms.md); for each client that was read follow "A leaked credential" (docs/runbook.md).',
  },
  'sealing-key-read': {
    watch: (recordsOf) => recordsOf('SealingKeyReads'),
    means:
      "The sealing key was read, or an attempt was made, by a role that is neither the token function's nor named by the setting trail.",
    act: 'Follow "A record of the trail" (docs/alarms.md), then "Rotate the sealing key" (docs/deploy.md) as after a leak.',
  },
  'secrets-read-in-batch': {
    watch: (recordsOf) => recordsOf('BatchReads'),
    means: "Secrets of the account were read in a batch, or an attempt was made: the broker's own may be among them.",
    act: 'Follow "A record of the trail" (docs/alarms.md): the record names the secrets, or the filter that chose them.',
  },
  'key-changed': {
    watch: (recordsOf) => recordsOf('KeyChanges'),
    means: "The key's policy was changed, or the key was disabled or is to be deleted, other than by a deployment.",
    act: 'Follow "A record of the trail" (docs/alarms.md) at once: what a deleted key encrypts is lost.',
  },
  'key-lent': {
    watch: (recordsOf) => recordsOf('KeyGrants'),
    means: 'A grant on the key was created, other than by DynamoDB or a deployment: its grantee may use the key.',
    act: 'Follow "A record of the trail" (docs/alarms.md) and revoke the grant, unless you know what it is for.',
  },
  'trail-changed': {
    watch: (recordsOf) => recordsOf('TrailChanges'),
    means: 'The trail was stopped, changed or deleted other than by a deployment.',
    act: 'Follow "A record of the trail" (docs/alarms.md) and deploy: until then the alarms of the trail may be blind.',
  },
};

/** The names of version 1, with the name of each since then. */
export const RENAMED_ALARMS: ReadonlyMap<unknown, string> = new Map([
  ['shared-cache-degraded', 'table-unavailable'],
  ['shared-cache-busy', 'table-busy'],
]);

/** The names that `alarms.off` accepts. */
export const ALARM_NAMES: readonly string[] = [ALARMS, NEW_VERSION_ALARMS, TRAIL_ALARMS].flatMap(Object.keys);
