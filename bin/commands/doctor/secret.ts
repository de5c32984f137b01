import { CommandFailure } from '../../../client/commands/failure.ts';
import { failed, ok, type Step, unknown } from '../../../client/commands/step.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { secretName } from '../../../functions/contract.ts';
import { mapConcurrently } from '../shared/checks.ts';
import { versionWith } from '../shared/client-secret.ts';
import type { Secrets } from '../shared/secrets.ts';

/** Why the broker has no credential for a client, as far as the rights of the person who asks reach; reads no value. */
export async function examineSecret(environment: string, pair: Pair, secrets: Secrets | undefined): Promise<Step> {
  const step = 'secret';
  const name = secretName(environment, pair.client);
  if (secrets === undefined) return unknown(step, `Where ${name} is stored is not set`);
  return asFarAsAllowed(step, `look at ${name} yourself`, async () => {
    const secret = await secrets.find(pair.client);
    if (secret === undefined) return { step, outcome: 'failed', detail: `There is no secret ${name}` };
    if (secret.deletedAt !== undefined) return failed(step, 'secret-deleted', `${name} is marked for deletion`);
    if (versionWith('AWSCURRENT', secret) === undefined) {
      return { step, outcome: 'failed', detail: `${name} has no version AWSCURRENT` };
    }
    const others = 'was it stored just now, or is the broker one of another environment?';
    return unknown(step, `${name} is there: does it name ${pair.service}, ${others}`);
  });
}

/** Whether the secrets name the services that their tags do, for an operator who may list them. */
export function examineTags(secrets: Secrets): Promise<Step> {
  const step = 'services';
  return asFarAsAllowed(step, 'list the clients', async () => {
    const states = await mapConcurrently(await secrets.list(), async (secret) => ({
      client: secret.client,
      repeated: await secrets.isTagRepeated(secret),
    }));
    const clientsWith = (state: false | 'unknown') =>
      states.flatMap(({ client, repeated }) => (repeated === state ? [client] : [])).join(', ');
    const [others, unknowns] = [clientsWith(false), clientsWith('unknown')];
    if (others !== '') return failed(step, 'services-not-repeated', `Tag and secret differ: ${others}`);
    if (unknowns !== '') return unknown(step, `You cannot read the secrets of ${unknowns}`);
    return ok(step, 'Every secret names the services of its tag');
  });
}

async function asFarAsAllowed(step: string, what: string, examine: () => Promise<Step>): Promise<Step> {
  try {
    return await examine();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.type === 'aborted') throw error;
    return unknown(step, `You cannot ${what}: ${error.detail}`);
  }
}
