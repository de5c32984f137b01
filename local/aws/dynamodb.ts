import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { type HttpAnswer, type LoopbackServer, type ReceivedRequest, serve } from '../loopback.ts';
import { jsonRefusal, type StandInOptions, signerOf } from './server.ts';

/** Stands in for DynamoDB on 127.0.0.1 and stores everything in memory. */
export async function startDynamoDB(signatures: StandInOptions): Promise<LoopbackServer> {
  const engine = dynalite({ createTableMs: 0 });

  async function respond(request: ReceivedRequest, response: ServerResponse): Promise<HttpAnswer | undefined> {
    try {
      await signerOf(request, 'dynamodb', signatures);
    } catch (error) {
      return jsonRefusal(error, 'application/x-amz-json-1.0');
    }
    const { method, path: url, body } = request;
    const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
    engine.emit('request', Object.assign(Readable.from([body]), { method, url, headers }), response);
    return undefined;
  }

  return serve(respond, { port: signatures.port, maxBodyBytes: MAX_BODY_BYTES });
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
