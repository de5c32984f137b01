import { createAuthorize, parseCaller } from '../../../functions/broker/authorize.ts';
import { type Pair, pairKey, servicesOf } from '../../../functions/broker/pair.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import type { LocalConfig } from '../../../lib/settings/local-config.ts';
import { type PairState, SEVERITIES } from '../../pairs/pair-state.ts';
import type { LocalBroker, StoredClient } from '../broker.ts';
import { commandLine } from '../command-lines.ts';
import { assumedRoleIdentity } from '../function-url/event.ts';
import { roleName } from '../shell.ts';
import { INCIDENTS } from '../token-service/incidents.ts';
import type { Found } from './feed.ts';
import type { Cell, Entry, PageCaller, Stage, State } from './messages.ts';
import { durationText } from './way.ts';

interface Described extends Pick<LocalBroker, 'url' | 'config' | 'running' | 'clients' | 'playing'> {
  readonly readPair: (pair: Pair, current: string | undefined) => Promise<PairState>;
  readonly findingOf: (pair: string) => Found | undefined;
}

/** Returns names, addresses and states of a running broker for the page. Leaves out keys, headers and parameters. */
export async function describeBroker(described: Described): Promise<Omit<State, 'saved' | 'requests' | 'messages'>> {
  const { config, running } = described;
  const names = Object.keys(config.services);
  const stored = new Map(described.clients().map((client) => [client.name, client]));
  // A rule may name a client that has no secret.
  const named = config.accessRules.flatMap(({ clients }) => (clients === 'all' ? [] : clients));
  const clients = [...new Set([...named, ...stored.keys()])].toSorted();
  const describe = async (client: string) => ({
    name: client,
    cells: await Promise.all(names.map((service) => cellOf({ client, service }, stored.get(client), described))),
    commands: ['show', 'put', 'disable'].map((verb) => operatorCommand(described, `client ${verb} ${client}`)),
  });
  const endpoints = Object.entries(config.services).map(([name, { authUrl, tokenPath }]) => {
    return { name, text: `${authUrl}${tokenPath}` };
  });
  return {
    running: [...running, ...endpoints],
    services: names,
    callers: callersOf(config, clients),
    clients: await Promise.all(clients.map(describe)),
    stages: stagesOf(described),
  };
}

async function cellOf(pair: Pair, client: StoredClient | undefined, described: Described): Promise<Cell> {
  const { service } = pair;
  const cell = (word: keyof typeof SEVERITIES) => ({ service, word, severity: SEVERITIES[word] });
  if (client === undefined) return cell('secret-missing');
  if (client.state === 'deleted') return { service, word: 'deleted', severity: 'idle' };
  if (!servicesOf(client.servicesTag, [service]).includes(service)) return { service, word: '-', severity: 'idle' };

  const { state, until, provenAt, tokenExpiresAt: end } = await described.readPair(pair, client.current);
  const now = Date.now();
  const part = end && provenAt && (end - now) / (end - provenAt);
  const token = end === undefined ? undefined : { lives: durationText(end - now), part };
  if (client.state === 'disabled') return { ...cell('disabled'), token };
  const { finding, at, version } = described.findingOf(pairKey(pair)) ?? { finding: 'accepted', at: 0 };
  // The record decides about the credential, the last check about service and secret, until a newer token proves both.
  const isOfCurrent = version === undefined || version === client.current;
  const isShown = !OF_THE_RECORD.has(finding) && isOfCurrent && at > (provenAt ?? 0);
  if (isShown && (state === 'ok' || state === 'unproven')) return { ...cell(finding), token };
  return { ...cell(state), until, finding: isShown ? finding : undefined, token };
}

const OF_THE_RECORD = new Set<Found['finding']>(['accepted', 'rejected', 'disabled']);

function callersOf({ callers, accessRules, services }: LocalConfig, clients: readonly string[]): readonly PageCaller[] {
  const names = Object.keys(services);
  const authorize = createAuthorize(accessRules, new Set(names));
  const pairs = clients.flatMap((client) => names.map((service) => ({ client, service })));
  return callers.map(({ role, accessKeyId }) => {
    const caller = parseCaller(assumedRoleIdentity(role, accessKeyId).userArn);
    const allowed = (['token', 'check'] as const).flatMap((operation) =>
      pairs
        .filter((pair) => caller && isAllowed(() => authorize(caller, operation, pair)))
        .map((pair) => `${operation} ${pairKey(pair)}`),
    );
    return { id: accessKeyId, name: roleName(role), allowed };
  });
}

function isAllowed(authorize: () => void): boolean {
  try {
    authorize();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

function stagesOf({ url, config, playing }: Described): readonly Stage[] {
  return Object.keys(playing === undefined ? {} : config.services).map((service) => {
    const name = playing?.get(service) ?? 'recover';
    const command = operatorCommand({ url }, `service ${service} --${name}`);
    return { service, plays: { name, command }, incidents: Object.keys(INCIDENTS) };
  });
}

function operatorCommand({ url }: Pick<Described, 'url'>, name: string): Entry {
  return { name, text: commandLine(url, 'operator', name) };
}
