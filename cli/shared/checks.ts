import { Readable } from 'node:stream';
import { adviceFor, asProblem, withNames } from '../../client/commands/failure.ts';
import { note, timeText } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { type Check, type TokenBroker, TokenBrokerError } from '../../client/index.ts';
import type { Pair } from '../../functions/broker/pair.ts';
import { CAUSE_ADVICE, findingAdvice, type SecretStage } from '../../functions/vocabulary.ts';
import { pause } from './operate.ts';
import { addressOf } from './settings.ts';
import { tableText } from './table.ts';

/** The result of checking a pair: a finding, the failure, or the reason not to ask. */
export type PairCheck = Check | Untried | (Pair & { readonly stage: SecretStage; readonly failure: TokenBrokerError });

/** A pair whose check would send a version that another service at the same address has rejected. */
interface Untried extends Pair {
  readonly stage: SecretStage;
  readonly finding: 'untried';
  readonly detail: string;
}

/**
 * Checks the pairs of a client. Sends a version that is not in use to each address once first, because its services
 * may share the account, which rejected log-ins lock. `force` asks all at once, and continues without a broker.
 */
export async function askInTurn(
  shell: Shell,
  broker: TokenBroker,
  pairs: readonly Pair[],
  stage: SecretStage,
  { environment, force = false }: { readonly environment: string; readonly force?: boolean },
): Promise<readonly PairCheck[]> {
  const ask = (some: readonly Pair[]) => askPatiently(shell, broker, some, stage, force);
  // The event of a version that comes into use makes health check all services at once, and callers ask too.
  if (force || stage === 'AWSCURRENT') return ask(pairs);
  const addressIn = ({ service }: Pair) => addressOf(shell, environment, service);
  const groups = [...Map.groupBy(pairs, addressIn).values()];
  const first = await ask(groups.flatMap((group) => group.slice(0, 1)));
  const rejecting = first.filter((check) => findingOf(check) === 'rejected');
  const rejectedBy = new Map(rejecting.map((check) => [addressIn(check), check.service]));
  const others = groups.flatMap((group) => group.slice(1));
  const later = await ask(others.filter((pair) => !rejectedBy.has(addressIn(pair))));
  const checks = new Map([...first, ...later].map((check) => [check.service, check]));
  return pairs.map((pair) => {
    const detail = `not tried: ${rejectedBy.get(addressIn(pair))} at the same address rejected it`;
    return checks.get(pair.service) ?? { ...pair, stage, finding: 'untried', detail };
  });
}

/**
 * Checks pairs like `askForChecks`, and again those that are throttled for at most half a minute. The broker tries a
 * version that is not current only once in that time, so that attempts do not lock an account.
 */
async function askPatiently(...asked: Parameters<typeof askForChecks>): Promise<readonly PairCheck[]> {
  const [shell, broker, , stage, isForced] = asked;
  const checks = await askForChecks(...asked);
  const waiting = checks.filter((check) => findingOf(check) === 'throttled' && secondsToWait(check) <= LONGEST_WAIT);
  if (waiting.length === 0) return checks;
  const seconds = Math.max(...waiting.map(secondsToWait));
  const names = waiting.map(({ service }) => service).join(', ');
  const isTurn = waiting.every((check) => 'cause' in check && check.cause === 'another-version');
  const rule = isTurn ? 'the broker tries one new version of a pair every 30 s' : 'the broker must wait';
  note(shell, `${names}: ${rule}; asking again in ${seconds} s.`);
  await pause(shell, seconds * 1_000);
  const later = await askForChecks(shell, broker, waiting, stage, isForced);
  return checks.map((check) => later[waiting.indexOf(check)] ?? check);
}

const LONGEST_WAIT = 30;

function secondsToWait(check: PairCheck): number {
  return ('retryAfterSeconds' in check ? check.retryAfterSeconds : undefined) ?? Number.POSITIVE_INFINITY;
}

/**
 * Checks pairs, a few at a time, and returns the results in their order. `isForced` continues without a broker.
 *
 * @throws TokenBrokerError a failure that every pair would meet: AWS credentials, permissions, the URL, Ctrl-C
 */
export async function askForChecks(
  shell: Shell,
  broker: TokenBroker,
  pairs: readonly Pair[],
  stage: SecretStage = 'AWSCURRENT',
  isForced = false,
): Promise<readonly PairCheck[]> {
  const check = async (pair: Pair): Promise<PairCheck> => {
    try {
      return await broker.check({ ...pair, stage, signal: shell.signal });
    } catch (error) {
      // A problem from the broker concerns this pair. A refusal before the broker concerns every pair.
      if (!(error instanceof TokenBrokerError) || error.type === 'aborted') throw error;
      if (error.problem === undefined && !error.retryable) throw error;
      return { ...pair, stage, failure: error };
    }
  };
  const checks = await mapConcurrently(pairs, check, noteProgress(shell, 'Checking'));
  const [first] = checks;
  const areUnsent = !isForced && checks.every((check) => findingOf(check) === 'network-error');
  if (areUnsent && first !== undefined && 'failure' in first) throw first.failure;
  return checks;
}

/** Works on all items, a few at a time, and returns the results in their order. After a failure no item starts. */
export function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  onDone: (done: number, total: number) => void = () => undefined,
): Promise<readonly Result[]> {
  let done = 0;
  const workOn = async (item: Item) => {
    const result = await work(item);
    done += 1;
    onDone(done, items.length);
    return result;
  };
  // Items behind a slow item do not wait for it.
  const limits = { concurrency: AT_A_TIME, highWaterMark: items.length };
  return Readable.from(items).map(workOn, limits).toArray();
}

/** The scheduled check uses the same number. */
const AT_A_TIME = 5;

/** Reports the progress of long work on stderr, every three seconds. Short work prints nothing. */
export function noteProgress(shell: Pick<Shell, 'stderr'>, what: string, now = Date.now) {
  let notedAt = now();
  return (done: number, total: number): void => {
    if (now() - notedAt < 3_000) return;
    notedAt = now();
    note(shell, `${what}: ${done} of ${total}`);
  };
}

/** Returns the finding of a check, or the type of its failure. */
export function findingOf(check: PairCheck): string {
  return 'finding' in check ? check.finding : check.failure.type;
}

/** Returns whether the service judged this version: only then does the finding say whether the credential works. */
export function isTried(check: PairCheck, version: string): boolean {
  return 'version' in check && check.version === version && /^(accepted|rejected)$/.test(check.finding);
}

/** Returns the members of a check with the names of the wire. `promoted` adds whether this version was tried. */
export function checkMembers(check: PairCheck, promoted?: string): Readonly<Record<string, unknown>> {
  const { client, service, stage } = check;
  const tried = promoted === undefined ? undefined : isTried(check, promoted);
  if ('failure' in check) return { client, service, stage, tried, problem: asProblem(check.failure) };
  if (check.finding === 'untried') return { ...check, tried };
  const { finding, detail, cause, version, checkedAt, provenBy, expiresAt, credentialExpiresAt, retryAfterSeconds } =
    check;
  return {
    ...{ client, service, stage, finding, detail, cause, tried, version },
    checked_at: new Date(checkedAt).toISOString(),
    proven_by: provenBy,
    expires_at: expiresAt && new Date(expiresAt).toISOString(),
    credential_expires_at: credentialExpiresAt,
    retry_after: retryAfterSeconds,
  };
}

/** Writes a line for each check on stdout, with `promoted` whether this version was tried, and advice on stderr. */
export function printChecks(shell: Shell, checks: readonly PairCheck[], environment: string, promoted?: string): void {
  const rows = checks.map((check) => {
    const evidence =
      'checkedAt' in check
        ? [shortVersion(check.version), check.provenBy, timeText(check.checkedAt, shell)]
        : ['-', '-', '-'];
    const tried = promoted === undefined ? [] : [isTried(check, promoted) ? 'tried' : 'untried'];
    return [check.service, findingOf(check), ...tried, ...evidence];
  });
  const header = ['SERVICE', 'FINDING', ...(promoted === undefined ? [] : ['TRIED']), 'VERSION'];
  shell.stdout.write(tableText([...header, 'PROVEN BY', 'CHECKED AT'], rows, shell));
  const adviceFor = (check: PairCheck) => adviceOn(check, environment, promoted !== undefined);
  for (const [advice, about] of Map.groupBy(checks, adviceFor)) {
    if (advice !== undefined) note(shell, `${about.map(({ service }) => service).join(', ')}: ${advice}`);
  }
}

function adviceOn(check: PairCheck, environment: string, isNew: boolean): string | undefined {
  const about = { environment, client: check.client };
  if ('failure' in check) return `${check.failure.detail}. ${adviceFor(check.failure, about)}`;
  if (check.finding === 'untried') return `${check.detail}.`;
  if (check.finding === 'accepted') {
    if (check.cause === 'lifetime-cut') return CAUSE_ADVICE['lifetime-cut'];
    return check.provenBy === 'traffic' ? `not asked now: proof of ${timeText(check.checkedAt)}` : undefined;
  }
  const seconds = secondsToWait(check);
  const until = Number.isFinite(seconds) ? ` Not before ${timeText(Date.now() + seconds * 1_000)}.` : '';
  const isExpired = Date.parse(check.credentialExpiresAt ?? '') <= Date.now();
  const isDoubtful = check.finding === 'misconfigured' && (isNew || check.stage === 'AWSPENDING');
  const reason = isDoubtful ? MAY_BE_WRONG : check.detail;
  const mayRollBack = check.stage === 'AWSCURRENT';
  const advice = withNames(findingAdvice(check.finding, { ...check, mayRollBack, isExpired }), about);
  return `${reason ? `${reason} ` : ''}${advice}${check.finding === 'throttled' ? until : ''}`;
}

/** A service that never accepted a version may answer 403 or a redirect because the secret is wrong. */
const MAY_BE_WRONG =
  'Some services answer a wrong secret with a redirect or 403 (then set rejectedOn403): compare the credential with its source first.';

/** Returns enough of a version's id to distinguish it from others. */
export function shortVersion(versionId: string | undefined): string {
  return versionId?.slice(0, 8) ?? '-';
}
