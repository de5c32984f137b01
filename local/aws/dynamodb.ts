import { Readable } from 'node:stream';
import {
  CreateTableCommand,
  type DynamoDBClient,
  paginateScan,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { type Item, readMembers, readToken } from '../../functions/aws/pair-table/item.ts';
import type { PairAdmin } from '../../functions/aws/pair-table/pair-admin.ts';
import { pairKey } from '../../functions/broker/pair.ts';
import { TABLE_INCIDENTS, type TableIncident } from '../incidents.ts';
import { AwsError } from './aws-error.ts';
import type { Api } from './server.ts';

/** Stands in for DynamoDB and stores everything in memory. */
export function createTables() {
  const engine = dynalite({ createTableMs: 0 });
  let played = 'recover';

  /** Starts an incident. Returns `undefined` when there is no such incident. */
  function play(name: string): TableIncident | undefined {
    if (!Object.hasOwn(TABLE_INCIDENTS, name)) return undefined;
    played = name;
    return TABLE_INCIDENTS[name];
  }

  const api: Api = {
    service: 'dynamodb',
    target: 'DynamoDB_20120810',
    answer({ key, request, response }) {
      const { works, error } = TABLE_INCIDENTS[played] ?? {};
      if (works || key.isSpectator) {
        const { method, path: url, body } = request;
        const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
        engine.emit('request', Object.assign(Readable.from([body]), { method, url, headers }), response);
      } else if (error !== undefined) throw new AwsError(error, 'The table plays an incident');
      return undefined;
    },
  };
  return { ...api, play, playing: () => played };
}

/** Creates the table of pairs if it is missing, and waits until it can be used. */
export async function ensurePairTable(client: DynamoDBClient, TableName: string): Promise<void> {
  const command = new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pair', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pair', KeyType: 'HASH' }],
  });
  await client.send(command).catch((error: unknown) => {
    if (!(error instanceof ResourceInUseException)) throw error;
  });
  // Delays are in seconds. The first poll is usually some milliseconds too early.
  await waitUntilTableExists({ client, minDelay: 0.02, maxDelay: 1, maxWaitTime: 30 }, { TableName });
}

/** Reads all records at once, because the page shows all of them each second. */
export async function readPairs(client: DynamoDBClient, tableName: string): Promise<Pick<PairAdmin, 'read'>> {
  const items = new Map<string | undefined, Item>();
  for await (const { Items = [] } of paginateScan({ client }, { TableName: tableName })) {
    for (const item of Items) items.set(item.pair?.S, item);
  }
  return {
    read: async (pair) => {
      const item = items.get(pairKey(pair)) ?? {};
      return { ...readMembers(item), token: readToken(item)?.visible };
    },
  };
}
