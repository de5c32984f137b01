import {
  DescribeSecretCommand,
  ListSecretsCommand,
  ResourceNotFoundException,
  type SecretListEntry,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { SecretDescription } from '../broker/health/check-client.ts';
import type { ClientList } from '../broker/health/run.ts';
import type { ClientName } from '../broker/pair/pair.ts';
import { NAME_PATTERN, secretName } from '../contract.ts';
import { causeWord, withTimeLimit } from './calls.ts';

interface Dependencies {
  readonly environment: string;
  readonly secretsManager: SecretsManagerClient;
  /** For all pages together, repetitions included. */
  readonly timeoutMs?: number;
}

/**
 * Lists the environment's clients, those too whose secrets are planned for deletion; reads no secret. Which ones there are
 * may be some minutes old.
 *
 * @throws Error whose message holds one word of the cause: half a list is no list
 */
export function createClientList({ environment, secretsManager, timeoutMs = 60_000 }: Dependencies) {
  const prefix = secretName(environment, '');

  return async (): Promise<ClientList> => {
    const secrets = await withTimeLimit(timeoutMs, listSecrets).catch((error: unknown) => {
      throw new Error(`The clients cannot be listed: ${causeWord(error)}`);
    });
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
  async function listSecrets(abortSignal: AbortSignal): Promise<ReadonlyMap<string, SecretListEntry>> {
    const secrets = new Map<string, SecretListEntry>();
    const Filters = [{ Key: 'name' as const, Values: [prefix] }];
    let NextToken: string | undefined;
    do {
      const command = new ListSecretsCommand({ Filters, IncludePlannedDeletion: true, MaxResults: 100, NextToken });
      const page = await secretsManager.send(command, { abortSignal });
      for (const secret of page.SecretList ?? []) secrets.set(secret.Name ?? '', secret);
      NextToken = page.NextToken;
    } while (NextToken !== undefined);
    return secrets;
  }
}

/**
 * Looks at a client's secret from outside; `undefined` when there is none or it is planned for deletion. Other than the
 * list of secrets, this knows of a client as soon as it exists.
 *
 * @throws Error whose message holds one word of the cause
 */
export function createSecretDescriber({ environment, secretsManager, timeoutMs = 10_000 }: Dependencies) {
  return async (client: ClientName): Promise<SecretDescription | undefined> => {
    const command = new DescribeSecretCommand({ SecretId: secretName(environment, client) });
    try {
      const secret = await withTimeLimit(timeoutMs, (abortSignal) => secretsManager.send(command, { abortSignal }));
      if (secret.DeletedDate !== undefined) return undefined;
      const versions = Object.entries(secret.VersionIdsToStages ?? {});
      const [currentVersion] = versions.find(([, stages]) => stages.includes('AWSCURRENT')) ?? [];
      return { services: servicesTag(secret), currentVersion };
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw new Error(`The secret of ${client} cannot be described: ${causeWord(error)}`);
    }
  };
}

function servicesTag(secret: Pick<SecretListEntry, 'Tags'> | undefined): string | undefined {
  return secret?.Tags?.find(({ Key }) => Key === 'services')?.Value;
}
