import { styleText } from 'node:util';
import { checkMembers, findingOf, type PairCheck } from './checks.ts';
import { tableText } from './output.ts';

/** One row for each client, one column for each service. */
export function healthText(checks: readonly PairCheck[], isColourful: boolean): string {
  const services = [...new Set(checks.map(({ service }) => service))].toSorted();
  const clients = [...Map.groupBy(checks, ({ client }) => client)];
  const rows = clients.map(([client, ofClient]) => [
    client,
    ...services.map((service) => cell(ofClient.find((check) => check.service === service))),
  ]);
  return tableText(['CLIENT', ...services], rows, isColourful ? paint : undefined);
}

function cell(check: PairCheck | undefined): string {
  return check === undefined ? NO_PAIR : findingOf(check);
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

/** How many pairs there are, and how they are. */
export function summary(checks: readonly PairCheck[]): string {
  const groups = [...Map.groupBy(checks, findingOf)].map(([finding, { length }]) => `${length} ${finding}`);
  return `${checks.length} ${checks.length === 1 ? 'pair' : 'pairs'}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}

export function healthJson(checks: readonly PairCheck[], environment: string) {
  return { environment, checks: checks.map(checkMembers) };
}

/** Nothing is wrong: the credential works, or an operator has stopped the client on purpose. */
export function isHealthy(check: PairCheck): boolean {
  return findingOf(check) === 'accepted' || findingOf(check) === 'disabled';
}
