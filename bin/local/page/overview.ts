import { createAuthorize, parseCaller } from '../../../functions/broker/authorize.ts';
import { pairKey } from '../../../functions/broker/pair/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { LocalConfig } from '../../../lib/settings/local-config.ts';
import type { LocalBroker } from '../broker.ts';
import { assumedRoleIdentity } from '../function-url/event.ts';
import { roleName } from '../shell.ts';
import type { Overview, PageOperation, Part } from './messages.ts';

/** Where an AWS service is, and whether it is a stand-in that `npm start` brought along. */
interface AwsEndpoint {
  readonly url: string;
  readonly isOwn: boolean;
}

export interface Surroundings {
  readonly secretsManager: AwsEndpoint;
  readonly dynamodb: AwsEndpoint;
}

/** What the page shows of a running broker: names and addresses, none of the keys, headers and parameters beside them. */
export function describeBroker(broker: LocalBroker, surroundings: Surroundings): Overview {
  const { config } = broker;
  const clients = clientsOf(config);
  const services = Object.entries(config.services).map(([name, { authUrl, tokenPath }]) => ({
    name,
    url: `${authUrl}${tokenPath}`,
    detail: '',
  }));
  const pairs = clients.flatMap((client) => services.map(({ name }) => ({ client, service: name })));
  const authorize = createAuthorize(config.accessRules, new Set(services.map(({ name }) => name)));

  const callers = config.callers.map(({ role, accessKeyId }) => {
    const caller = parseCaller(assumedRoleIdentity(role, accessKeyId).userArn);
    const may = (operation: PageOperation) =>
      pairs.filter((pair) => caller && isAllowed(() => authorize(caller, operation, pair)));
    const allowed = OPERATIONS.flatMap((operation) => may(operation).map((pair) => `${operation} ${pairKey(pair)}`));
    return { id: accessKeyId, name: roleName(role), role, allowed };
  });
  return { running: runningParts(broker, surroundings), callers, clients, services };
}

const OPERATIONS: readonly PageOperation[] = ['token', 'check'];

function isAllowed(authorize: () => void): boolean {
  try {
    authorize();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** Those whose credential is in the configuration and those that a rule names; a Secrets Manager may hold more. */
function clientsOf({ credentials, accessRules }: LocalConfig): readonly string[] {
  const named = accessRules.flatMap(({ clients }) => (clients === 'all' ? [] : clients));
  return [...new Set([...Object.keys(credentials), ...named])].toSorted();
}

function runningParts(broker: LocalBroker, { secretsManager, dynamodb }: Surroundings): readonly Part[] {
  const { url, controlUrl, tokenServiceUrl } = broker;
  return [
    { name: 'Broker', detail: 'the real function behind a stand-in of its Function URL', url },
    ...(tokenServiceUrl ? [{ name: 'Services', detail: 'stand-in', url: tokenServiceUrl }] : []),
    { name: 'Secrets Manager', ...endpoint(secretsManager) },
    { name: 'DynamoDB', ...endpoint(dynamodb) },
    { name: 'Schedule', detail: 'POST /health-run checks every client', url: controlUrl },
  ];
}

/** The origin alone: an address in a variable may hold a password. */
function endpoint({ url, isOwn }: AwsEndpoint) {
  return { detail: isOwn ? 'stand-in' : 'yours', url: URL.canParse(url) ? new URL(url).origin : '' };
}
