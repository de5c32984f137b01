import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
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

/** Stands in for DynamoDB on 127.0.0.1, everything in memory; on a free port when none is given. */
export async function startDynamoDB({ port = 0 }: { readonly port?: number } = {}): Promise<DynamoDBStandIn> {
  const server = dynalite({ createTableMs: 0 });
  // dynalite throws, and with that ends the process, when a client goes away in the middle of a request.
  server.on('request', (request) => request.removeAllListeners('error').on('error', () => undefined));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

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
  await waitUntilTableExists({ client: dynamodb, minDelay: 1, maxWaitTime: 30 }, { TableName: tableName });
}

/** Makes the environment's sealing key where it is missing; of several brokers that try at once, one key remains. */
export async function ensureSealingKey(secretsManager: SecretsManagerClient, environment: string): Promise<void> {
  const command = new CreateSecretCommand({
    Name: sealingKeyName(environment),
    SecretString: randomBytes(48).toString('base64'),
  });
  await ignore(ResourceExistsException, secretsManager.send(command));
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
