import { z } from 'zod';
import { isRecord, parseJson } from '../../../functions/broker/json.ts';
import { AwsError } from './failure.ts';
import { identity, SecretId, type SecretStore, type StoredSecret } from './secret-store.ts';
import { type AwsKey, operation } from './server.ts';

/** Tells and changes the resource policy of a secret. */
export function policyOperations(store: SecretStore) {
  return {
    GetResourcePolicy: operation(z.object({ SecretId }), (input) => {
      const secret = store.get(input.SecretId);
      return { ...identity(secret), ResourcePolicy: secret.policy };
    }),

    PutResourcePolicy: operation(z.object({ SecretId, ResourcePolicy: z.string().min(1).max(20_480) }), (input) => {
      const secret = store.getActive(input.SecretId);
      if (statementsOf(input.ResourcePolicy).length === 0) {
        throw new AwsError('MalformedPolicyDocumentException', 'This resource policy contains invalid Json');
      }
      secret.policy = input.ResourcePolicy;
      return identity(secret);
    }),

    DeleteResourcePolicy: operation(z.object({ SecretId }), (input) => {
      const secret = store.getActive(input.SecretId);
      secret.policy = undefined;
      return identity(secret);
    }),
  };
}

/**
 * Keeps a value from a role that may read none, and from one that the secret's policy denies it by name. Of IAM's language
 * only this form is understood: everything else denies nothing here.
 *
 * @throws AwsError AccessDeniedException
 */
export function assertMayRead(secret: StoredSecret, { role, mayReadSecrets }: AwsKey): void {
  if (!mayReadSecrets) {
    throw new AwsError(
      'AccessDeniedException',
      `User: ${role} is not authorized to perform: secretsmanager:GetSecretValue`,
    );
  }
  if (isDenied(secret, role))
    throw new AwsError('AccessDeniedException', 'An explicit deny in a resource-based policy');
}

/** Whether the secret's policy denies its value to a role by name. */
export function isDenied({ policy = '' }: StoredSecret, role: string): boolean {
  return statementsOf(policy).some(
    ({ Effect, Principal, Action, Condition }) =>
      Effect === 'Deny' &&
      Principal === '*' &&
      Action === 'secretsmanager:GetSecretValue' &&
      isRecord(Condition) &&
      isRecord(Condition.ArnEquals) &&
      Condition.ArnEquals['aws:PrincipalArn'] === role,
  );
}

function statementsOf(policy: string): readonly Readonly<Record<string, unknown>>[] {
  const document = parseJson(policy);
  return isRecord(document) ? [document.Statement].flat().filter(isRecord) : [];
}
