import type { FunctionUrlResult } from './aws/function-url.ts';
import type { SecretsManager } from './aws/secrets-manager.ts';
import { createTokenFunction } from './token-function.ts';
import type { BrokerSettings } from './variables.ts';

/**
 * Runs the code of a first call once (AWS calls this priming). Node compiles it while no caller waits and the instance
 * has a whole processor. Never fails.
 *
 * Issues a token in a separate function that shares nothing with the real function: AWS and the service are made up and
 * nothing is written. Signing and sending are left out, because the first reads run them.
 */
export async function prime({ services, provenForSeconds }: BrokerSettings): Promise<FunctionUrlResult | undefined> {
  // Lets the first reads begin before priming.
  const [service = NAME] = await soon(Object.keys(services));
  const accessRules = [{ role: ROLE, clients: [NAME], services: [service], operations: ['token'] as const }];
  const { handler } = createTokenFunction({
    environment: NAME,
    tableName: NAME,
    settings: { services, provenForSeconds, accessRules },
    secretsManager: { getSecretValue: (input) => soon(madeUpSecret(input)) },
    dynamodb: { getItem: () => soon(undefined), updateItem: () => soon(undefined) },
    send: () => soon(TOKEN),
    write: () => undefined,
  });
  const event = { ...EVENT, body: JSON.stringify({ client: NAME, service }) };
  return handler(event, { getRemainingTimeInMillis: () => TIME_MS }).catch(() => undefined);
}

/** Serves as the credential and as the sealing key. */
function madeUpSecret({ SecretId, VersionStage }: Parameters<SecretsManager['getSecretValue']>[0]) {
  const SecretString = JSON.stringify({ client_id: NAME, secret: 'which no service would accept' });
  return { Name: SecretId, VersionId: NAME, VersionStages: [VersionStage], SecretString };
}

/** Lets Node handle the answers to the real reads between two steps. */
function soon<Answer>(answer: Answer): Promise<Answer> {
  return new Promise((resolve) => setImmediate(resolve, answer));
}

const NAME = 'priming';
const ROLE = 'arn:aws:iam::000000000000:role/priming';
/** An instance starts long before Lambda's limit of ten seconds. */
const TIME_MS = 3_000;

const TOKEN = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: new TextEncoder().encode('{"access_token":"made-up-token","token_type":"Bearer","expires_in":3600}'),
};

const userArn = 'arn:aws:sts::000000000000:assumed-role/priming/priming';
const EVENT = {
  rawPath: '/token',
  rawQueryString: '',
  headers: { 'content-type': 'application/json' },
  requestContext: {
    requestId: NAME,
    http: { method: 'POST' },
    authorizer: { iam: { accountId: '000000000000', callerId: 'priming:priming', userArn } },
  },
};
