import { writeFileSync } from 'node:fs';
import { CommandFailure, explainFailure } from '../../../client/commands/failure.ts';
import { printJson, printLine, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { DoctorStep } from '../../../client/commands/step.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { isRefused } from '../shared/ask-aws.ts';
import { calledLines } from './called.ts';
import { describedLines } from './described.ts';
import { openWorld, type Seen, type StackOptions, unproven, wrong } from './world.ts';

/** `doctor --stack`: one line for each proof, shown when it ends. */
export function examineStack(shell: Shell, options: StackOptions, settings: Environment): Promise<void> {
  const { environment, json, report } = options;
  return explainFailure(shell, options, async () => {
    const at = new Date().toISOString();
    const world = await openWorld(shell, settings, options);
    const lines = Object.entries({ ...describedLines(world), ...calledLines(world) });
    const steps = await Promise.all(
      lines.map(async ([line, look]) => {
        const step: DoctorStep = { step: line, ...(await look().catch(unanswered)) };
        if (!json) printLine(shell, textOf(step));
        return step;
      }),
    );
    if (json) printJson(shell, { environment, at, steps });
    const count = (outcome: DoctorStep['outcome']) => steps.filter((one) => one.outcome === outcome).length;
    const summary = `${count('ok')} proven, ${count('failed')} failed, ${count('unknown')} not proven`;
    talk(shell, summary);
    if (count('failed') > 0) shell.exitCode = 1;
    if (report === undefined) return;
    const { account, region } = settings;
    const title = `The stack of ${environment}, account ${account}, region ${region}, ${at}: ${summary}.`;
    writeReport(report, [title, '', '```text', ...steps.map(textOf), '```', ''].join('\n'));
  });
}

/** A line that AWS refuses to show proves nothing; one about something that is not there has failed. */
function unanswered(error: unknown): Seen {
  if (!isRefused(error)) throw error;
  const isSilent = error.type.startsWith('aws-') && error.type !== 'aws-not-found';
  return isSilent ? unproven(error.detail) : wrong(error.detail, error.advice);
}

function textOf({ step, outcome, detail, advice }: DoctorStep): string {
  return `${WORDS[outcome]}  ${step.padEnd(14)}  ${detail}${advice === undefined ? '' : `. ${advice}`}`;
}

const WORDS = { ok: 'ok    ', failed: 'FAILED', unknown: '?     ' } as const;

function writeReport(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch {
    throw new CommandFailure('report-not-written', `${file} cannot be written`, 'Name a file in a folder of yours.');
  }
}
