import { secretInventoryOperations } from './secret-inventory-operations.ts';
import { secretPolicyOperations } from './secret-policy-operations.ts';
import { type LabelUpdate, SecretStore } from './secret-store.ts';
import { secretValueOperations } from './secret-value-operations.ts';
import { type AwsJsonServer, serveAwsJson } from './server.ts';

/** Stands in for AWS Secrets Manager on 127.0.0.1: account 111111111111, region us-east-1, everything in memory. */
export async function startSecretsManager({
  now = Date.now,
  port,
  onLabelUpdated = () => undefined,
  listLagMs = 0,
  roles = {},
}: Options = {}): Promise<SecretsManagerStandIn> {
  const store = new SecretStore({ now, onLabelUpdated });
  const operations = new Map(
    Object.entries({
      ...secretValueOperations({ store, now, roles }),
      ...secretInventoryOperations({ store, now, listLagMs }),
      ...secretPolicyOperations(store),
    }),
  );
  const server = await serveAwsJson({ service: 'secretsmanager', operations, port });
  return { ...server, store };
}

export interface SecretsManagerStandIn extends AwsJsonServer {
  readonly store: SecretStore;
}

interface Options {
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** A free one when left out. */
  readonly port?: number;
  /** Called where AWS sends the event `Secret Label Updated`. */
  readonly onLabelUpdated?: (update: LabelUpdate) => void;
  /** ListSecrets may lag behind by five minutes in AWS; here by this much. */
  readonly listLagMs?: number;
  /** Whose access key it is, as the ARN of a role: such a role is held to the secrets' policies, other keys are not. */
  readonly roles?: Readonly<Record<string, string>>;
}
