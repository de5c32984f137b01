import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { TokenBrokerError } from '../../client/index.ts';
import { parseSeconds } from './arguments.ts';
import { checkMembers, checkPairs, type PairCheck } from './checks.ts';
import { type ClientOptions, checkedPairs } from './client-options.ts';
import { addConnectionOptions, type ConnectionOptions, connect } from './connect.ts';
import { checkEndpoint } from './environment.ts';
import { aborted, CommandFailure, explainFailure } from './failure.ts';
import { healthOf, healthText, isHealthy, type PairHealth, summaryOf } from './health-table.ts';
import { printJson, talk, talkOfProgress } from './output.ts';
import { runSchedule, type ScheduledRun } from './schedule.ts';
import { openSecrets } from './secrets.ts';

/** `health`: which credentials work, now. */
export function addHealthCommand(program: Command, signal: AbortSignal): void {
  addConnectionOptions(program.command('health'))
    .description('Check every credential and show a table of clients and services; needs the operation check.')
    .option('--watch', 'again and again, until Ctrl-C')
    .addOption(new Option('--every <seconds>', 'how long --watch waits').default(60).argParser(parseSeconds))
    .addOption(new Option('--run', 'let the local broker run its schedule now instead').conflicts('watch'))
    .addOption(new Option('--json', 'answer in JSON').conflicts('watch'))
    .addHelpText('after', HELP)
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<HealthOptions>();
      if (options.run) {
        await explainFailure(options, async () => showRun(await runSchedule(signal), options));
        return;
      }
      checkEndpoint(options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      const broker = connect(options, command);
      const secrets = openSecrets(options, signal);
      const look = async (): Promise<readonly PairCheck[]> => {
        const clients = (await secrets.list()).filter(({ deletedAt }) => deletedAt === undefined);
        const pairs = clients.flatMap((client) => checkedPairs(client, options.environment));
        return checkPairs(broker, pairs, { signal, onChecked: talkOfProgress('Checking') });
      };
      await explainFailure(options, () => (options.watch ? watch(look, options, signal) : showOnce(look, options)));
    });
}

interface HealthOptions extends ClientOptions, ConnectionOptions {
  readonly region?: string;
  readonly watch?: boolean;
  readonly every: number;
  readonly run?: boolean;
}

type Look = () => Promise<readonly PairCheck[]>;

async function showOnce(look: Look, { environment, json }: HealthOptions): Promise<void> {
  const checks = await look();
  if (json) printJson({ environment, checks: checks.map(checkMembers) });
  else process.stdout.write(healthText(checks.map(healthOf), isColourful()));
  conclude(checks.map(healthOf));
}

function showRun({ summary, pairs, notices }: ScheduledRun, { json }: HealthOptions): void {
  if (json) printJson(summary);
  else process.stdout.write(healthText(pairs, isColourful()));
  for (const notice of notices) talk(notice);
  conclude(pairs);
}

function conclude(pairs: readonly PairHealth[]): void {
  talk(summaryOf(pairs));
  if (!pairs.every(isHealthy)) process.exitCode = 1;
}

/** A first look that fails ends the command; after that a failure is told, and the watching goes on. */
async function watch(look: Look, { environment, every }: HealthOptions, signal: AbortSignal): Promise<void> {
  for (let round = 1; ; round += 1) {
    try {
      const pairs = (await look()).map(healthOf);
      const title = `${environment}  ${new Date().toISOString()}  ${summaryOf(pairs)}\n`;
      process.stdout.write(`${process.stdout.isTTY ? CLEAR : ''}${title}${healthText(pairs, isColourful())}`);
    } catch (error) {
      const isOurs = error instanceof TokenBrokerError || error instanceof CommandFailure;
      if (round === 1 || !isOurs || error.type === 'aborted') throw error;
      talk(`error: ${error.message}`);
    }
    await sleep(every * 1_000, undefined, { signal }).catch(() => Promise.reject(aborted()));
  }
}

/** @see https://no-color.org */
function isColourful(): boolean {
  return process.stdout.isTTY && !process.env.NO_COLOR;
}

/** Moves to the top left of the terminal and clears what is below. */
const CLEAR = '\u001b[H\u001b[J';

const HELP = `
A pair that callers' own requests have proven lately costs the service nothing; a rejected version is not sent again.

Exit code: 0 every credential is accepted or disabled, 1 one is not, or nobody could say, 2 wrong usage, 130 Ctrl-C.`;
