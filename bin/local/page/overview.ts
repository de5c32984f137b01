import { createAuthorize, parseCaller } from '../../../functions/broker/authorize.ts';
import { pairKey } from '../../../functions/broker/pair/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { LocalBroker } from '../broker.ts';
import { assumedRoleIdentity } from '../function-url/event.ts';
import { roleName } from '../shell.ts';
import type { Overview, PageClient, Part } from './messages.ts';

/** What the page shows of a running broker: names and addresses, none of the keys, headers and parameters beside them. */
export function describeBroker(broker: LocalBroker, variables: NodeJS.ProcessEnv): Overview {
  const { config } = broker;
  const clients = clientsOf(broker);
  const services = Object.entries(config.services).map(([name, { authUrl, tokenPath }]) => ({
    name,
    url: `${authUrl}${tokenPath}`,
    detail: '',
  }));
  const pairs = clients.flatMap(({ name: client }) => services.map((service) => ({ client, service: service.name })));
  const authorize = createAuthorize(config.accessRules, new Set(services.map(({ name }) => name)));

  const callers = config.callers.map(({ role, accessKeyId }) => {
    const caller = parseCaller(assumedRoleIdentity(role, accessKeyId).userArn);
    const may = (operation: (typeof OPERATIONS)[number]) =>
      pairs.filter((pair) => caller && isAllowed(() => authorize(caller, operation, pair)));
    const allowed = OPERATIONS.flatMap((operation) => may(operation).map((pair) => `${operation} ${pairKey(pair)}`));
    return { id: accessKeyId, name: roleName(role), role, allowed };
  });
  return { running: runningParts(broker, variables), callers, clients, services };
}

const OPERATIONS = ['token', 'check'] as const;

function isAllowed(authorize: () => void): boolean {
  try {
    authorize();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** Those that have a secret, are in the configuration, or are named by a rule; a Secrets Manager elsewhere may hold more. */
function clientsOf({ config: { credentials, accessRules }, clients: stored }: LocalBroker): readonly PageClient[] {
  const named = accessRules.flatMap(({ clients }) => (clients === 'all' ? [] : clients));
  const byName = new Map([...Object.keys(credentials), ...named].map((name) => [name, { name }]));
  for (const client of stored()) byName.set(client.name, client);
  return [...byName.keys()].toSorted().flatMap((name) => byName.get(name) ?? []);
}

function runningParts(
  { url, controlUrl, tokenServiceUrl, standIns }: LocalBroker,
  { AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets = '', AWS_ENDPOINT_URL_DYNAMODB: table = '' }: NodeJS.ProcessEnv,
): readonly Part[] {
  // The origin alone: an address in a variable may hold a password.
  const endpoint = (place: string) => ({
    detail: standIns.includes(place) ? 'stand-in' : 'yours',
    url: URL.canParse(place) ? new URL(place).origin : '',
  });
  return [
    { name: 'Broker', detail: 'the real function behind a stand-in of its Function URL', url },
    ...(tokenServiceUrl ? [{ name: 'Services', detail: 'stand-in', url: tokenServiceUrl }] : []),
    { name: 'Secrets Manager', ...endpoint(secrets) },
    { name: 'DynamoDB', ...endpoint(table) },
    { name: 'Schedule', detail: 'POST /health-run checks every client', url: controlUrl },
  ];
}
