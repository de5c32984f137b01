import { createAuthorize, parseCaller } from '../../../functions/broker/authorize.ts';
import { pairKey } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { LocalBroker } from '../broker.ts';
import { assumedRoleIdentity } from '../function-url/event.ts';
import { roleName } from '../shell.ts';
import type { PageClient, State } from './messages.ts';

/** What the page shows of a running broker: names and addresses, none of the keys, headers and parameters beside them. */
export function describeBroker({ config, running, clients: stored }: Described): Omit<State, 'requests'> {
  const clients = clientsOf(config, stored());
  const services = Object.entries(config.services).map(([name, { authUrl, tokenPath }]) => ({
    name,
    url: `${authUrl}${tokenPath}`,
  }));
  const pairs = clients.flatMap(({ name: client }) => services.map((service) => ({ client, service: service.name })));
  const authorize = createAuthorize(config.accessRules, new Set(services.map(({ name }) => name)));

  const callers = config.callers.map(({ role, accessKeyId }) => {
    const caller = parseCaller(assumedRoleIdentity(role, accessKeyId).userArn);
    const allowed = (['token', 'check'] as const).flatMap((operation) =>
      pairs
        .filter((pair) => caller && isAllowed(() => authorize(caller, operation, pair)))
        .map((pair) => `${operation} ${pairKey(pair)}`),
    );
    return { id: accessKeyId, name: roleName(role), role, allowed };
  });
  return { running, callers, clients, services };
}

type Described = Pick<LocalBroker, 'config' | 'running' | 'clients'>;

function isAllowed(authorize: () => void): boolean {
  try {
    authorize();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** Those that have a secret, and those that a rule alone names. */
function clientsOf({ accessRules }: Described['config'], stored: readonly PageClient[]): readonly PageClient[] {
  const named = accessRules.flatMap(({ clients }) => (clients === 'all' ? [] : clients)).map((name) => ({ name }));
  const byName = new Map<string, PageClient>([...named, ...stored].map((client) => [client.name, client]));
  return [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
