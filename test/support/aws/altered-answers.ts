import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** From now on every answer that the client reads has these members. */
export function alterAnswers({ middlewareStack }: SecretsManagerClient, members: object): void {
  middlewareStack.add(
    (next) => async (args) => {
      const { output, ...rest } = await next(args);
      return { ...rest, output: { ...output, ...members } };
    },
    { step: 'initialize' },
  );
}
