import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { CommandFailure } from '../../client/commands/failure.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { causeWord, isThrottled } from '../../functions/aws/calls.ts';
import { createPairAdmin, type PairAdmin } from '../../functions/aws/pair-table/pair-admin.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { tableName } from '../../lib/settings/names.ts';
import { awsFailure } from '../shared/ask-aws.ts';
import { awsConfig, awsRegion, type ClientOptions, type CommandOptions, pause } from '../shared/operate.ts';
import { configuredServices } from '../shared/settings.ts';

/**
 * Changes the records of pairs, and repeats a change for a minute while the table is busy. Continues after a failure,
 * so that an emergency stop stops all it can, then fails.
 */
export async function changePairs<Result>(
  shell: Shell,
  pairs: readonly Pair[],
  options: CommandOptions,
  change: (admin: PairAdmin, pair: Pair) => Promise<Result>,
): Promise<readonly Result[]> {
  const admin = openPairs(shell, options);
  const whileBusy = createPatience(shell);
  const results: Result[] = [];
  const failures = new Map<string, CommandFailure>();
  for (const pair of pairs) {
    const name = `${pair.client} on ${pair.service}`;
    try {
      results.push(await whileBusy(() => change(admin, pair)));
    } catch (error) {
      const failure = isThrottled(error) ? BUSY : awsFailure(error, 'dynamodb:UpdateItem', awsRegion(shell, options));
      if (failure.type === 'aborted') note(shell, `Interrupted: ${name} may be unchanged. Run the command again.`);
      if (failure.type === 'aborted') throw failure;
      failures.set(name, failure);
    }
  }
  const [first] = failures.values();
  if (first === undefined) return results;
  // The failure that ends the command contains the reason.
  const failed = [...failures.keys()].join(', ');
  if (results.length > 0) note(shell, `Done for ${results.length} of ${pairs.length}, not for ${failed}.`);
  throw first;
}

/** Repeats idempotent work while the table throttles it, for up to a minute after the table's last other answer. */
function createPatience(shell: Shell) {
  let busySince: number | undefined;
  let isReported = false;
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    for (;;) {
      try {
        const result = await work();
        busySince = undefined;
        return result;
      } catch (error) {
        busySince = isThrottled(error) ? (busySince ?? Date.now()) : undefined;
        if (busySince === undefined || Date.now() - busySince >= PATIENCE_MS) throw error;
        const isLong = Date.now() - busySince >= REPORTED_MS;
        if (isLong && !isReported) note(shell, `The table is busy (${causeWord(error)}): trying for a minute.`);
        isReported ||= isLong;
      }
      await pause(shell, Math.random() * MAX_PAUSE_MS);
    }
  };
}

const PATIENCE_MS = 60_000;
const REPORTED_MS = 2_000;
const MAX_PAUSE_MS = 1_000;

const BUSY = new CommandFailure(
  'aws-throttled',
  'The table is busy: DynamoDB has throttled every call for a minute',
  'Run the command again; docs/alarms.md, "Without the table", says what throttles and how to end it.',
);

/** Opens the records of pairs in the table of the environment, and the table itself. */
export function openPairs(shell: Shell, options: CommandOptions) {
  const dynamodb = new DynamoDB({ ...awsConfig(shell, options, 'DYNAMODB'), maxAttempts: 2 });
  const table = { dynamodb, tableName: tableName(options.environment), now: Date.now };
  return { ...createPairAdmin(dynamodb, table.tableName, shell.signal), table };
}

/** Returns all pairs of a client, or its pair on `service`. Ignores the tag, because a caller can request any pair. */
export function pairsOfClient(shell: Shell, options: ClientOptions & { readonly service?: string }): readonly Pair[] {
  const { client, environment, service } = options;
  const services = service === undefined ? configuredServices(shell, environment) : [service];
  return services.map((name) => ({ client, service: name }));
}
