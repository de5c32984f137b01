import type { Command } from 'commander';
import { parseName } from '../../client/commands/options.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import type { PairAdmin } from '../../functions/aws/pair-table/pair-admin.ts';
import { isProven } from '../../functions/broker/pair/record.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { tableName } from '../../lib/settings/names.ts';
import { shortVersion } from '../shared/checks.ts';
import { type ClientSecret, hasService, versionWith } from '../shared/client-secret.ts';
import { answer, operate } from '../shared/operate.ts';
import { openSecrets } from '../shared/secrets.ts';
import { tableText } from '../shared/table.ts';
import { addChangeCommand, type ChangeOptions, findStoppable, isConfirmed } from './confirm.ts';
import { changePairs, pairsOfClient } from './pair-changes.ts';

/** Adds `client retry`, which clears latches, holds and pauses, so that credentials are sent again. */
export function addRetryCommand(parent: Command, shell: Shell): void {
  const retry = addChangeCommand(parent, 'retry', '[client]')
    .description('Let the broker send rejected, held or paused credentials again, once their service works again.')
    .option('--service <name>', 'on this service only; without a client: for every client of it', parseName)
    .option('--rejected', 'without a client: latched versions too; with a client they always are');
  operate<RetryOptions>(retry, shell, ['DYNAMODB', 'SECRETS_MANAGER'], async (options) => {
    const { environment, client, service } = options;
    if (client === undefined && service === undefined) retry.error('error: name a client, --service, or both');
    const keepsLatches = client === undefined && !options.rejected;
    const { pairs, secrets } = await retriedPairs(shell, options);
    const what = `${keepsLatches ? '' : 'latches, '}holds and pauses`;
    const change = `lets ${namesOf(pairs)} be sent again: clears ${what} in the table ${tableName(environment)}`;
    const risks = await changePairs(shell, pairs, options, (admin, pair) => riskOf(admin, pair, secrets));
    const latched = risks.filter(({ isLatched }) => isLatched).length;
    const held = risks.filter(({ isHeld }) => isHeld).length;
    const changes = [
      change,
      ...riskText(keepsLatches ? 0 : latched, 'latched', 'up to three more rejected log-ins'),
      ...riskText(held, 'held and unproven', 'one more rejected log-in'),
    ];
    if (!(await isConfirmed(shell, changes, options, retry, secrets[0]))) return;
    const clear = async (admin: PairAdmin, pair: Pair) => {
      const { rejected, held, pause } = await admin.clear(pair, keepsLatches);
      const versions = keepsLatches ? [] : [...rejected.keys()];
      return { ...pair, versions, holds: [...held.keys()], pause: pause !== undefined };
    };
    const cleared = await changePairs(shell, pairs, options, clear);
    const rows = cleared.map(({ versions, holds, pause, ...pair }) => {
      return [pair.client, pair.service, short(versions), short(holds), pause ? 'ended' : '-'];
    });
    const header = ['CLIENT', 'SERVICE', 'CLEARED VERSIONS', 'HOLDS', 'PAUSE'];
    answer(shell, options, { cleared }, tableText(header, rows, shell));
    const isAny = cleared.some(({ versions, holds, pause }) => versions.length > 0 || holds.length > 0 || pause);
    const sent = keepsLatches ? HELD_AGAIN : SENT_AGAIN;
    note(shell, isAny ? sent : `No version was ${keepsLatches ? '' : 'latched or '}held, and no pair was paused.`);
    if (keepsLatches && latched > 0) note(shell, `${latched} latched: ${LATCHES_STAY}`);
  });
}

interface RetryOptions extends ChangeOptions {
  readonly client?: string;
  readonly service?: string;
  readonly rejected?: boolean;
}

/** Returns the client's pairs. Without a client: the service's, for clients whose tag names it or is absent. */
async function retriedPairs(shell: Shell, { client, ...options }: RetryOptions) {
  const secrets = openSecrets(shell, options);
  if (client !== undefined) {
    const named = { ...options, client };
    const secret = await findStoppable(shell, secrets, named);
    return { pairs: pairsOfClient(shell, named), secrets: secret === undefined ? [] : [secret] };
  }
  const { service = '' } = options;
  const clients = (await secrets.list()).filter((secret) => hasService(secret, service));
  return { pairs: clients.map(({ client: name }) => ({ client: name, service })), secrets: clients };
}

/** Finds out whether the version in use or waiting is latched, or held and unproven, so that a retry sends it again. */
async function riskOf(admin: PairAdmin, pair: Pair, secrets: readonly ClientSecret[]) {
  const { rejected, held, ...record } = await admin.read(pair);
  const own = secrets.find(({ client }) => client === pair.client);
  const versions = (['AWSCURRENT', 'AWSPENDING'] as const).flatMap((stage) => versionWith(stage, own) ?? []);
  const isHeld = (version: string) => [...held.keys()].some((key) => key.startsWith(`${version}:`));
  return {
    isLatched: versions.some((version) => rejected.has(version)),
    isHeld: versions.some((version) => isHeld(version) && !isProven({ ...record, rejected, held }, version)),
  };
}

function riskText(count: number, state: string, logIns: string): readonly string[] {
  return count === 0 ? [] : [`allows ${count} ${state} ${count === 1 ? 'pair' : 'pairs'} ${logIns} each`];
}

function namesOf(pairs: readonly Pair[]): string {
  const list = (names: readonly string[]) => [...new Set(names)].join(', ') || 'no client';
  return `${list(pairs.map(({ client }) => client))} on ${list(pairs.map(({ service }) => service))}`;
}

function short(versions: readonly string[]): string {
  return [...new Set(versions.map(shortVersion))].join(' ') || '-';
}

const SENT_AGAIN =
  'Each of these credentials may be sent again, a latched version up to three times: if it is still wrong, the service may lock the account.';
const HELD_AGAIN =
  'Each version that was held or paused may be sent again: a wrong one counts as another failed log-in.';
const LATCHES_STAY = 'their service rejected them: only client retry <client>, or --rejected, sends them again.';
