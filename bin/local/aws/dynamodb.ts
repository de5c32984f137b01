import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import {
  CreateSecretCommand,
  ResourceExistsException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import dynalite from 'dynalite';
import { sealingKeyName } from '../../../functions/contract.ts';
import { listenNear, receive, send, stop } from '../loopback.ts';
import { jsonRefusal, type StandInOptions, signerOf } from './server.ts';

/** Stands in for DynamoDB on 127.0.0.1, everything in memory. */
export async function startDynamoDB(signatures: StandInOptions): Promise<DynamoDBStandIn> {
  const engine = dynalite({ createTableMs: 0 });
  const server = createServer((request, response) => {
    // A client that goes away in the middle of a request gets no answer.
    respond(request, response).catch(() => response.destroy());
  });

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await receive(incoming, MAX_BODY_BYTES);
    try {
      await signerOf(request, 'dynamodb', signatures);
    } catch (error) {
      return send(response, jsonRefusal(error, 'application/x-amz-json-1.0'));
    }
    const { method, url, headers } = incoming;
    engine.emit('request', Object.assign(Readable.from([request.body]), { method, url, headers }), response);
  }

  const port = await listenNear(server, signatures.port);
  return { url: `http://127.0.0.1:${port}`, close: () => stop(server) };
}

/** Beyond what the engine takes, so that it is the one to refuse. */
const MAX_BODY_BYTES = 17 * 1_048_576;

interface DynamoDBStandIn {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Makes the table of pairs where it is missing; several brokers may try at once. */
export async function ensurePairTable(dynamodb: DynamoDBClient, tableName: string): Promise<void> {
  const command = new CreateTableCommand({
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pair', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pair', KeyType: 'HASH' }],
  });
  await ignore(ResourceInUseException, dynamodb.send(command));
  // In seconds. The first look mostly comes too early, by some milliseconds.
  const patience = { minDelay: 0.02, maxDelay: 1, maxWaitTime: 30 };
  await waitUntilTableExists({ client: dynamodb, ...patience }, { TableName: tableName });
}

/** Makes the environment's sealing key where it is missing; of several brokers that try at once, one key remains. */
export function ensureSealingKey(secretsManager: SecretsManagerClient, environment: string): Promise<void> {
  return ensureSecret(secretsManager, sealingKeyName(environment), randomBytes(48).toString('base64'));
}

/** Stores a secret where there is none yet: one that is found is left as it is. */
export async function ensureSecret(client: SecretsManagerClient, Name: string, SecretString: string): Promise<void> {
  await ignore(ResourceExistsException, client.send(new CreateSecretCommand({ Name, SecretString })));
}

async function ignore(
  expected: typeof ResourceInUseException | typeof ResourceExistsException,
  call: Promise<unknown>,
) {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof expected)) throw error;
  }
}
