import type { Readable } from 'node:stream';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient, type SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { createAgents } from './https/agents.ts';

/** A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_DYNAMODB`). */
export function createDynamoDBClient({ now = Date.now, ...config }: Timed<DynamoDBClientConfig> = {}): DynamoDBClient {
  return createLean(now, (lean) => new DynamoDBClient({ ...lean, ...config }));
}

/** A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`). */
export function createSecretsManagerClient({
  now = Date.now,
  ...config
}: Timed<SecretsManagerClientConfig> = {}): SecretsManagerClient {
  return createLean(now, (lean) => new SecretsManagerClient({ ...lean, ...config }));
}

/** `now`: epoch milliseconds. */
type Timed<Config> = Config & { readonly now?: (() => number) | undefined };

/**
 * For every client of the SDK that a first call waits for. It repeats nothing: the adapters decide that, see `withRetry`.
 * It has no log of the SDK, which copies the input and the output of each call, and uses no connection again that was
 * idle for 30 s.
 */
function createLean<Client extends Layered>(now: () => number, create: (lean: Lean) => Client): Client {
  const { secure, plain, dropUnfit } = createAgents({ now });
  const client = create({
    maxAttempts: 1,
    streamCollector: collectBody,
    requestHandler: { httpsAgent: secure, httpAgent: plain },
  });
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

type Lean = Pick<
  DynamoDBClientConfig & SecretsManagerClientConfig,
  'maxAttempts' | 'streamCollector' | 'requestHandler'
>;

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
