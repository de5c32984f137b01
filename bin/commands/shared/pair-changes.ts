import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { CommandFailure } from '../../../client/commands/failure.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { forgetAt, HELD, PAUSE_ATTRIBUTES, REJECTED } from '../../../functions/aws/pair-table/item.ts';
import { type Pair, pairKey } from '../../../functions/broker/pair/pair.ts';
import { awsFailure } from './aws-failure.ts';
import { awsConfig, awsRegion, configuredServices, pairTable, type TableOptions } from './environment.ts';

interface Options extends TableOptions {
  /** On this service only. */
  readonly service?: string | undefined;
}

interface Changed<Result> {
  readonly pair: Pair;
  readonly result: Result;
}

/** Changes the records of pairs. Goes on after a failure, so that an emergency stop stops what it can, and then fails. */
export async function changePairs<Result>(
  shell: Shell,
  pairs: readonly Pair[],
  options: TableOptions,
  change: (admin: PairAdmin, pair: Pair) => Promise<Result>,
): Promise<readonly Changed<Result>[]> {
  const table = pairTable(options);
  const region = awsRegion(shell, options);
  const dynamodb = new DynamoDBClient({ ...awsConfig(shell, options, 'DYNAMODB'), ...PATIENT });
  const admin = createPairAdmin({ dynamodb, tableName: table, now: Date.now, signal: shell.signal });

  const changed: Changed<Result>[] = [];
  const failures: CommandFailure[] = [];
  for (const pair of pairs) {
    const name = `${pair.client} on ${pair.service}`;
    try {
      changed.push({ pair, result: await change(admin, pair) });
    } catch (error) {
      const failure = tableFailure(error, table, region);
      if (failure.type === 'aborted') talk(shell, `Interrupted: ${name} may not be changed. Run the command again.`);
      if (failure.type === 'aborted') throw failure;
      failures.push(failure);
      talk(shell, `${name}: ${failure.detail}`);
    }
  }
  const [first] = failures;
  if (first === undefined) return changed;
  if (changed.length > 0)
    talk(shell, `Done for ${changed.length} of ${pairs.length}, not for those that are named here.`);
  throw first;
}

/** All pairs of a client: on every service of the environment, also those that its tag leaves out, because a caller can ask for any. */
export function pairsOfClient(shell: Shell, client: string, { environment, service }: Options): readonly Pair[] {
  const services = service === undefined ? configuredServices(shell, environment) : [service];
  return services.map((name) => ({ client, service: name }));
}

/** In an emergency a person waits longer than a caller of the broker. */
const PATIENT = {
  maxAttempts: 5,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

/** Why the table did not do what a command asked of it. */
export function tableFailure(error: unknown, table: string, region: string | undefined): CommandFailure {
  if (error instanceof Error && error.name === 'ResourceNotFoundException') {
    const place = region === undefined ? '' : ` in ${region}`;
    return new CommandFailure(
      'table-missing',
      `There is no table ${table}${place}`,
      'Check --environment and --region, and whether the stack is deployed; --table names another table.',
    );
  }
  return awsFailure(error, { action: 'dynamodb:UpdateItem', region });
}

/** What an operator changes in the record of a pair by hand. Everything can be repeated. */
export type PairAdmin = ReturnType<typeof createPairAdmin>;

/** When the flag was set, for operators alone. */
export const DISABLED_AT = 'disabledAt';

interface Dependencies {
  readonly dynamodb: DynamoDBClient;
  /** Holds the pairs of one environment. */
  readonly tableName: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Ends the waiting for DynamoDB; it is not known then whether the change was made. */
  readonly signal?: AbortSignal | undefined;
}

/** Changes pair records past the lease: no attribute of a token request in progress is touched. */
export function createPairAdmin({ dynamodb, tableName, now, signal }: Dependencies) {
  const send = signal === undefined ? {} : { abortSignal: signal };
  const keyOf = (pair: Pair) => ({ TableName: tableName, Key: { pair: { S: pairKey(pair) } } });

  const update = async (pair: Pair, change: Omit<UpdateItemCommandInput, 'TableName' | 'Key'>): Promise<void> => {
    await dynamodb.send(new UpdateItemCommand({ ...keyOf(pair), ...change }), send);
  };

  return {
    /** Stops the pair, also one without a record: within 60 s no environment issues a token of it. */
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
      const { Item = {} } = await dynamodb.send(new GetItemCommand({ ...keyOf(pair), ConsistentRead: true }), send);
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
        latches: latches.map((name) => name.slice(REJECTED.length)),
        holds: holds.map((name) => name.slice(HELD.length)),
        pause: pause.length > 0,
      };
    },
  };
}
