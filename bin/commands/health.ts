import { styleText } from 'node:util';
import type { Command } from 'commander';
import { addConnectionOptions, type ConnectionOptions, connect } from '../../client/commands/options.ts';
import { printJson, tableText, talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { FINDINGS } from '../../functions/contract.ts';
import { orderLocalBroker } from './local.ts';
import { askForChecks, checkMembers, findingOf, mapConcurrently, type PairCheck } from './shared/checks.ts';
import { type ClientSecret, checkedPairs, tellOld, tellUnlisted } from './shared/client-secret.ts';
import { addWatchOptions, checkEndpoint, operate, type WatchOptions, watch } from './shared/environment.ts';
import { SEVERITIES, type Severity } from './shared/pair-state.ts';
import { openSecrets } from './shared/secrets.ts';

/** `health`: which credentials work, now. */
export function addHealthCommand(program: Command, shell: Shell): void {
  addWatchOptions(addConnectionOptions(program.command('health')))
    .description('Check every credential and show a table of clients and services; needs the operation check.')
    .option('--run', 'let the local broker run its schedule first')
    .option('--json', 'answer in JSON')
    .action(
      operate<HealthOptions>(shell, [], async (options, command) => {
        const { environment, run, json } = options;
        if (run) await orderLocalBroker(shell, 'TOKEN_BROKER_CONTROL_URL', '/health-run');
        checkEndpoint(shell, options, 'SECRETS_MANAGER', command);
        const broker = connect(shell, options, command);
        const secrets = openSecrets(shell, options);
        const look = async () => {
          const clients = (await secrets.list()).filter(({ deletedAt }) => deletedAt === undefined);
          const pairs = clients.flatMap((client) => checkedPairs(shell, client, environment));
          return { clients, checks: await askForChecks(shell, broker, pairs) };
        };
        const textOf = (checks: readonly PairCheck[]) => healthText(checks, isColourful(shell));
        if (options.watch) {
          const shown = (checks: readonly PairCheck[]) => `${summaryOf(checks)}\n${textOf(checks)}`;
          return watch(shell, async () => shown((await look()).checks), options);
        }
        const { clients, checks } = await look();
        if (json) printJson(shell, { environment, checks: checks.map(checkMembers) });
        else shell.stdout.write(textOf(checks));
        talk(shell, summaryOf(checks));
        // Every check of an empty list succeeds, but an empty list is seldom meant.
        if (checks.length === 0) talk(shell, NOTHING);
        // A disabled client was stopped on purpose.
        const isWell = checks.every((check) => ['accepted', 'disabled'].includes(findingOf(check)));
        if (checks.length === 0 || !isWell) shell.exitCode = 1;
        tellUnlisted(shell, clients);
        const dated = async (one: ClientSecret) => ({ ...one, dates: await secrets.versionDates(one) });
        tellOld(shell, await mapConcurrently(clients, dated), environment);
      }),
    );
}

interface HealthOptions extends ConnectionOptions, WatchOptions {
  readonly run?: boolean;
}

const NOTHING = 'There is nothing to check: is it the right environment, and is there a client?';

/** @see https://no-color.org */
function isColourful(shell: Shell): boolean {
  return Boolean(shell.stdout.isTTY && !shell.env.NO_COLOR);
}

/** One row for each client, one column for each service. */
function healthText(checks: readonly PairCheck[], isColourful: boolean): string {
  const services = [...new Set(checks.map(({ service }) => service))].toSorted();
  const rows = [...Map.groupBy(checks, ({ client }) => client)].map(([client, own]) => {
    const findings = new Map(own.map((check) => [check.service, findingOf(check)]));
    // The client does not have every service.
    return [client, ...services.map((service) => findings.get(service) ?? '-')];
  });
  return tableText(['CLIENT', ...services], rows, isColourful ? paint : undefined);
}

function paint(text: string, padded: string): string {
  const finding = FINDINGS.find((each) => each === text);
  return finding ? styleText(COLOURS[SEVERITIES[finding]], padded, { validateStream: false }) : padded;
}

const COLOURS = { good: 'green', idle: 'gray', passing: 'yellow', bad: 'red' } as const satisfies Record<
  Severity,
  string
>;

/** The number of pairs, in all and by finding. */
function summaryOf(checks: readonly PairCheck[]): string {
  const found = Map.groupBy(checks, findingOf);
  const groups = [...found.keys()].toSorted().map((finding) => `${found.get(finding)?.length} ${finding}`);
  return `${checks.length} ${checks.length === 1 ? 'pair' : 'pairs'}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}
