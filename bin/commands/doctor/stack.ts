import { writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { DoctorOptions } from '../../../client/commands/doctor.ts';
import { CommandFailure, explainFailure } from '../../../client/commands/failure.ts';
import { printJson, printLine, talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { DoctorStep } from '../../../client/commands/step.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { isRefused } from '../shared/ask-aws.ts';
import { knownSettings } from '../shared/environment.ts';
import { CALLED } from './called.ts';
import { DESCRIBED } from './described.ts';
import { openWorld, type Seen, type StackOptions, unproven, wrong } from './world.ts';

/** Adds the options of `doctor --stack`. */
export function addStackOptions(doctor: Command): Command {
  return doctor
    .option('--stack', 'prove what only a deployed stack can show, and change nothing')
    .option('--report <file.md>', 'with --stack: write the lines, dated, as Markdown', parseReport)
    .option('--profile-deploy <name>', 'with --stack: an AWS profile of the role that deploys')
    .option('--profile-emergency <name>', 'with --stack: an AWS profile of the role for emergencies')
    .option('--guarded', 'with --stack: also prove that a direct invocation is denied')
    .option(
      '--profile-direct <name>',
      'with --guarded: an AWS profile whose own policies allow to invoke the function',
    );
}

function parseReport(file: string): string {
  if (!file.endsWith('.md')) throw new InvalidArgumentError('It must end in .md.');
  return file;
}

/** `doctor --stack`, or `undefined` when that is not asked for: one line for each proof, each within its own time. */
export function examineStack(shell: Shell, given: DoctorOptions, command: Command): Promise<void> | undefined {
  // `commander` gives a command all its options: those of the client package, and those that are added here.
  const options = given as StackOptions;
  const { environment, json, report } = options;
  if (!options.stack) {
    const only = STACK_ONLY.find((name) => options[name] !== undefined);
    if (only !== undefined) command.error(`error: --${only.replace(/[A-Z]/g, '-$&').toLowerCase()} needs --stack`);
    return undefined;
  }
  const settings = knownSettings(environment, command);
  return explainFailure(shell, options, async () => {
    const startedAt = new Date();
    const world = await openWorld(shell, settings, options);
    const looks = Object.entries(LINES).map(([line, look]) => examine(line, () => look(world)));
    // One that fails waits for its turn to be told.
    for (const look of looks) look.catch(() => undefined);
    const steps: DoctorStep[] = [];
    // In their order, however long each takes.
    for (const look of looks) {
      const step = await look;
      if (step === undefined) continue;
      steps.push(step);
      if (!json) printLine(shell, lineText(step));
    }
    if (json) printJson(shell, { environment, at: startedAt.toISOString(), steps });
    if (report !== undefined) writeReport(report, reportText(settings, startedAt, steps));
    const failures = steps.filter(({ outcome }) => outcome === 'failed');
    for (const { step, advice } of failures) talk(shell, `${step}: ${advice}`);
    talk(shell, summary(steps));
    if (failures.length > 0) shell.exitCode = 1;
  });
}

const LINES = { ...DESCRIBED, ...CALLED };

const STACK_ONLY = ['report', 'guarded', 'profileDirect', 'profileDeploy', 'profileEmergency'] as const;

function writeReport(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch {
    throw new CommandFailure('report-not-written', `${file} cannot be written`, 'Name a file in a folder of yours.');
  }
}

/** A line that AWS refuses to show proves nothing; a line that fails otherwise says so and is not proven either. */
async function examine(step: string, look: () => Promise<Seen | undefined>): Promise<DoctorStep | undefined> {
  try {
    const seen = await look();
    return seen && { step, ...seen };
  } catch (error) {
    if (!isRefused(error)) throw error;
    const isSilent = error.type.startsWith('aws-') && error.type !== 'aws-not-found';
    return { step, ...(isSilent ? unproven(error.detail) : wrong(error.detail, error.advice)) };
  }
}

function lineText({ step, outcome, detail }: DoctorStep): string {
  return `${WORDS[outcome]}  ${step.padEnd(WIDTH)}  ${detail}`;
}

const WORDS = { ok: 'ok    ', failed: 'FAILED', unknown: '?     ' } as const;
const WIDTH = Math.max(...Object.keys(LINES).map(({ length }) => length));

function summary(steps: readonly DoctorStep[]): string {
  const count = (outcome: DoctorStep['outcome']) => steps.filter((one) => one.outcome === outcome).length;
  return `${count('ok')} proven, ${count('failed')} failed, ${count('unknown')} not proven`;
}

/** What can be committed: when, what and where, and nothing that is secret. */
function reportText({ name, account, region }: Environment, at: Date, steps: readonly DoctorStep[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  return [
    `# The stack of ${name}`,
    '',
    `Account ${account}, region ${region}, ${at.toISOString()}, by \`doctor --stack\`: ${summary(steps)}.`,
    '',
    '| line | outcome | what was seen |',
    '| ---- | ------- | ------------- |',
    ...steps.map(({ step, outcome, detail, advice }) => {
      return `| ${step} | ${outcome === 'unknown' ? 'not proven' : outcome} | ${cell(advice === undefined ? detail : `${detail}. ${advice}`)} |`;
    }),
    '',
  ].join('\n');
}
