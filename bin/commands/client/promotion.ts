import { checkMembers, findingOf, type PairCheck } from '../shared/checks.ts';
import { CommandFailure } from '../shared/failure.ts';
import { printChecks } from '../shared/finding.ts';
import { printJson, talk } from '../shared/output.ts';
import type { Secrets } from '../shared/secrets.ts';

interface Promotion {
  readonly client: string;
  /** The version that becomes the current one. */
  readonly version: string;
  /** The one that is; if it no longer is, somebody else was faster and nothing is done. */
  readonly current: string | undefined;
  readonly isPending: boolean;
}

/** Makes a version the current one; AWS makes the one before AWSPREVIOUS. */
export async function makeCurrent(secrets: Secrets, { client, version, current, isPending }: Promotion): Promise<void> {
  await secrets.moveStage(client, 'AWSCURRENT', { from: current, to: version });
  if (!isPending) return;
  try {
    // AWS leaves it there, and it would look as if something waited to be promoted.
    await secrets.moveStage(client, 'AWSPENDING', { from: version });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    talk(`Version ${version} is current now, but still carries AWSPENDING too: ${error.detail}. This does no harm.`);
  }
}

/** What has become of a version. */
export interface Outcome {
  readonly environment: string;
  readonly client: string;
  readonly version: string;
  readonly stage: 'AWSCURRENT' | 'AWSPENDING';
  readonly checks: readonly PairCheck[];
}

/** Writes the outcome: data on stdout, what it means and what to do next on stderr. */
export function printOutcome(
  outcome: Outcome,
  { json, next }: { readonly json?: boolean | undefined; readonly next: string },
): void {
  const { environment, client, version, stage, checks } = outcome;
  if (json) printJson({ environment, client, version, stage, checks: checks.map(checkMembers) });
  else {
    if (checks.length > 0) printChecks(checks, environment);
    process.stdout.write(`${client}: version ${version} is ${stage}\n`);
  }
  talk(next);
}

/** When callers notice. */
export const TAKES_EFFECT =
  'The broker uses it within 60 s, or with the next check or renewal of a token when the event of Secrets Manager gets lost.';

/** Whether the broker looked at this very version and the service accepted it. */
export function isAcceptedVersion(check: PairCheck, version: string): boolean {
  return findingOf(check) === 'accepted' && 'version' in check && check.version === version;
}
