import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { tableName } from '../../../lib/settings/names.ts';
import { createPairAdmin, type PairAdmin } from '../../pairs/pair-admin.ts';
import { awsFailure } from '../shared/ask-aws.ts';
import { awsConfig, awsRegion, type CommandOptions } from '../shared/aws-config.ts';
import type { ClientOptions } from '../shared/operate.ts';
import { configuredServices } from '../shared/settings.ts';

/** Changes the records of pairs. Continues after a failure, so that an emergency stop stops all it can, then fails. */
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
      if (failure.type === 'aborted') talk(shell, `Interrupted: ${name} may be unchanged. Run the command again.`);
      if (failure.type === 'aborted') throw failure;
      failures.set(name, failure);
    }
  }
  const [first] = failures.values();
  if (first === undefined) return results;
  // The failure that ends the command contains the reason.
  const failed = [...failures.keys()].join(', ');
  if (results.length > 0) talk(shell, `Done for ${results.length} of ${pairs.length}, not for ${failed}.`);
  throw first;
}

/** Returns all pairs of a client, or its pair on `service`. Ignores the tag, because a caller can request any pair. */
export function pairsOfClient(shell: Shell, options: ClientOptions & { readonly service?: string }): readonly Pair[] {
  const { client, environment, service } = options;
  const services = service === undefined ? configuredServices(shell, environment) : [service];
  return services.map((name) => ({ client, service: name }));
}
