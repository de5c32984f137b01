import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { aborted, CommandFailure, explainFailure } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { printJson, printLine, tableText, talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { isRecord, parseJsonObject } from '../../functions/broker/json.ts';
import { FINDINGS, PROBLEMS } from '../../functions/contract.ts';
import { parseRoleArn } from '../../lib/settings/access-rules.ts';
import { functionName } from '../../lib/settings/names.ts';
import { type AskService, askService } from './shared/ask-aws.ts';
import { awsRegion, checkEndpoint, isLocal } from './shared/environment.ts';
import { addRegionOption, type ClientOptions } from './shared/options.ts';

/** `audit`: who got what of a client, from the audit lines of the token function. */
export function addAuditCommand(program: Command, shell: Shell): void {
  addRegionOption(program.command('audit'))
    .description('Show who asked for what of a client, and what came of it, from the log of the token function.')
    .argument('<client>', 'the client', parseName)
    .addOption(
      new Option('--since <time>', 'how far back: 90s, 15m, 1h, 7d').default(3_600_000, '1h').argParser(parseSince),
    )
    .option('--caller <role>', 'the calls of this role only: its name or its ARN', parseCaller)
    .option('--outcome <outcome>', 'issued, a finding of a check, or the type of a problem', parseOutcome)
    .option('--follow', 'go on with what is new, until Ctrl-C')
    .option('--json', 'answer in JSON; with --follow a line for each call')
    .addOption(
      new Option('--log-group <name>', 'the log (default: that of the function)').env('TOKEN_BROKER_LOG_GROUP'),
    )
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<AuditOptions>();
      const { environment, follow, json } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_CLOUDWATCH_LOGS', command);
      await explainFailure(shell, { ...options, client }, async () => {
        const from = Date.now() - options.since;
        const read = await openLog(shell, client, options);
        const seen = new Set<string>();
        const calls = await news(read, from, seen, options);
        if (json && !follow) printJson(shell, { environment, client, since: new Date(from).toISOString(), calls });
        else for (const line of linesOf(calls, options)) printLine(shell, line);
        if (calls.length === 0 && !follow)
          talk(shell, `No call about ${client} since ${new Date(from).toISOString()}.`);
        while (follow) {
          await sleep(POLL_MS, undefined, { signal: shell.signal }).catch(() => Promise.reject(aborted()));
          const start = Math.max(from, Date.now() - LATE_MS);
          for (const line of linesOf(await news(read, start, seen, options), options)) printLine(shell, line);
        }
      });
    });
}

interface AuditOptions extends ClientOptions {
  /** Milliseconds. */
  readonly since: number;
  readonly caller?: { readonly name: string; readonly account?: string };
  readonly outcome?: string;
  readonly follow?: boolean;
  readonly logGroup?: string;
}

const POLL_MS = 2_000;
/** So much later than it was written a line may appear in the log. */
const LATE_MS = 2 * 60_000;

function parseSince(text: string): number {
  const [, number, unit = ''] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('Give a number and its unit: 90s, 15m, 1h, 7d.');
  return Number(number) * 1_000 * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[unit] ?? 1);
}

function parseCaller(text: string): NonNullable<AuditOptions['caller']> {
  const role = parseRoleArn(text);
  if (role !== undefined) return role;
  if (/^[\w+=,.@-]{1,64}$/.test(text)) return { name: text };
  throw new InvalidArgumentError('Give the name or the ARN of a role.');
}

function parseOutcome(text: string): string {
  if (text === 'issued' || FINDINGS.some((one) => one === text) || Object.hasOwn(PROBLEMS, text)) return text;
  throw new InvalidArgumentError('It is issued, a finding of a check, or the type of a problem (docs/callers.md).');
}

/** One audit line, and when it was written. */
type Call = Readonly<Record<string, unknown>>;

type ReadLog = (
  startTime: number,
) => Promise<readonly { readonly id: string; readonly time: number; readonly line: Call }[]>;

/** The calls that were not seen before, oldest first. */
async function news(read: ReadLog, start: number, seen: Set<string>, { caller, outcome }: AuditOptions) {
  const found = (await read(start)).filter(({ id }) => !seen.has(id));
  for (const { id } of found) seen.add(id);
  const isMeant = ({ line }: { readonly line: Call }) => {
    const { account, name } = callerOf(line);
    const isCaller = caller === undefined || (caller.name === name && (caller.account ?? account) === account);
    return isCaller && (outcome === undefined || line.outcome === outcome);
  };
  return found
    .filter(isMeant)
    .toSorted((one, other) => one.time - other.time)
    .map(({ time, line }) => ({ time: new Date(time).toISOString(), ...line }));
}

/** A caller as the audit lines write it: `partition:account:role/session`. */
function callerOf({ caller }: Call) {
  const [, account, name, session] = /^[\w-]+:(\d{12}):([^/]+)\/(.*)$/.exec(`${caller}`) ?? [];
  return { account, name, session };
}

function linesOf(calls: readonly Call[], { json, follow }: AuditOptions): readonly string[] {
  if (json) return calls.map((call) => JSON.stringify(call));
  const rows = calls.map((call) => {
    const { account, name, session } = callerOf(call);
    const { time, operation, pair, outcome, cache, fingerprint } = call;
    const role = name === undefined ? '-' : `${account}:${name}/${session}`;
    return [time, role, operation, `${pair}`.split('/')[1], outcome, cache, fingerprint].map(
      (cell) => `${cell ?? '-'}`,
    );
  });
  const header = ['TIME', 'CALLER', 'OPERATION', 'SERVICE', 'OUTCOME', 'CACHE', 'FINGERPRINT'];
  if (rows.length === 0) return [];
  // A table that goes on has no header in between, and columns of one width.
  if (follow)
    return rows.map((row) =>
      row
        .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  return tableText(header, rows).trimEnd().split('\n');
}

const WIDTHS = [24, 40, 9, 26, 26, 6];

/** Opens the log of the token function for the lines about one client. */
async function openLog(shell: Shell, client: string, options: AuditOptions): Promise<ReadLog> {
  const { environment } = options;
  const region = awsRegion(shell, options);
  const ask = askService(shell, region);
  const logGroupName =
    options.logGroup || (isLocal(environment) ? functionName(environment) : await logGroupOf(environment, ask));
  return async (startTime) => {
    const events: unknown[] = [];
    let nextToken: unknown;
    do {
      const filterPattern = `{ $.pair = "${client}/*" }`;
      const body = { logGroupName, startTime: Math.floor(startTime), filterPattern, nextToken };
      const page = await ask('logs', 'FilterLogEvents', { target: 'Logs_20140328.FilterLogEvents', body });
      if (Array.isArray(page.events)) events.push(...page.events);
      nextToken = page.nextToken;
    } while (typeof nextToken === 'string');
    return events.flatMap((event) => readEvent(event, client) ?? []);
  };
}

function readEvent(event: unknown, client: string) {
  if (!isRecord(event) || typeof event.message !== 'string' || typeof event.timestamp !== 'number') return undefined;
  const { _aws, Requests, CacheHits, TokenRequests, environment, ...line } = parseJsonObject(event.message) ?? {};
  if (typeof line.pair !== 'string' || !line.pair.startsWith(`${client}/`) || line.requestId === undefined)
    return undefined;
  return { id: `${event.eventId}`, time: event.timestamp, line };
}

async function logGroupOf(environment: string, ask: AskService): Promise<string> {
  const path = `/2015-03-31/functions/${functionName(environment)}/configuration`;
  const { LoggingConfig } = await ask('lambda', 'GetFunctionConfiguration', { path });
  if (isRecord(LoggingConfig) && typeof LoggingConfig.LogGroup === 'string') return LoggingConfig.LogGroup;
  throw new CommandFailure('log-unknown', 'The function does not tell its log', 'Give its name with --log-group.');
}
