import type { Command } from 'commander';
import { CommandFailure } from '../../client/commands/failure.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { checkMembers, findingOf, isTried, type PairCheck, printChecks } from '../shared/checks.ts';
import { type ClientSecret, versionWith } from '../shared/client-secret.ts';
import { answer, type ClientOptions } from '../shared/operate.ts';
import type { Secrets } from '../shared/secrets.ts';
import { isTerminal, isYes } from './confirm.ts';

/** Options that promote a version which not every service accepts. */
export interface ForceOptions {
  readonly force?: boolean;
  readonly acceptRejected?: boolean;
}

const FORCED = 'also untried, if the client is disabled, or a service or the broker does not answer';
const FORCE = `${FORCED}; asks again in other cases. If the credential is wrong, callers depend on the previous version`;
const ACCEPT_REJECTED =
  'with --force: also a version that a service rejects, or that is untried. Each rejected log-in may lock the account';

/** Adds the options of `ForceOptions`. */
export function addForceOptions(command: Command): Command {
  return command.option('--force', FORCE).option('--accept-rejected', ACCEPT_REJECTED);
}

/** Returns under which condition a version will be promoted, for a plan. */
export function conditionOf({ force, acceptRejected }: ForceOptions): string {
  if (!force) return 'if every service accepts it';
  return acceptRejected ? 'also if it is rejected or untried' : FORCED;
}

/** The stage and the checks of a version. */
interface Outcome {
  readonly version: string;
  readonly stage: 'AWSCURRENT' | 'AWSPENDING';
  readonly checks: readonly PairCheck[];
}

/**
 * Promotes a pending version that every service accepts, or that is forced. Prints the outcome and the next step.
 *
 * @throws CommandFailure `secret-changed` if the version has lost its stage, or a finding is about another version
 * @throws TokenBrokerError with `--force`, a failure of a check that another attempt does not end
 */
export async function conclude(
  shell: Shell,
  secrets: Secrets,
  options: ClientOptions & ForceOptions,
  { version, stage, checks }: Outcome,
  secret: ClientSecret | undefined,
  services?: string,
): Promise<void> {
  const areAccepted = checks.every((check) => verdictOn(check, version) === 'accepted');
  if (!areAccepted) await assertOwn(secrets, options, { version, stage, checks });
  // AWS makes the first version current by itself.
  const needsForce = !areAccepted && options.force === true && stage === 'AWSPENDING';
  const isForced = needsForce && (await hasConsent(shell, { version, stage, checks }, options));
  // The question may have taken minutes.
  if (needsForce) await assertOwn(secrets, options, { version, stage, checks });
  const isPromoted = stage === 'AWSPENDING' && secret !== undefined && (areAccepted || isForced);
  if (isPromoted) {
    // Fails if another operator changed the secret first. AWS makes the old version AWSPREVIOUS.
    await secrets.makeCurrent(secret, version, services);
    // AWS leaves AWSPENDING on the promoted version, as if it still waited. A failure to remove it has no effect.
    await secrets.moveStage(options.client, 'AWSPENDING', version).catch(() => undefined);
  }
  const outcome = { version, stage: isPromoted ? ('AWSCURRENT' as const) : stage, checks };
  const next = areAccepted ? ACCEPTED[stage] : nextStep({ version, stage, checks }, isPromoted);
  printOutcome(shell, options, outcome, next);
  if (!areAccepted && !isPromoted) shell.exitCode = 1;
}

/** Fails if the version has lost its stage, if a finding is about another version, or if `--force` cannot help. */
async function assertOwn(
  secrets: Secrets,
  { client, force }: ClientOptions & ForceOptions,
  { version, stage, checks }: Outcome,
): Promise<void> {
  const first = (verdict: Verdict) => checks.find((check) => verdictOn(check, version) === verdict);
  const foreign = stage === 'AWSPENDING' ? first('other-version') : undefined;
  const isGone = versionWith(stage, await secrets.find(client)) !== version;
  if (isGone || foreign !== undefined) {
    const found = foreign && findingOf(foreign) === 'secret-missing' ? 'no pending version' : 'on another version';
    const reason = isGone ? 'another operator has changed the secret' : `the broker reports ${found}`;
    throw new CommandFailure('secret-changed', `Version ${version} was not promoted: ${reason}`, CHANGED);
  }
  const final = force && stage === 'AWSPENDING' ? first('final') : undefined;
  if (final !== undefined && 'failure' in final) throw final.failure;
}

const CHANGED = 'Look at client show, then run the command again. Is it the broker of this environment?';

type Verdict = 'accepted' | 'other-version' | 'forceable' | 'needs-consent' | 'final';

/**
 * Returns what a check means for putting this version into use. `--force` ignores silence and a disabled client, asks
 * for consent to every other finding, and throws a failure that another attempt does not change.
 */
function verdictOn(check: PairCheck, version: string): Verdict {
  if ('failure' in check) return check.failure.retryable ? 'forceable' : 'final';
  if (check.finding === 'untried') return 'needs-consent';
  const { finding, cause, version: checked } = check;
  const isUnread = checked === undefined && (finding === 'disabled' || finding === 'secret-malformed');
  if (checked !== version && !isUnread) return 'other-version';
  if (finding === 'accepted') return 'accepted';
  const isSilent = finding === 'unreachable' || (finding === 'throttled' && cause === 'service');
  return isSilent || finding === 'disabled' ? 'forceable' : 'needs-consent';
}

/** Confirms the use of a rejected or untried credential, which `--force` and `--yes` do not imply. */
async function hasConsent(shell: Shell, outcome: Outcome, { client, acceptRejected }: ClientOptions & ForceOptions) {
  const needsConsent = outcome.checks.some((check) => verdictOn(check, outcome.version) === 'needs-consent');
  if (!needsConsent || acceptRejected) return true;
  if (!isTerminal(shell)) return false;
  note(shell, `The version is ${stateOf(outcome)}. Once it is current, callers of ${client} may depend on`);
  note(shell, 'the previous version, if there is one that the service accepts.');
  const isRejected = outcome.checks.some((check) => findingOf(check) === 'rejected');
  const isUntried = outcome.checks.some((check) => !isTried(check, outcome.version));
  const words = [...(isRejected ? ['rejected'] : []), ...(isUntried ? ['untried'] : [])];
  return isYes(shell, `Promote the ${words.join(' and ')} credential?`);
}

/** Returns the next step after a version that not every service accepts. */
function nextStep({ version, stage, checks }: Outcome, isPromoted: boolean): string {
  const state = stateOf({ version, checks });
  const verdicts = checks.map((check) => verdictOn(check, version));
  // The previous version of a disabled client may be the leaked version.
  const isDisabled = checks.some((check) => findingOf(check) === 'disabled');
  if (isPromoted) return `Promoted by --force, ${state}. ${isDisabled ? START : `${TAKES_EFFECT} ${UNDO}`}`;
  if (stage === 'AWSCURRENT') return `${FIRST}, ${state}; ${UNUSED}`;
  const force = verdicts.includes('needs-consent') ? '--force --accept-rejected' : '--force';
  const forced = verdicts.includes('final') ? '' : `; ${force} promotes it although it is ${state}`;
  return `It stays pending, and does not affect callers. client promote tries it again${forced}.`;
}

/** Returns where a version is rejected or untried: `rejected by one, untried on other (throttled)`. */
function stateOf({ version, checks }: Omit<Outcome, 'stage'>): string {
  const rejecting = checks.filter((check) => findingOf(check) === 'rejected').map(({ service }) => service);
  const untried = checks.filter((check) => !isTried(check, version));
  const reasons = untried.map((check) => {
    const finding = findingOf(check);
    return finding === 'untried' ? check.service : `${check.service} (${finding})`;
  });
  const parts = [
    ...(rejecting.length > 0 ? [`rejected by ${rejecting.join(', ')}`] : []),
    ...(reasons.length > 0 ? [`untried on ${reasons.join(', ')}`] : []),
  ];
  return parts.join(', ');
}

/** Writes the outcome on stdout, its meaning and the next step on stderr. */
export function printOutcome(
  shell: Shell,
  options: ClientOptions,
  { version, stage, checks }: Outcome,
  next: string,
): void {
  const { environment, client, json } = options;
  if (!json && checks.length > 0) printChecks(shell, checks, environment, version);
  const members = { version, stage, checks: checks.map((check) => checkMembers(check, version)) };
  answer(shell, options, members, `${client}: version ${version} is ${stage}\n`);
  note(shell, next);
}

export const TAKES_EFFECT =
  'The broker uses it within 60 s; if the event of Secrets Manager is lost, with the next check or renewal of a token.';
const UNDO = 'client rollback undoes it.';
const START = 'client enable starts the client with it, and client check then tries it.';
const FIRST = 'It is the first version, so AWS made it current at once';
const UNUSED = 'no caller had a token of the client before. client check tries it again.';
const ACCEPTED = {
  AWSPENDING: TAKES_EFFECT,
  AWSCURRENT: `${FIRST}. Callers get tokens as soon as an access rule allows it.`,
};
