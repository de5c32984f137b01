import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { type Item, REJECTED, readSeal, readState } from '../../../functions/aws/pair-table/item.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair/pair.ts';
import { capTimes } from '../../../functions/broker/pair/record.ts';
import { tableName } from '../../../lib/settings/names.ts';
import { mapConcurrently } from '../shared/checks.ts';
import { type ClientSecret, checkedPairs, versionWith } from '../shared/client-secret.ts';
import { type AwsOptions, awsConfig, awsRegion, isLocal } from '../shared/environment.ts';
import { DISABLED_AT, tableFailure } from '../shared/pair-changes.ts';

/** How a pair is, as its record says. Times are epoch milliseconds. */
export interface PairState extends Pair {
  /** Of several that hold, the one that an operator has to know first. */
  readonly state: 'disabled' | 'rejected' | 'held' | 'paused' | 'ok' | 'unproven';
  /** Absent when the record does not tell, and for `ok` and `unproven`. */
  readonly since?: number | undefined;
  /** When a pause or a hold ends by itself. */
  readonly until?: number | undefined;
  /** When the service last gave a token for the current version. */
  readonly provenAt?: number | undefined;
  /** The end of the token in use, whichever version it came from. */
  readonly tokenExpiresAt?: number | undefined;
}

/** The states of the pairs of these clients; `undefined`, with a word why, when the table cannot be read. */
export async function readStates(
  shell: Shell,
  secrets: readonly ClientSecret[],
  options: AwsOptions,
): Promise<readonly PairState[] | undefined> {
  const { environment } = options;
  if (isLocal(environment) && !shell.env.AWS_ENDPOINT_URL_DYNAMODB) {
    talk(shell, 'With AWS_ENDPOINT_URL_DYNAMODB as npm start prints it the states of the pairs are shown, too.');
    return undefined;
  }
  const [table, region] = [tableName(environment), awsRegion(shell, options)];
  const dynamodb = new DynamoDBClient({ ...awsConfig(shell, options, 'DYNAMODB'), maxAttempts: 2 });
  const read = async ({ pair, current }: { readonly pair: Pair; readonly current: string | undefined }) => {
    const command = new GetItemCommand({ TableName: table, Key: { pair: { S: pairKey(pair) } }, ConsistentRead: true });
    const { Item = {} } = await dynamodb.send(command, { abortSignal: shell.signal });
    return stateOf(pair, Item, current, Date.now());
  };
  try {
    const pairs = secrets.flatMap((secret) =>
      checkedPairs(shell, secret, environment).map((pair) => ({ pair, current: versionWith('AWSCURRENT', secret) })),
    );
    return await mapConcurrently(pairs, read);
  } catch (error) {
    const failure = error instanceof CommandFailure ? error : tableFailure(error, table, region);
    if (failure.type === 'aborted') throw failure;
    talk(shell, `The states of the pairs cannot be read: ${failure.message}`);
    return undefined;
  } finally {
    dynamodb.destroy();
  }
}

/** Reads the state of a pair from its item, for the version of the credential that is the current one. */
export function stateOf(pair: Pair, item: Item, current: string | undefined, now: number): PairState {
  const { disabled, pause, held, rejected } = capTimes(readState(item), now);
  const token = readSeal(item)?.visible;
  const isProven = token !== undefined && token.credentialVersion === current;
  const told = {
    ...pair,
    ...(isProven && { provenAt: token.issuedAt }),
    ...(token !== undefined && token.expiresAt > now && { tokenExpiresAt: token.expiresAt }),
  };
  if (disabled) return { ...told, state: 'disabled', since: Number(item[DISABLED_AT]?.N) || undefined };
  if (current !== undefined && rejected.has(current)) {
    return { ...told, state: 'rejected', since: firstRejection(item, current) };
  }
  const hold = [...held].find(([key, { until }]) => key.startsWith(`${current}:`) && until > now)?.[1];
  if (hold !== undefined) return { ...told, state: 'held', until: hold.until };
  if (pause !== undefined && pause.until > now) return { ...told, state: 'paused', until: pause.until };
  return { ...told, state: isProven ? 'ok' : 'unproven' };
}

/** A latch keeps the time of each request that was rejected. */
function firstRejection(item: Item, version: string): number | undefined {
  const times = item[REJECTED + version]?.SS?.map((entry) => Number(entry.split('@')[1])) ?? [];
  const first = Math.min(...times);
  return Number.isFinite(first) ? first : undefined;
}

/** The state in a few words: `rejected since 2026-01-01T00:00:00.000Z`. */
export function stateText({ state, since, until }: PairState): string {
  const time = since ?? until;
  return time === undefined
    ? state
    : `${state} ${until === undefined ? 'since' : 'until'} ${new Date(time).toISOString()}`;
}
