import { DynamoDB, type GetItemInput, type UpdateItemInput } from '@aws-sdk/client-dynamodb';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { CircuitBreaker } from '../../../functions/aws/calls.ts';
import { createPairTable } from '../../../functions/aws/pair-table/table.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import { cleared } from '../../../functions/broker/pair/transitions.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
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
  const failures = new Map<string, ReturnType<typeof awsFailure>>();
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
  // The failure that ends the command gives the reason.
  const failed = [...failures.keys()].join(', ');
  if (results.length > 0) talk(shell, `Done for ${results.length} of ${pairs.length}, not for ${failed}.`);
  throw first;
}

/** All pairs of a client, or the one on `service`: also those that its tag leaves out, because a caller can ask for any. */
export function pairsOfClient(shell: Shell, options: ClientOptions & { readonly service?: string }): readonly Pair[] {
  const { client, environment, service } = options;
  const services = service === undefined ? configuredServices(shell, environment) : [service];
  return services.map((name) => ({ client, service: name }));
}

/** The records of pairs as an operator reads and changes them: without the sealing key. Every change can be repeated. */
export type PairAdmin = ReturnType<typeof createPairAdmin>;

export function createPairAdmin(dynamodb: DynamoDB, tableName: string, abortSignal: AbortSignal, now = Date.now) {
  const getItem = async (input: GetItemInput) => (await dynamodb.getItem(input, { abortSignal })).Item;
  const updateItem = async (input: UpdateItemInput) => (await dynamodb.updateItem(input, { abortSignal })).Attributes;
  // The SDK has limits of its own, and its errors say more.
  const breaker: CircuitBreaker = (_terms, call) => call(abortSignal);
  const table = createPairTable({ dynamodb: { getItem, updateItem }, tableName, now, breaker });
  return {
    read: async (pair: Pair) => (await table.read(pair, Infinity)).record,
    disable: (pair: Pair) => table.disable(pair, abortSignal),
    enable: (pair: Pair) => table.enable(pair, abortSignal),
    /** Lets every version of the pair's secret be sent again, at once; gives the record that stood in the way. */
    async clear(pair: Pair): Promise<PairRecord> {
      for (;;) {
        const seen = await table.read(pair, Infinity);
        const { rejected, held, pause } = seen.record;
        const isClear = rejected.size === 0 && held.size === 0 && pause === undefined;
        if (isClear || (await table.replace(pair, seen, cleared(seen.record), Infinity))) return seen.record;
      }
    },
  };
}
