import { CreateSecretCommand, ResourceExistsException } from '@aws-sdk/client-secrets-manager';
import { causeWord } from '../../functions/aws/calls.ts';
import { createSecretsManagerClient } from '../../functions/aws/clients.ts';
import { secretName } from '../../functions/contract.ts';

/** Stores the clients' credentials where there is none yet: what is found in Secrets Manager is left as it is. */
export async function storeSecrets(environment: string, credentials: Readonly<Record<string, unknown>>): Promise<void> {
  const secretsManager = createSecretsManagerClient();
  for (const [client, credential] of Object.entries(credentials)) {
    const Name = secretName(environment, client);
    try {
      await secretsManager.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(credential) }));
    } catch (error) {
      if (error instanceof ResourceExistsException) continue;
      const { AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint } = process.env;
      throw new Error(`cannot store the secret "${Name}" at ${endpoint}: ${causeWord(error)}`);
    }
  }
  secretsManager.destroy();
}
