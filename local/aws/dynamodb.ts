import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { type HttpAnswer, type ReceivedRequest, serve } from '../loopback.ts';
import { AwsError, type AwsKey, jsonRefusal, type StandInOptions, signerOf } from './server.ts';
import { TABLE_INCIDENTS, type TableIncident } from './table-incidents.ts';

/** Stands in for DynamoDB on 127.0.0.1 and stores everything in memory. Spectators notice no incident. */
export async function startDynamoDB({ spectators = [], ...signatures }: Options) {
  const engine = dynalite({ createTableMs: 0 });
  const keys = [...signatures.keys, ...spectators];
  let played = 'recover';

  /** Starts an incident. Returns `undefined` when there is no such incident. */
  function play(name: string): TableIncident | undefined {
    if (!Object.hasOwn(TABLE_INCIDENTS, name)) return undefined;
    played = name;
    return TABLE_INCIDENTS[name];
  }

  async function respond(request: ReceivedRequest, response: ServerResponse): Promise<HttpAnswer | undefined> {
    try {
      const key = await signerOf(request, 'dynamodb', { ...signatures, keys });
      const { works, error } = TABLE_INCIDENTS[played] ?? {};
      if (!works && !spectators.includes(key)) {
        if (error === undefined) return undefined;
        throw new AwsError(error, 'The table plays an incident');
      }
    } catch (error) {
      return jsonRefusal(error, 'application/x-amz-json-1.0');
    }
    const { method, path: url, body } = request;
    const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
    engine.emit('request', Object.assign(Readable.from([body]), { method, url, headers }), response);
    return undefined;
  }

  const server = await serve(respond, { port: signatures.port, maxBodyBytes: MAX_BODY_BYTES });
  return { ...server, play, playing: () => played };
}

interface Options extends StandInOptions {
  /** Keys that sign for a view of the table, not for the broker. */
  readonly spectators?: readonly AwsKey[];
}

/** Higher than the engine's own limit, so that the engine refuses too large a body. */
const MAX_BODY_BYTES = 17 * 1_048_576;

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
