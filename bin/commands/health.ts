import { styleText } from 'node:util';
import { type Command, Option } from 'commander';
import { explainFailure } from '../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect } from '../../client/commands/options.ts';
import { printJson, tableText, talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import type { Pair } from '../../functions/broker/pair/pair.ts';
import { FINDINGS } from '../../functions/contract.ts';
import { orderLocalBroker } from './service.ts';
import { checkMembers, checkPairs, findingOf, mapConcurrently, type PairCheck } from './shared/checks.ts';
import { type ClientSecret, checkedPairs, tellOld } from './shared/client-secret.ts';
import { checkEndpoint } from './shared/environment.ts';
import { addWatchOptions, type ClientOptions, type WatchOptions, watch } from './shared/options.ts';
import { openSecrets, type Secrets } from './shared/secrets.ts';

/** `health`: which credentials work, now. */
export function addHealthCommand(program: Command, shell: Shell): void {
  addWatchOptions(addConnectionOptions(program.command('health')))
    .description('Check every credential and show a table of clients and services; needs the operation check.')
    .addOption(new Option('--run', 'let the local broker run its schedule first').conflicts('watch'))
    .addOption(new Option('--json', 'answer in JSON').conflicts('watch'))
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<HealthOptions>();
      await explainFailure(shell, options, async () => {
        if (options.run) await orderLocalBroker(shell, 'TOKEN_BROKER_CONTROL_URL', '/health-run');
        checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
        const broker = connect(shell, options, command);
        const secrets = openSecrets(shell, options);
        const look: Look = async () => {
          const clients = (await secrets.list()).filter(({ deletedAt }) => deletedAt === undefined);
          const pairs = clients.flatMap((client) => checkedPairs(shell, client, options.environment));
          return { clients, checks: await checkPairs(broker, pairs, { signal: shell.signal }) };
        };
        await (options.watch ? watch(shell, textOf(shell, look), options) : showOnce(shell, look, secrets, options));
      });
    });
}

interface HealthOptions extends ClientOptions, ConnectionOptions, WatchOptions {
  readonly run?: boolean;
}

type Look = () => Promise<{ readonly clients: readonly ClientSecret[]; readonly checks: readonly PairCheck[] }>;

async function showOnce(
  shell: Shell,
  look: Look,
  secrets: Secrets,
  { environment, json }: HealthOptions,
): Promise<void> {
  const { clients, checks } = await look();
  if (json) printJson(shell, { environment, checks: checks.map(checkMembers) });
  else shell.stdout.write(healthText(checks.map(healthOf), isColourful(shell)));
  conclude(shell, checks.map(healthOf));
  const dated = async (one: ClientSecret) => ({ ...one, dates: await secrets.versionDates(one) });
  tellOld(shell, await mapConcurrently(clients, dated), environment, Date.now());
}

function textOf(shell: Shell, look: Look): () => Promise<string> {
  return async () => {
    const pairs = (await look()).checks.map(healthOf);
    return `${summaryOf(pairs)}\n${healthText(pairs, isColourful(shell))}`;
  };
}

function conclude(shell: Shell, pairs: readonly PairHealth[]): void {
  talk(shell, summaryOf(pairs));
  // Of nothing, everything is as it should be; but a list that is empty is seldom meant.
  if (pairs.length === 0) talk(shell, 'There is nothing to check: is it the right environment, and is there a client?');
  if (pairs.length === 0 || !pairs.every(isHealthy)) shell.exitCode = 1;
}

/** @see https://no-color.org */
function isColourful(shell: Shell): boolean {
  return Boolean(shell.stdout.isTTY && !shell.env.NO_COLOR);
}

/** How one pair is, in one word. */
export interface PairHealth extends Pair {
  readonly finding: string;
}

function healthOf(check: PairCheck): PairHealth {
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
  const isFinding = FINDINGS.some((finding) => finding === text);
  return isFinding ? styleText(COLOURS.get(text) ?? 'red', padded, { validateStream: false }) : padded;
}

/** Yellow passes by itself; every other finding is red. */
const COLOURS = new Map<string, 'green' | 'gray' | 'yellow'>([
  ['accepted', 'green'],
  ['disabled', 'gray'],
  ['throttled', 'yellow'],
  ['unreachable', 'yellow'],
]);

/** How many pairs there are, and how they are: the same sentence in whichever order they were checked. */
export function summaryOf(pairs: readonly PairHealth[]): string {
  const found = Map.groupBy(pairs, ({ finding }) => finding);
  const groups = [...found.keys()].toSorted().map((finding) => `${found.get(finding)?.length} ${finding}`);
  return `${pairs.length} ${pairs.length === 1 ? 'pair' : 'pairs'}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}

/** Nothing is wrong: the credential works, or an operator has stopped the client on purpose. */
function isHealthy({ finding }: PairHealth): boolean {
  return finding === 'accepted' || finding === 'disabled';
}
