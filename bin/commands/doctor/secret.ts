import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { secretName } from '../../../functions/contract.ts';
import { isTagRepeated } from '../shared/client-options.ts';
import { CommandFailure } from '../shared/failure.ts';
import { mapFew } from '../shared/few.ts';
import type { Secrets } from '../shared/secrets.ts';
import { versionWith } from '../shared/stored-secret.ts';
import { failed, ok, type Step, unknown } from './step.ts';

interface Question {
  readonly environment: string;
  readonly pair: Pair;
  /** `undefined` when it is unknown where the secrets are. */
  readonly secrets: Secrets | undefined;
}

/** Why the broker has no credential for a client, as far as the rights of whoever asks reach; reads no value. */
export async function examineSecret({ environment, pair, secrets }: Question): Promise<Step> {
  const name = secretName(environment, pair.client);
  if (secrets === undefined) return unknown('secret', `Where ${name} is stored is not set`);
  try {
    const secret = await secrets.find(pair.client);
    if (secret === undefined) return failed('secret', 'secret-missing', `There is no secret ${name}`);
    if (secret.deletedAt !== undefined) return failed('secret', 'secret-deleted', `${name} is marked for deletion`);
    if (versionWith('AWSCURRENT', secret) === undefined) {
      return failed('secret', 'secret-missing', `${name} has no version AWSCURRENT`);
    }
    return unknown(
      'secret',
      `${name} is there: does it name ${pair.service}, was it stored just now, or is the broker one of another environment?`,
    );
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
    return unknown('secret', `You cannot look at ${name} yourself: ${error.detail}`);
  }
}

/** Whether the secrets name the services that their tags do, for an operator who may list them. */
export async function examineTags(secrets: Secrets): Promise<Step> {
  try {
    const states = await mapFew(await secrets.list(), async (secret) => ({
      client: secret.client,
      repeated: await isTagRepeated(secret, secrets),
    }));
    const clientsWith = (state: unknown) =>
      states.filter(({ repeated }) => repeated === state).map(({ client }) => client);
    const [others, unknowns] = [clientsWith(false), clientsWith('unknown')];
    if (others.length > 0)
      return failed('services', 'services-not-repeated', `Tag and secret differ: ${others.join(', ')}`);
    if (unknowns.length > 0) return unknown('services', `You cannot read the secrets of ${unknowns.join(', ')}`);
    return ok('services', 'Every secret names the services of its tag');
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
    return unknown('services', `You cannot list the clients: ${error.detail}`);
  }
}
