import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { Command, CommanderError } from 'commander';
import { causeWord } from '../functions/aws/calls.ts';
import { createPairAdmin } from '../functions/aws/pair-table/pair-admin.ts';
import { readPairState } from '../functions/aws/pair-table/pair-state.ts';
import { leakingVariables } from '../functions/variables.ts';
import { greeting, requestLine } from './banner.ts';
import { type LocalBroker, startLocalBroker } from './broker.ts';
import { readPort } from './config.ts';
import type { LoopbackServer } from './loopback.ts';
import { createPageCalls } from './page/calls.ts';
import { createFeed } from './page/feed.ts';
import { describeBroker } from './page/overview.ts';
import { startPage } from './page/server.ts';
import { leaveShellFile } from './shell.ts';

/** Runs the whole broker on this machine until Ctrl-C. */
async function main(): Promise<void> {
  const { config: file } = parseArguments();
  const port = readPort(process.env.PORT);
  const leaking = leakingVariables(process.env);
  if (leaking.length > 0) process.stderr.write(leakWarning(leaking));
  const feed = createFeed(Date.now, (service) => (broker.playing?.get(service) ?? 'recover') !== 'recover');
  const broker: LocalBroker = await startLocalBroker({
    port,
    config: file === undefined ? undefined : readConfig(file),
    folder: file && dirname(file),
    write: (line) => {
      process.stdout.write(requestLine(line));
      feed.audit(line);
    },
    onAnswer: (answered) => {
      feed.answered(answered);
      const { failure } = answered;
      if (failure !== undefined) process.stderr.write(`the function failed: ${String(failure)}\n`);
    },
    onMessage: (message) => {
      process.stdout.write(notification(message.subject, message.text));
      feed.message(message);
    },
    onEventFailure: (error) => process.stderr.write(`the health function failed upon an event: ${String(error)}\n`),
  });
  const page = await openPage(broker, feed);
  const takeShellFile = leaveShellFile(broker);
  const end = () => {
    takeShellFile();
    void broker.close().then(() => process.exit(0));
  };
  process.once('SIGINT', end).once('SIGTERM', end);
  process.stdout.write(greeting(broker, page.url));
}

/** Starts the page of a running broker. The page stops together with the broker. */
function openPage(broker: LocalBroker, feed: ReturnType<typeof createFeed>): Promise<LoopbackServer> {
  const { url, config, clients, tableName, spectator, sentFor, playTable, runSchedule } = broker;
  const { auditLine, findingOf } = feed;
  const dynamodb = new DynamoDB({ credentials: spectator });
  const state = async () => {
    const table = createPairAdmin(dynamodb, tableName, AbortSignal.timeout(LOOK_MS));
    const readPair = readPairState.bind(undefined, table);
    return { ...(await describeBroker({ ...broker, readPair, findingOf })), ...feed.events(url) };
  };
  const play: Parameters<typeof startPage>[0]['play'] = (incident) =>
    incident.service === 'table' ? playTable(incident.name) : broker.play?.(incident);
  const call = createPageCalls({ url, callers: config.callers, clients, auditLine, sentFor });
  return broker.startBeside(1, 'the page', (port) => startPage({ port, state, auditLine, call, play, runSchedule }));
}

/** Time limit to read the states of all pairs. */
const LOOK_MS = 5_000;

/** The local broker starts despite these variables, because editors set them for a debugger. */
function leakWarning(names: readonly string[]): string {
  return `${names.join(', ')} is set: Node may write credentials and tokens here; a deployed function would not start.\n`;
}

/** Formats a message to the operators so that it stands out from the request lines. */
function notification(subject: string, text: string): string {
  const lines = [subject, ...text.trimEnd().split('\n')];
  return `--- to the operators\n${lines.map((line) => `  ${line}\n`).join('')}---\n`;
}

function parseArguments(): { readonly config?: string } {
  return new Command('npm start --')
    .description('Runs the token broker on this machine, with stand-ins for AWS and the services.')
    .option('--config <file>', 'JSON with services, accessRules, callers and credentials of your own')
    .addHelpText(
      'after',
      `
Environment:
  PORT  where the broker listens (default: 8788); its page is on the port PORT+1 and its stand-ins are on the ports PORT+2
        to PORT+6, or on free ones; 0 takes free ports for everything

docs/development.md shows a configuration.`,
    )
    .exitOverride()
    .parse()
    .opts();
}

function readConfig(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new Error(`cannot read ${file}: ${causeWord(error)}`);
    // The rest of the parser's message quotes the text, which contains credentials.
    const place = /\(line \d+ column \d+\)/.exec(String(error))?.[0] ?? '';
    throw new Error(`${file} is not valid JSON ${place}`.trimEnd());
  }
}

main().catch((error: unknown) => {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
