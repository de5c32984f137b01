import { ListSecretsCommand, type SecretListEntry, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { ClientList } from '../broker/health/run.ts';
import { NAME_PATTERN, secretName } from '../contract.ts';
import { causeWord, withTimeLimit } from './calls.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** For all pages together. */
  readonly timeoutMs?: number;
}

/**
 * Lists the environment's clients, those too whose secrets are planned for deletion; reads no secret. Which ones there are
 * may be some minutes old.
 *
 * @throws Error whose message holds one word of the cause: half a list is no list
 */
export function createClientList({ environment, secretsManager, timeoutMs = TIMEOUT_MS }: Dependencies) {
  const prefix = secretName(environment, '');

  return async (): Promise<ClientList> => {
    const secrets = await listSecrets();
    // The filter compares beginnings, and what it takes for one is for AWS to say.
    const names = [...secrets.keys()]
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
    return {
      clients: names
        .filter((name) => NAME_PATTERN.test(name))
        .map((client) => ({ client, services: servicesTag(secrets.get(secretName(environment, client))) })),
      ignored: names.filter((name) => !NAME_PATTERN.test(name)),
    };
  };

  /** By name, because a list that changes from page to page can show a secret twice. */
  async function listSecrets(): Promise<ReadonlyMap<string, SecretListEntry>> {
    try {
      return await withTimeLimit(timeoutMs, async (abortSignal) => {
        const secrets = new Map<string, SecretListEntry>();
        let NextToken: string | undefined;
        do {
          const command = new ListSecretsCommand({
            Filters: [{ Key: 'name', Values: [prefix] }],
            IncludePlannedDeletion: true,
            MaxResults: PAGE_SIZE,
            NextToken,
          });
          const page = await secretsManager.send(command, { abortSignal });
          for (const secret of page.SecretList ?? []) secrets.set(secret.Name ?? '', secret);
          NextToken = page.NextToken;
        } while (NextToken !== undefined);
        return secrets;
      });
    } catch (error) {
      throw new Error(`The clients cannot be listed: ${causeWord(error)}`);
    }
  }
}

function servicesTag(secret: SecretListEntry | undefined): string | undefined {
  return secret?.Tags?.find(({ Key }) => Key === 'services')?.Value;
}

const TIMEOUT_MS = 60_000;
/** The most that AWS gives at once. */
const PAGE_SIZE = 100;
