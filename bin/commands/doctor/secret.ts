import { TokenBrokerError } from '../../../client/error.ts';
import type { TokenBroker } from '../../../client/token-broker.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { secretName } from '../../../functions/contract.ts';
import { CommandFailure } from '../failure.ts';
import type { Secrets } from '../secrets.ts';
import { versionWith } from '../stored-secret.ts';
import { failed, type Step, unknown } from './causes.ts';

interface Question {
  readonly environment: string;
  readonly pair: Pair;
  readonly broker: TokenBroker;
  /** `undefined` when it is unknown where the secrets are. */
  readonly secrets: Secrets | undefined;
}

/** Why the broker has no credential for a client, as far as the rights of whoever asks reach; reads no value. */
export async function examineSecret(question: Question, signal: AbortSignal): Promise<Step> {
  const { environment, pair, secrets } = question;
  if (await isDisabled(question, signal))
    return failed('secret', 'client-disabled', 'An operator has disabled the client');

  const name = secretName(environment, pair.client);
  if (secrets === undefined) return unknown('secret', `Where ${name} is stored is not set`);
  try {
    const secret = await secrets.find(pair.client);
    if (secret === undefined) return failed('secret', 'secret-missing', `There is no secret ${name}`);
    if (secret.deletedAt !== undefined) return failed('secret', 'secret-deleted', `${name} is marked for deletion`);
    if (versionWith('AWSCURRENT', secret) === undefined) {
      return failed('secret', 'secret-missing', `${name} has no version AWSCURRENT`);
    }
    return unknown('secret', `${name} is there: was it stored just now, or is the broker one of another environment?`);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
    return unknown('secret', `You cannot look at ${name} yourself: ${error.detail}`);
  }
}

/** Only who may check is told; a caller that may not is told of a missing credential. */
async function isDisabled({ broker, pair }: Question, signal: AbortSignal): Promise<boolean> {
  try {
    return (await broker.check({ ...pair, signal })).finding === 'disabled';
  } catch (error) {
    if (!(error instanceof TokenBrokerError) || error.type === 'aborted') throw error;
    return false;
  }
}
