import {
  GetSecretValueCommand,
  type GetSecretValueCommandInput,
  type GetSecretValueCommandOutput,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
  SecretsManagerServiceException,
} from '@aws-sdk/client-secrets-manager';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { ReadSecret, SecretReading } from '../broker/credential/secret.ts';
import { Redacted } from '../broker/redacted.ts';
import type { Send } from '../broker/token-request/send.ts';
import { type SecretStage, secretName } from '../contract.ts';
import { ANSWER_LIMITS, causeWord, isDefinitive, withRetry, withTimeLimit } from './calls.ts';
import { createHttpsSender } from './https/sender.ts';

/** For reading the secrets of one environment; a reading with its repetitions takes at most `timeoutMs`. */
export interface SecretDependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** Reads clients' secrets by name and stage. */
export function createSecretReader(dependencies: SecretDependencies): ReadSecret {
  return async (client, stage, deadline = Infinity) => {
    const asked = { SecretId: secretName(dependencies.environment, client), VersionStage: stage };
    return getSecretValue(dependencies, asked, deadline).then((answer) => readAnswer(answer, stage), readFailure);
  };
}

/** Asks for the value of a secret, by the deadline (epoch milliseconds) at the latest. An answer about another one is a failure. */
export async function getSecretValue(
  dependencies: SecretDependencies,
  asked: GetSecretValueCommandInput,
  deadline: number,
) {
  const { secretsManager, now, timeoutMs = 1_000 } = dependencies;
  const command = new GetSecretValueCommand(asked);
  const send = (abortSignal: AbortSignal) =>
    withRetry(abortSignal, () => secretsManager.send(command, { abortSignal }));
  const answer = await withTimeLimit(timeoutMs, send, deadline - now());
  const { SecretId, VersionId = answer.VersionId, VersionStage } = asked;
  const hasStage = VersionStage === undefined || answer.VersionStages?.includes(VersionStage) === true;
  if (answer.Name === SecretId && answer.VersionId === VersionId && hasStage) return answer;
  throw Object.assign(new Error('another secret'), { name: 'AnotherSecret' });
}

function readAnswer(answer: GetSecretValueCommandOutput, stage: SecretStage): SecretReading {
  const { VersionId: versionId, SecretString: text, SecretBinary: binary } = answer;
  if (binary !== undefined) return { outcome: 'binary' };
  if (typeof text !== 'string' || typeof versionId !== 'string')
    return { outcome: 'unavailable', cause: 'an answer without a value' };
  return { outcome: 'found', secret: { versionId, stage, text: new Redacted(text) } };
}

/**
 * Whether a failure is about the secret. A refusal is definitive. No answer, an unreadable one, throttling, 5xx and a
 * refusal of the key are not: the secret itself is still there and still allowed.
 */
function readFailure(error: unknown): SecretReading {
  const down = { outcome: 'unavailable', cause: causeWord(error) } as const;
  if (!(error instanceof SecretsManagerServiceException && isDefinitive(error))) return down;
  const { name, message } = error;
  if (name === 'ResourceNotFoundException') return { outcome: 'missing' };
  if (name === 'InvalidRequestException') return { outcome: 'deleted' };
  if (name === 'DecryptionFailure' || name === 'KMSInvalidStateException') return down;
  // Only the message tells a refusal of the key from one of the secret. An unknown message counts as the stricter case.
  if (name !== 'AccessDeniedException') return { ...down, outcome: 'denied' };
  if (message.startsWith('Access to KMS is not allowed')) return { ...down, cause: 'KMSAccessDenied' };
  // The secret's own policy says no to the broker: an operator has written it, as `client disable` does.
  return { ...down, outcome: message.includes(EXPLICIT_DENY) ? 'stopped' : 'denied' };
}

/** AWS's words for a denial by the policy of the secret itself. */
const EXPLICIT_DENY = 'with an explicit deny in a resource-based policy';

/**
 * A client for the region and the endpoint of the standard variables (`AWS_REGION`, `AWS_ENDPOINT_URL_SECRETS_MANAGER`) that
 * sends as the broker does. It repeats nothing (see `withRetry`) and has no log: that of the SDK copies the input and the
 * output of each call.
 */
export function createSecretsManagerClient({
  send = createHttpsSender({ keepAlive: true }),
  ...config
}: SecretsManagerOptions = {}): SecretsManagerClient {
  const requestHandler = {
    handle: (sent: Sent, { abortSignal }: { abortSignal?: AbortSignal }) => exchange(send, sent, abortSignal),
  };
  const provide = defaultProvider();
  // Given this client, the provider would send its own requests, to STS or SSO, over its connections.
  const credentials = () => provide();
  const client = new SecretsManagerClient({ maxAttempts: 1, requestHandler, credentials, ...config });
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}

type SecretsManagerOptions = SecretsManagerClientConfig & { readonly send?: Send };

interface Sent {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Sends one request of the SDK, which has signed it. */
async function exchange(send: Send, sent: Sent, signal: AbortSignal | undefined) {
  const { protocol, hostname, port, path, headers } = sent;
  // The bytes' own `toString` would write a warning.
  const body = new TextDecoder().decode(sent.body);
  const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
  const limits = { ...ANSWER_LIMITS, signal };
  const { status, ...answer } = await send({ method: 'POST', url, headers, body }, limits);
  return { response: { statusCode: status, ...answer } };
}
