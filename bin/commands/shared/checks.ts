import { adviceFor, asProblem, withNames } from '../../../client/commands/failure.ts';
import { printTable, talk, talkOfProgress } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { type Check, type TokenBroker, TokenBrokerError } from '../../../client/index.ts';
import type { Pair } from '../../../functions/broker/pair.ts';
import { FINDING_ADVICE, type SecretStage } from '../../../functions/contract.ts';

/** The outcome of checking one pair: a finding, or the failure. */
export type PairCheck = Check | (Pair & { readonly stage: SecretStage; readonly failure: TokenBrokerError });

/**
 * Checks pairs, a few at a time, and gives the outcomes in their order.
 *
 * @throws TokenBrokerError a failure that every pair would meet: AWS credentials, permissions, the URL, Ctrl-C
 */
export function askForChecks(
  shell: Shell,
  broker: TokenBroker,
  pairs: readonly Pair[],
  stage: SecretStage = 'AWSCURRENT',
): Promise<readonly PairCheck[]> {
  const check = async (pair: Pair): Promise<PairCheck> => {
    try {
      return await broker.check({ ...pair, stage, signal: shell.signal });
    } catch (error) {
      // A problem of the broker is about this pair; a refusal in front of it would meet every pair.
      const isOfPair = error instanceof TokenBrokerError && (error.problem !== undefined || error.retryable);
      if (!isOfPair) throw error;
      return { ...pair, stage, failure: error };
    }
  };
  return mapConcurrently(pairs, check, talkOfProgress(shell, 'Checking'));
}

/** Works on all items, a few at a time; gives the results in the items' order. After a failure no item starts. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  onDone: (done: number, total: number) => void = () => undefined,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  let done = 0;
  const workOn = async () => {
    for (const [index, item] of waiting) {
      results[index] = await work(item);
      done += 1;
      onDone(done, items.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_A_TIME }, workOn));
  } finally {
    // Leaves no more items to the workers that still run.
    Array.from(waiting);
  }
  return results;
}

/** The same number as in the scheduled check. */
const AT_A_TIME = 5;

/** One word for the outcome of a check. */
export function findingOf(check: PairCheck): string {
  return 'finding' in check ? check.finding : check.failure.type;
}

/** Whether the service accepted this version; without `version`, any. */
export function isAccepted(check: PairCheck, version?: string): boolean {
  return 'finding' in check && check.finding === 'accepted' && (version === undefined || check.version === version);
}

/** Named as on the wire, so that a script reads the same members here and there. */
export function checkMembers(check: PairCheck): Readonly<Record<string, unknown>> {
  const { client, service, stage } = check;
  if ('failure' in check) return { client, service, stage, problem: asProblem(check.failure) };
  const { finding, version, checkedAt, provenBy, expiresAt } = check;
  return {
    ...{ client, service, stage, finding, version },
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_at: expiresAt && new Date(expiresAt).toISOString(),
  };
}

/** Writes a line for each check on stdout, and on stderr advice for those that are not accepted. */
export function printChecks(shell: Shell, checks: readonly PairCheck[], environment: string): void {
  const rows = checks.map((check) => {
    const evidence =
      'failure' in check
        ? ['-', '-', '-']
        : [shortVersion(check.version), check.provenBy, new Date(check.checkedAt).toISOString()];
    return [check.service, findingOf(check), ...evidence];
  });
  printTable(shell, ['SERVICE', 'FINDING', 'VERSION', 'PROVEN BY', 'CHECKED AT'], rows);
  for (const [advice, about] of Map.groupBy(checks, (check) => adviceOn(check, environment))) {
    if (advice !== undefined) talk(shell, `${about.map(({ service }) => service).join(', ')}: ${advice}`);
  }
}

function adviceOn(check: PairCheck, environment: string): string | undefined {
  const about = { environment, client: check.client };
  if ('failure' in check) return `${check.failure.detail}. ${adviceFor(check.failure, about)}`;
  return check.finding === 'accepted' ? undefined : withNames(FINDING_ADVICE[check.finding], about);
}

/** Enough of a version's id to tell it from its neighbours. */
export function shortVersion(versionId: string | undefined): string {
  return versionId?.slice(0, 8) ?? '-';
}
