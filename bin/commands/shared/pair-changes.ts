import { ConditionalCheckFailedException, DynamoDB, type UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { forgetAt } from '../../../functions/aws/attributes.ts';
import { HELD, PAUSE_ATTRIBUTES, REJECTED } from '../../../functions/aws/pair-table/item.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair.ts';
import { tableName } from '../../../lib/settings/names.ts';
import { awsFailure } from './ask-aws.ts';
import { awsConfig, awsRegion, type ClientOptions, type CommandOptions, configuredServices } from './environment.ts';

/** Changes the records of pairs. Goes on after a failure, so that an emergency stop stops what it can, and then fails. */
export async function changePairs<Result>(
  shell: Shell,
  pairs: readonly Pair[],
  options: CommandOptions,
  change: (admin: PairAdmin, pair: Pair) => Promise<Result>,
): Promise<readonly Result[]> {
  const dynamodb = new DynamoDB(awsConfig(shell, options, 'DYNAMODB'));
  const admin = createPairAdmin(dynamodb, tableName(options.environment), shell.signal);

  const results: Result[] = [];
  const failures = new Map<string, CommandFailure>();
  for (const pair of pairs) {
    const name = `${pair.client} on ${pair.service}`;
    try {
      results.push(await change(admin, pair));
    } catch (error) {
      const failure = awsFailure(error, 'dynamodb:UpdateItem', awsRegion(shell, options));
      if (failure.type === 'aborted') talk(shell, `Interrupted: ${name} may not be changed. Run the command again.`);
      if (failure.type === 'aborted') throw failure;
      failures.set(name, failure);
    }
  }
  const [first] = failures.values();
  if (first === undefined) return results;
  // When nothing could be changed, one failure says it all.
  if (results.length > 0) {
    for (const [name, { detail }] of failures) talk(shell, `${name}: ${detail}`);
    talk(shell, `Done for ${results.length} of ${pairs.length}, not for those that are named here.`);
  }
  throw first;
}

/** All pairs of a client, or the one on `service`: also those that its tag leaves out, because a caller can ask for any. */
export function pairsOfClient(
  shell: Shell,
  { client, environment, service }: ClientOptions & { readonly service?: string },
): readonly Pair[] {
  const services = service === undefined ? configuredServices(shell, environment) : [service];
  return services.map((name) => ({ client, service: name }));
}

/** What an operator changes in the record of a pair by hand. Everything can be repeated. */
export type PairAdmin = ReturnType<typeof createPairAdmin>;

/** When the flag was set, for operators alone. */
export const DISABLED_AT = 'disabledAt';

/** Changes pair records past the lease: no attribute of a token request in progress is touched. */
export function createPairAdmin(dynamodb: DynamoDB, TableName: string, abortSignal: AbortSignal, now = Date.now) {
  const send = { abortSignal };
  const keyOf = (pair: Pair) => ({ TableName, Key: { pair: { S: pairKey(pair) } } });

  const update = async (pair: Pair, change: Omit<UpdateItemCommandInput, 'TableName' | 'Key'>): Promise<void> => {
    await dynamodb.updateItem({ ...keyOf(pair), ...change }, send);
  };

  return {
    /** Stops the pair, also one without a record: within 60 s no instance of the function issues a token of it. */
    // Without the date the table's garbage collection leaves the item alone: a client stays disabled however long.
    disable: (pair: Pair) =>
      update(pair, {
        UpdateExpression: `SET disabled = :true, ${DISABLED_AT} = if_not_exists(${DISABLED_AT}, :now) REMOVE forgetAt`,
        ExpressionAttributeValues: { ':true': { BOOL: true }, ':now': { N: `${now()}` } },
      }),

    /** Ends the stop. */
    async enable(pair: Pair): Promise<void> {
      try {
        await update(pair, {
          UpdateExpression: `SET forgetAt = :forgetAt REMOVE disabled, ${DISABLED_AT}`,
          // A pair without a record is not disabled, and needs none.
          ConditionExpression: 'attribute_exists(pair)',
          ExpressionAttributeValues: { ':forgetAt': forgetAt(now()) },
        });
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
      }
    },

    /** Lets every version of the pair's secret be sent again, at once; tells what stood in the way: versions, hold keys, a pause. */
    async clear(pair: Pair) {
      const { Item = {} } = await dynamodb.getItem({ ...keyOf(pair), ConsistentRead: true }, send);
      const found = Object.keys(Item);
      const under = (prefix: string) => found.filter((name) => name.startsWith(prefix));
      const [latches, holds] = [under(REJECTED), under(HELD)];
      const pause = found.filter((name) => PAUSE_ATTRIBUTES.includes(name));

      const names = [...latches, ...holds, ...pause].map((name, index) => [`#name${index}`, name] as const);
      if (names.length > 0) {
        await update(pair, {
          UpdateExpression: `REMOVE ${names.map(([alias]) => alias).join(', ')}`,
          ExpressionAttributeNames: Object.fromEntries(names),
        });
      }
      return {
        versions: latches.map((name) => name.slice(REJECTED.length)),
        holds: holds.map((name) => name.slice(HELD.length)),
        pause: pause.length > 0,
      };
    },
  };
}
