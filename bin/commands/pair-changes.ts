import type { Command } from 'commander';
import { createDynamoDBClient } from '../../functions/aws/clients.ts';
import { createPairAdmin, type PairAdmin } from '../../functions/aws/pair-table/admin.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { awsFailure } from './aws-failure.ts';
import { awsRegion, checkEndpoint, configuredServices, pairTable, type TableOptions } from './environment.ts';
import { CommandFailure } from './failure.ts';
import { talk } from './output.ts';

interface Options extends TableOptions {
  /** On this service only. */
  readonly service?: string | undefined;
}

interface Changed<Result> {
  readonly pair: Pair;
  readonly result: Result;
}

/**
 * Changes the records of all pairs of a client: on every service of the environment, whatever its tag says, because a
 * caller can ask for any. Goes on after a failure, so that an emergency stop stops what it can, and then fails.
 */
export async function changePairs<Result>(
  client: string,
  options: Options,
  { command, signal }: { readonly command: Command; readonly signal: AbortSignal },
  change: (admin: PairAdmin, pair: Pair) => Promise<Result>,
): Promise<readonly Changed<Result>[]> {
  checkEndpoint(options, 'AWS_ENDPOINT_URL_DYNAMODB', command);
  const table = pairTable(options);
  const region = awsRegion(options);
  const dynamodb = createDynamoDBClient({ ...(region && { region }), ...PATIENT });
  const admin = createPairAdmin({ dynamodb, tableName: table, now: Date.now, signal });
  const services = options.service === undefined ? configuredServices(options.environment) : [options.service];

  const changed: Changed<Result>[] = [];
  const failures: CommandFailure[] = [];
  for (const service of services) {
    const pair = { client, service };
    try {
      changed.push({ pair, result: await change(admin, pair) });
    } catch (error) {
      const failure = tableFailure(error, table, region);
      if (failure.type === 'aborted') talk(`Interrupted: ${service} may not be changed. Run the command again.`);
      if (failure.type === 'aborted') throw failure;
      failures.push(failure);
      talk(`${service}: ${failure.detail}`);
    }
  }
  const [first] = failures;
  if (first === undefined) return changed;
  if (changed.length > 0) talk(`Done on ${changed.map(({ pair }) => pair.service).join(', ')}, not on the others.`);
  throw first;
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
