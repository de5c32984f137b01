import { styleText } from 'node:util';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { findingOf, type PairCheck } from './shared/checks.ts';
import { tableText } from './shared/output.ts';

/** How one pair is, in one word. */
export interface PairHealth extends Pair {
  readonly finding: string;
}

export function healthOf(check: PairCheck): PairHealth {
  return { client: check.client, service: check.service, finding: findingOf(check) };
}

/** One row for each client, one column for each service. */
export function healthText(pairs: readonly PairHealth[], isColourful: boolean): string {
  const services = [...new Set(pairs.map(({ service }) => service))].toSorted();
  const clients = Map.groupBy(pairs, ({ client }) => client);
  const rows = [...clients.keys()].toSorted().map((client) => {
    const own = new Map(clients.get(client)?.map(({ service, finding }) => [service, finding]));
    return [client, ...services.map((service) => own.get(service) ?? NO_PAIR)];
  });
  return tableText(['CLIENT', ...services], rows, isColourful ? paint : undefined);
}

/** The client does not have this service. */
const NO_PAIR = '-';

function paint(text: string, padded: string): string {
  const colour = COLOURS.get(text);
  return colour === undefined ? padded : styleText(colour, padded, { validateStream: false });
}

const COLOURS = new Map<string, 'green' | 'gray' | 'yellow' | 'red'>([
  ['accepted', 'green'],
  ['disabled', 'gray'],
  ['throttled', 'yellow'],
  ['unreachable', 'yellow'],
  ['misconfigured', 'red'],
  ['rejected', 'red'],
  ['secret-missing', 'red'],
  ['secret-malformed', 'red'],
]);

/** How many pairs there are, and how they are: the same sentence in whichever order they were checked. */
export function summaryOf(pairs: readonly PairHealth[]): string {
  const found = Map.groupBy(pairs, ({ finding }) => finding);
  const groups = [...found.keys()].toSorted().map((finding) => `${found.get(finding)?.length} ${finding}`);
  return `${pairs.length} ${pairs.length === 1 ? 'pair' : 'pairs'}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}

/** Nothing is wrong: the credential works, or an operator has stopped the client on purpose. */
export function isHealthy({ finding }: PairHealth): boolean {
  return finding === 'accepted' || finding === 'disabled';
}
