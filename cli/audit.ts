import { CloudWatchLogs, type FilteredLogEvent, paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseName } from '../client/commands/options.ts';
import { note, timeText } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import { parseJsonObject } from '../functions/broker/json.ts';
import { parsePairKey } from '../functions/broker/pair.ts';
import { FINDINGS, PROBLEMS } from '../functions/vocabulary.ts';
import { parseRoleArn } from '../lib/settings/access-rules.ts';
import { functionName, LOCAL_ACCOUNT, LOCAL_ENVIRONMENT } from '../lib/settings/names.ts';
import { isRefused, openClient } from './shared/ask-aws.ts';
import { addAwsOptions, answer, type ClientOptions, operate } from './shared/operate.ts';
import { findSecret, openSecrets } from './shared/secrets.ts';
import { settingsOf } from './shared/settings.ts';
import { tableText } from './shared/table.ts';

/** Adds `audit`, which shows the calls for one client from the audit lines of the token function. */
export function addAuditCommand(program: Command, shell: Shell): void {
  const since = new Option('--since <time>', 'how far back: 90s, 15m, 1h, 7d').default(3_600_000, '1h');
  const audit = addAwsOptions(program.command('audit'))
    .description('Show the calls for a client, their callers and their outcomes, from the log of the token function.')
    .argument('<client>', 'the client', parseName)
    .addOption(since.argParser(parseSince))
    .option('--caller <role>', 'the calls of this role only: its name or its ARN', parseCaller)
    .addOption(new Option('--outcome <outcome>', 'the calls with this outcome only').choices(OUTCOMES));
  operate<AuditOptions>(audit, shell, ['CLOUDWATCH_LOGS'], async (options) => {
    const { client } = options;
    const from = Math.max(0, Date.now() - options.since);
    await noteTypos(shell, options);
    const calls = await readCalls(shell, options, from);
    const table = calls.length > 0 ? callsTable(shell, calls, options) : '';
    answer(shell, options, { since: new Date(from).toISOString(), calls }, table);
    if (calls.length > 0) return;
    const such = options.caller === undefined && options.outcome === undefined ? '' : 'such ';
    note(shell, `No ${such}call for ${client} since ${timeText(from)}.`);
  });
}

interface AuditOptions extends ClientOptions {
  /** Milliseconds. */
  readonly since: number;
  readonly caller?: { readonly name: string; readonly account?: string };
  readonly outcome?: string;
}

/** Says that there is no such client now, or no rule for the caller. Silent where the operator may not look. */
async function noteTypos(shell: Shell, options: AuditOptions): Promise<void> {
  const { environment, client, caller } = options;
  const rules = settingsOf(environment)?.accessRules.map(({ role }) => parseRoleArn(role));
  // The stack's own roles have their rules from the stack.
  const isOwn = caller?.name.startsWith('token-broker-');
  if (caller && rules && !isOwn && !rules.some((role) => role?.name === caller.name)) {
    note(shell, `No access rule of ${environment} names the role ${caller.name}.`);
  }
  const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SECRETS_MANAGER: standIn = AWS_ENDPOINT_URL } = shell.env;
  if (environment === LOCAL_ENVIRONMENT && !standIn) return;
  await findSecret(openSecrets(shell, options), client, 'Searching all the same.').catch((error) => {
    if (!isRefused(error)) throw error;
    if (error.type === 'secret-missing') note(shell, `${error.detail}. ${error.advice}`);
  });
}

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

const OUTCOMES = ['issued', ...FINDINGS, ...Object.keys(PROBLEMS)];

/** An audit line, with the time at which it was written. */
type AuditLine = Readonly<Record<string, unknown>>;

/** Splits the caller of an audit line, `partition:account:role/session`. */
function callerOf({ caller }: AuditLine) {
  const [, account, name, session] = /^[\w-]+:(\d{12}):([^/]+)\/(.*)$/.exec(`${caller}`) ?? [];
  return { account, name, session };
}

function callsTable(shell: Shell, calls: readonly AuditLine[], { environment }: AuditOptions): string {
  // A script reads every call.
  const isShort = Boolean(shell.stdout.columns);
  const ownAccount = environment === LOCAL_ENVIRONMENT ? LOCAL_ACCOUNT : settingsOf(environment)?.account;
  const rows = (isShort ? folded(calls) : calls).map((call) => {
    const { account, name, session } = callerOf(call);
    const { time, operation, pair, outcome, probe, cache, fingerprint, count } = call;
    const place = isShort && account === ownAccount ? '' : `${account}:`;
    const role = name === undefined ? '-' : `${place}${name}/${session}`;
    const done = count === undefined ? operation : `${operation} (${count} times)`;
    const facts = [done, parsePairKey(`${pair}`)?.service, probe ? `${outcome} (probe)` : outcome];
    const cells = [timeText(Date.parse(`${time}`), shell), role, ...facts, cache, fingerprint];
    return cells.map((cell) => `${cell ?? '-'}`);
  });
  return tableText(['TIME', 'CALLER', 'OPERATION', 'SERVICE', 'OUTCOME', 'CACHE', 'FINGERPRINT'], rows, shell);
}

/** Folds a caller's checks of a pair into the first, as long as their outcome stays. Health makes most of the calls. */
function folded(calls: readonly AuditLine[]): readonly AuditLine[] {
  const rows: Record<string, unknown>[] = [];
  const latest = new Map<string, Record<string, unknown>>();
  for (const call of calls) {
    const key = call.operation === 'check' ? `${callerOf(call).name} ${call.pair}` : '';
    const row = latest.get(key);
    if (key !== '' && row !== undefined && row.outcome === call.outcome) row.count = Number(row.count ?? 1) + 1;
    else {
      const first = { ...call };
      latest.set(key, first);
      rows.push(first);
    }
  }
  return rows;
}

/** Reads the calls since a time from the log of the token function, oldest first. */
async function readCalls(shell: Shell, options: AuditOptions, startTime: number): Promise<readonly AuditLine[]> {
  const { environment } = options;
  const client = openClient((config) => new CloudWatchLogs(config), 'CLOUDWATCH_LOGS', shell, options);
  const FunctionName = functionName(environment);
  let logGroupName: string | undefined = FunctionName;
  if (environment !== LOCAL_ENVIRONMENT) {
    const { Lambda } = await import('@aws-sdk/client-lambda');
    const lambda = openClient((config) => new Lambda(config), 'LAMBDA', shell, options);
    const { LoggingConfig } = await lambda.getFunctionConfiguration({ FunctionName }, { abortSignal: shell.signal });
    logGroupName = LoggingConfig?.LogGroup;
  }
  const events: FilteredLogEvent[] = [];
  const asked = { logGroupName, startTime, filterPattern: `{ $.pair = "${options.client}/*" }` };
  for await (const page of paginateFilterLogEvents({ client }, asked, { abortSignal: shell.signal })) {
    events.push(...(page.events ?? []));
  }
  const sorted = events.toSorted((a, b) => (a.timestamp ?? 0) - (b.timestamp ?? 0));
  return sorted.flatMap((event) => readCall(event, options));
}

/** Returns the call of an event, if it is for this client and passes the filters. */
function readCall({ timestamp = 0, message = '' }: FilteredLogEvent, { client, caller, outcome }: AuditOptions) {
  const { _aws, Requests, CacheHits, TokenRequests, environment, ...line } = parseJsonObject(message) ?? {};
  const { account, name } = callerOf(line);
  const isCaller = caller === undefined || (caller.name === name && (caller.account ?? account) === account);
  const isCall = parsePairKey(`${line.pair}`)?.client === client && line.requestId !== undefined;
  const isMeant = isCall && isCaller && (outcome === undefined || line.outcome === outcome);
  return isMeant ? [{ time: new Date(timestamp).toISOString(), ...line }] : [];
}
