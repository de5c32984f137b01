import {
  DescribeSecretCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { ListedClient } from '../broker/health/pairs.ts';
import type { ClientName } from '../broker/pair/pair.ts';
import { secretName } from '../contract.ts';
import { causeWord } from './errors.ts';
import { withTimeLimit } from './time-limit.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** Repetitions included. */
  readonly timeoutMs?: number;
}

/**
 * Looks at a client's secret from outside; `undefined` when there is none or it is going to be deleted. Other than the
 * list of secrets, this knows of a client as soon as it exists.
 *
 * @throws Error whose message holds one word of the cause: whoever does not know the services may check none
 */
export function createClientFinder({ environment, secretsManager, timeoutMs = TIMEOUT_MS }: Dependencies) {
  return async (client: ClientName): Promise<ListedClient | undefined> => {
    const command = new DescribeSecretCommand({ SecretId: secretName(environment, client) });
    try {
      const secret = await withTimeLimit(timeoutMs, (abortSignal) => secretsManager.send(command, { abortSignal }));
      if (secret.DeletedDate !== undefined) return undefined;
      return { client, services: secret.Tags?.find(({ Key }) => Key === 'services')?.Value };
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw new Error(`The secret of ${client} cannot be described: ${causeWord(error)}`);
    }
  };
}

const TIMEOUT_MS = 10_000;
