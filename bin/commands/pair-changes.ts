import { createDynamoDBClient } from '../../functions/aws/clients.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { awsFailure } from './aws-failure.ts';
import { awsRegion, configuredServices, pairTable, type TableOptions } from './environment.ts';
import { CommandFailure } from './failure.ts';
import { talk } from './output.ts';
import { createPairAdmin, type PairAdmin } from './pair-admin.ts';

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
  pairs: readonly Pair[],
  options: TableOptions,
  signal: AbortSignal,
  change: (admin: PairAdmin, pair: Pair) => Promise<Result>,
): Promise<readonly Changed<Result>[]> {
  const table = pairTable(options);
  const region = awsRegion(options);
  const dynamodb = createDynamoDBClient({ ...(region && { region }), ...PATIENT });
  const admin = createPairAdmin({ dynamodb, tableName: table, now: Date.now, signal });

  const changed: Changed<Result>[] = [];
  const failures: CommandFailure[] = [];
  for (const pair of pairs) {
    const name = `${pair.client} on ${pair.service}`;
    try {
      changed.push({ pair, result: await change(admin, pair) });
    } catch (error) {
      const failure = tableFailure(error, table, region);
      if (failure.type === 'aborted') talk(`Interrupted: ${name} may not be changed. Run the command again.`);
      if (failure.type === 'aborted') throw failure;
      failures.push(failure);
      talk(`${name}: ${failure.detail}`);
    }
  }
  const [first] = failures;
  if (first === undefined) return changed;
  if (changed.length > 0) talk(`Done for ${changed.length} of ${pairs.length}, not for those that are named here.`);
  throw first;
}

/** All pairs of a client: on every service of the environment, whatever its tag says, because a caller can ask for any. */
export function pairsOfClient(client: string, { environment, service }: Options): readonly Pair[] {
  const services = service === undefined ? configuredServices(environment) : [service];
  return services.map((name) => ({ client, service: name }));
}

/** In an emergency a person waits longer than a caller of the broker. */
const PATIENT = {
  maxAttempts: 5,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

function tableFailure(error: unknown, table: string, region: string | undefined): CommandFailure {
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
