import type { DoctorStep } from '../../client/commands/doctor/step.ts';
import { note } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { isRefused } from '../shared/ask-aws.ts';
import { calledLines } from './called.ts';
import { describedLines } from './described.ts';
import { type Line, openWorld, type StackOptions, unproven, wrong } from './world.ts';

/** Runs `doctor --stack`: yields one step for each proof. `before` contains the steps of the call. */
export async function* examineStack(
  shell: Shell,
  settings: Environment,
  options: StackOptions,
  before: readonly DoctorStep[],
): AsyncGenerator<DoctorStep> {
  const { name, account, region } = settings;
  const world = await openWorld(shell, settings, options);
  // A file of the output names its place and its date.
  const stack = `the stack of ${name} in account ${account}, region ${region}, at ${new Date().toISOString()}`;
  note(shell, `Looking at ${stack}, which takes at most three minutes.`);
  const lines = Object.entries({ ...describedLines(world), ...calledLines(world) });
  // The advice of a single cause ends the command. A failed call comes first, because these lines contain their advice.
  const isCallGood = before.every(({ cause }) => cause === undefined);
  const steps = await Promise.all(
    lines.map(async ([step, look]): Promise<DoctorStep> => {
      const seen = await look().catch(unanswered);
      return { step, ...seen, ...(seen.outcome === 'failed' && isCallGood && { cause: step }) };
    }),
  );
  yield* steps;
  const unknown = [...before, ...steps].filter(({ outcome }) => outcome === 'unknown');
  if (unknown.length > 0) note(shell, `Not proven: ${unknown.map(({ step }) => step).join(', ')}.`);
}

/** Returns unproven for a line that AWS refuses to show, and failed for a missing resource. */
function unanswered(error: unknown): Line {
  if (!isRefused(error)) throw error;
  const isSilent = error.type.startsWith('aws-') && error.type !== 'aws-not-found';
  return isSilent ? unproven(error.detail) : wrong(error.detail, error.advice);
}
