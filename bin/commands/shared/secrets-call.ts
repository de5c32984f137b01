import {
  InvalidParameterException,
  InvalidRequestException,
  ResourceExistsException,
  ResourceNotFoundException,
} from '@aws-sdk/client-secrets-manager';
import { awsFailure } from './aws-failure.ts';
import { CommandFailure } from './failure.ts';

/** Makes calls that fail in a command's own words. */
export function inOurWords(region: string | undefined, signal: AbortSignal) {
  return async <Answer>(
    operation: string,
    send: (options: { readonly abortSignal: AbortSignal }) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await send({ abortSignal: signal });
    } catch (error) {
      throw conflict(error, operation) ?? awsFailure(error, { action: `secretsmanager:${operation}`, region });
    }
  };
}

const RESTORE = 'Restore it first: docs/operations.md, "Restore a deleted secret".';

/** What AWS refuses because of how the secret is at the moment. */
function conflict(error: unknown, operation: string): CommandFailure | undefined {
  if (error instanceof ResourceNotFoundException) {
    return new CommandFailure('secret-missing', 'There is no such secret', 'client list shows which there are.');
  }
  if (error instanceof InvalidRequestException) {
    return new CommandFailure('secret-deleted', 'The secret is marked for deletion', RESTORE);
  }
  const isLost = error instanceof InvalidParameterException && operation === 'UpdateSecretVersionStage';
  if (isLost || error instanceof ResourceExistsException) {
    return new CommandFailure(
      'secret-changed',
      'Somebody else has changed the secret meanwhile',
      'Look at it with client list, then run the command again.',
    );
  }
  return undefined;
}
