import type { Readable } from 'node:stream';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient, type SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { type Agents, createAgents } from './https/agents.ts';

/** A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). */
export function createDynamoDBClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  const agents = createAgents(Date.now);
  return lean(new DynamoDBClient({ ...leanConfig(agents), ...config }), agents);
}

/** A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`). */
export function createSecretsManagerClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  const agents = createAgents(Date.now);
  return lean(new SecretsManagerClient({ ...leanConfig(agents), ...config }), agents);
}

/** For every client of the SDK that a first call waits for. It repeats nothing: the adapters decide that, see `withRetry`. */
function leanConfig({ secure, plain }: Agents) {
  return {
    maxAttempts: 1,
    streamCollector: collectBody,
    requestHandler: { httpsAgent: secure, httpAgent: plain },
  };
}

/** Takes away the log of the SDK, which copies the input and the output of each call, and connections that were idle for 30 s. */
function lean<Client extends Layered>(client: Client, { dropUnfit }: Agents): Client {
  client.middlewareStack.remove('loggerMiddleware');
  client.middlewareStack.add(
    (next) => (call) => {
      dropUnfit();
      return next(call);
    },
    { step: 'finalizeRequest' },
  );
  return client;
}

interface Layered {
  readonly middlewareStack: {
    readonly remove: (name: string) => boolean;
    readonly add: (middleware: Middleware, place: { readonly step: 'finalizeRequest' }) => void;
  };
}

type Middleware = <Call, Answer>(next: (call: Call) => Promise<Answer>) => (call: Call) => Promise<Answer>;

/**
 * All bytes of an answer. The SDK's own way first asks whether the answer is a stream of a browser, and Node loads all
 * that it knows of those to say no.
 */
function collectBody(body: Readable): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    body.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    body.on('error', reject);
    body.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
