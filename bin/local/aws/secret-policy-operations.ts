import { isJsonObject, parseJson } from '../../../client/json.ts';
import { AwsError } from './error.ts';
import type { SecretStore, StoredSecret } from './secret-store.ts';
import { INPUTS, operation } from './secrets-manager-input.ts';
import { identity } from './secrets-manager-output.ts';
import type { Operation } from './server.ts';

/** The operations of Secrets Manager that tell and change the resource policy of a secret. */
export function secretPolicyOperations(store: SecretStore): Readonly<Record<string, Operation>> {
  return {
    GetResourcePolicy: operation(INPUTS.GetResourcePolicy, (input) => {
      const secret = store.get(input.SecretId);
      return { ...identity(secret), ResourcePolicy: secret.policy };
    }),

    PutResourcePolicy: operation(INPUTS.PutResourcePolicy, (input) => {
      const secret = store.change(input.SecretId);
      if (statementsOf(input.ResourcePolicy).length === 0) {
        throw new AwsError('MalformedPolicyDocumentException', 'This resource policy contains invalid Json');
      }
      secret.policy = input.ResourcePolicy;
      return identity(secret);
    }),

    DeleteResourcePolicy: operation(INPUTS.DeleteResourcePolicy, (input) => {
      const secret = store.change(input.SecretId);
      secret.policy = undefined;
      return identity(secret);
    }),
  };
}

/**
 * Keeps a role from a value that the secret's policy denies it by name. Of IAM's language only this form is understood:
 * everything else denies nothing here.
 *
 * @throws AwsError AccessDeniedException
 */
export function assertMayRead({ policy }: StoredSecret, roleArn: string | undefined): void {
  if (policy === undefined || roleArn === undefined) return;
  const isDenied = statementsOf(policy).some(
    ({ Effect, Principal, Action, Condition }) =>
      Effect === 'Deny' &&
      Principal === '*' &&
      Action === 'secretsmanager:GetSecretValue' &&
      isJsonObject(Condition) &&
      isJsonObject(Condition.ArnEquals) &&
      Condition.ArnEquals['aws:PrincipalArn'] === roleArn,
  );
  if (isDenied) throw new AwsError('AccessDeniedException', 'An explicit deny in a resource-based policy');
}

function statementsOf(policy: string): readonly Readonly<Record<string, unknown>>[] {
  const document = parseJson(policy);
  return isJsonObject(document) ? [document.Statement].flat().filter(isJsonObject) : [];
}
