import { type PairState, SEVERITIES } from '../../functions/aws/pair-table/pair-state.ts';
import { createRulesOf, isAllowed, parseCaller } from '../../functions/broker/authorize.ts';
import { type Pair, pairKey, servicesOf } from '../../functions/broker/pair.ts';
import type { LocalConfig } from '../../lib/settings/local-config.ts';
import { commandLine } from '../command-lines.ts';
import { assumedRoleIdentity } from '../function-url/event.ts';
import type { SentRequest } from '../recorder.ts';
import { roleName } from '../shell.ts';
import type { Found } from './feed.ts';
import type { Cell, PageCaller } from './messages.ts';
import { durationText } from './way.ts';

interface Described {
  readonly url: string;
  readonly config: LocalConfig;
  readonly clients: () => readonly StoredClient[];
  /** The incident that each service of the stand-in plays. Absent when a configuration defines its own services. */
  readonly playing: ReadonlyMap<string, string> | undefined;
  /** The incident that the table plays. */
  readonly table: string;
  readonly sentFor: (requestId: string) => readonly SentRequest[];
  readonly readPair: (pair: Pair, current: string | undefined) => Promise<PairState>;
  readonly findingOf: (pair: string) => Found | undefined;
}

/** The metadata of a client's secret for the board. It contains no secret value. */
export interface StoredClient {
  readonly name: string;
  /** The version with the stage AWSCURRENT. */
  readonly current: string | undefined;
  /** The tag `services`. */
  readonly servicesTag: string | undefined;
  /** Absent unless an operator has disabled or deleted the client. */
  readonly state?: 'disabled' | 'deleted' | undefined;
}

/** Returns names and states of a running broker for the page. Leaves out keys, headers and parameters. */
export async function describeBroker(described: Described) {
  const { config, url } = described;
  const names = Object.keys(config.services);
  const command = (name: string, line = name) => ({ name, text: commandLine(url, 'operator', line) });
  const stored = new Map(described.clients().map((client) => [client.name, client]));
  // A rule may name a client that has no secret.
  const named = config.accessRules.flatMap(({ clients }) => (clients === 'all' ? [] : clients));
  const clients = [...new Set([...named, ...stored.keys()])].toSorted(NATURAL.compare);
  const describe = async (client: string) => ({
    name: client,
    cells: await Promise.all(names.map((service) => cellOf({ client, service }, stored.get(client), described))),
    commands: ['show', 'put', 'disable'].map((verb) => command(`client ${verb} ${client}`)),
  });
  return {
    services: names.map((name) => ({ name, ...playOf(name, clients, described) })),
    table: described.table,
    callers: callersOf(config, clients),
    clients: await Promise.all(clients.map(describe)),
    create: [command('client put --create', 'client put acme --create --services all')],
  };
}

/** Sorts `acme-2` before `acme-10`. */
const NATURAL = new Intl.Collator('en', { numeric: true });

/** Returns the incident of a stand-in. Any other service is in trouble while its newest answer is a failure. */
function playOf(service: string, clients: readonly string[], { playing, findingOf }: Described) {
  const plays = playing?.get(service) ?? 'recover';
  if (playing) return plays === 'recover' ? { plays } : { plays, trouble: plays };
  const found = clients.flatMap((client) => findingOf(pairKey({ client, service })) ?? []);
  const newest = found.toSorted((a, b) => a.at - b.at).at(-1)?.finding;
  return newest === 'unreachable' ? { trouble: 'down' } : {};
}

async function cellOf(pair: Pair, client: StoredClient | undefined, described: Described): Promise<Cell> {
  const { service } = pair;
  const cell = (word: keyof typeof SEVERITIES) => {
    return { service, word: word === 'unproven' ? 'not tried yet' : word, severity: SEVERITIES[word] };
  };
  if (client === undefined) return cell('secret-missing');
  if (!servicesOf(client.servicesTag, [service]).includes(service)) return { service, word: '-', severity: 'idle' };

  const { state, since, until, provenAt, tokenExpiresAt: end } = await described.readPair(pair, client.current);
  const now = Date.now();
  const part = end && provenAt && (end - now) / (end - provenAt);
  const token = end === undefined ? undefined : { lives: durationText(end - now), part };
  if (client.state === 'disabled' || state === 'disabled') {
    const left = (since ?? 0) + STOP_MS - now;
    const note = left > 0 ? `in force within ${durationText(left)}, answers from memory until then` : undefined;
    return { service, word: 'disabled', severity: 'stopped', note, since: left > 0 ? undefined : since };
  }
  if (client.state === 'deleted') {
    const note = token && `tokens until ${new Date(Number(end)).toTimeString().slice(0, 5)}`;
    return { service, word: 'deleted', severity: 'passing', note, token: token && { part } };
  }
  const found = described.findingOf(pairKey(pair));
  // The record decides about the credential, the last call about service and secret, until a newer token proves both.
  const isOfCurrent = found?.version === undefined || found.version === client.current;
  const isShown = found && !OF_THE_RECORD.has(found.finding) && isOfCurrent && found.at > (provenAt ?? 0);
  if (!isShown) return { ...cell(state), until, token };
  const severity = state === 'rejected' ? 'bad' : 'passing';
  const failure = `${durationText(now - found.at)} ago: ${failureText(found, described.sentFor(found.id))}`;
  if (state === 'unproven') return { service, severity, word: 'failed', note: failure, token };
  return { ...cell(state), severity, until, note: `failed ${failure}`, token };
}

/** An instance reads the record of a pair at least once in this time. */
const STOP_MS = 60_000;

const OF_THE_RECORD = new Set<Found['finding']>(['accepted', 'rejected', 'disabled']);

/** Describes an unreachable service by its answer, and any other failure by its finding. */
function failureText({ finding }: Found, sent: readonly SentRequest[]): string {
  if (finding !== 'unreachable') return finding;
  const last = sent.findLast(({ to }) => to === 'service');
  if (last === undefined) return 'the pair is paused';
  return last.status === undefined ? 'no answer' : `answer ${last.status}`;
}

function callersOf({ callers, accessRules, services }: LocalConfig, clients: readonly string[]): readonly PageCaller[] {
  const rulesOf = createRulesOf(accessRules);
  const pairs = clients.flatMap((client) => Object.keys(services).map((service) => ({ client, service })));
  return callers.map(({ role, accessKeyId }) => {
    const caller = parseCaller(assumedRoleIdentity(role, accessKeyId).userArn);
    const rules = caller ? rulesOf(caller) : [];
    const allowed = (['token', 'check'] as const).flatMap((operation) =>
      pairs.filter((pair) => isAllowed(rules, operation, pair)).map((pair) => `${operation} ${pairKey(pair)}`),
    );
    return { id: accessKeyId, name: roleName(role), allowed };
  });
}
