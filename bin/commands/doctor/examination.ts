import { createTokenBroker } from '../../../client/index.ts';
import type { Caller } from '../../../functions/broker/authorize.ts';
import type { Pair } from '../../../functions/broker/pair/pair.ts';
import { settingsOf } from '../environment.ts';
import { rulesOf, rulesText } from '../policy.ts';
import type { Secrets } from '../secrets.ts';
import { readAddress } from './address.ts';
import { call } from './call.ts';
import { type Step, unknown } from './causes.ts';
import { examineConnection } from './connection.ts';
import { findCredentials, identify } from './identity.ts';
import { examinePermissions } from './permissions.ts';
import { examineSecret } from './secret.ts';
import { tryTokenPaths } from './token-path.ts';

export interface Complaint {
  readonly environment: string;
  readonly url?: string | undefined;
  readonly region?: string | undefined;
  readonly pair: Pair | undefined;
  readonly authUrl?: string | undefined;
  readonly secrets: Secrets | undefined;
}

/**
 * Follows a call from this machine to the token endpoint, and stops where it fails. The cause is that of the last step
 * which has one: what is found out afterwards only makes it more exact.
 */
export async function* examine(complaint: Complaint, signal: AbortSignal): AsyncGenerator<Step> {
  const { environment, pair, secrets, authUrl } = complaint;
  const { step: address, endpoint } = readAddress(complaint);
  yield address;
  if (endpoint === undefined) return;

  const found = await findCredentials();
  yield found.step;
  if (found.credentials === undefined) return;
  const { credentials } = found;

  for (const step of await examineConnection(endpoint, signal)) {
    yield step;
    if (step.outcome === 'failed') return;
  }
  const { step: identity, caller } = await identify(credentials, endpoint, signal);
  yield identity;
  if (identity.outcome === 'failed') return;

  const { region } = endpoint;
  const broker = createTokenBroker({ url: endpoint.url.href, region, credentials, cache: false, maxAttempts: 1 });
  const step = await call(broker, pair, signal);
  yield step;
  switch (step.cause) {
    case 'aws-forbidden':
      yield await examinePermissions({ environment, region, credentials, caller }, signal);
      return;
    case 'access-denied':
      if (caller !== undefined && pair !== undefined) yield lookIntoRules(environment, caller);
      return;
    case 'secret-missing':
      if (pair !== undefined) yield await examineSecret({ environment, pair, secrets });
      return;
    case 'token-path-wrong':
      if (authUrl !== undefined) yield await tryTokenPaths(authUrl, signal);
  }
}

/** The settings at hand may differ from those that are deployed, so this only hints. */
function lookIntoRules(environment: string, { partition, account, role }: Caller): Step {
  const settings = settingsOf(environment);
  if (settings === undefined) return unknown('access-rule', `lib/environments.ts does not name "${environment}"`);
  const rules = rulesOf(`arn:${partition}:iam::${account}:role/${role}`, settings);
  if (rules.length === 0) return unknown('access-rule', `lib/environments.ts has no rule for the role ${role}`);
  return unknown('access-rule', `lib/environments.ts lets the role ${role}: ${rulesText(rules)}`);
}
