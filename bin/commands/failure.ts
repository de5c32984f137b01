import { CommanderError } from 'commander';
import { TokenBrokerError } from '../../client/index.ts';
import { bugPlace } from '../../functions/aws/errors.ts';
import { type ExplainedFor, explain } from './explain.ts';
import { printJson, talk } from './output.ts';

/** What keeps a command from its work when it is neither the broker nor wrong usage. No text of it holds a secret. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  /** For programs; `aborted` when somebody gave up waiting. */
  readonly type: string;
  readonly detail: string;
  /** What to do about it. */
  readonly advice: string;

  constructor(type: string, detail: string, advice: string) {
    super(`${type}: ${detail}`);
    this.type = type;
    this.detail = detail;
    this.advice = advice;
  }
}

/** Ctrl-C. */
export function aborted(): CommandFailure {
  return new CommandFailure('aborted', 'The command was interrupted', 'Run it again.');
}

/**
 * Does a command's work; when it is refused or cannot be done, says why and what to do, and the exit code is 1.
 *
 * Ctrl-C is answered with 130, as the shell expects, and with no words but those that the work itself has said.
 */
export async function explainFailure(options: FailureOptions, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const failure = error instanceof TokenBrokerError || error instanceof CommandFailure ? error : defect(error);
    // What was left behind (a credential lookup) must not keep the process; nothing was printed that could be lost.
    if (failure.type === 'aborted') process.exit(130);
    if (options.json) printJson(asProblem(failure));
    talk(`error: ${failure.message}`);
    talk(adviceFor(failure, options));
    const retryAfterSeconds = failure instanceof TokenBrokerError ? failure.retryAfterSeconds : undefined;
    if (retryAfterSeconds !== undefined) talk(`Try again in ${retryAfterSeconds} s.`);
    process.exitCode = 1;
  }
}

/** What nobody expected; what it says and holds may be what the code stumbled over, so only its name and places are told. */
function defect(error: unknown): CommandFailure {
  const { name, at } = bugPlace(error);
  return new CommandFailure('internal', `The command has a defect: ${name}`, ['Report where:', ...at].join(' '));
}

interface FailureOptions extends ExplainedFor {
  readonly json?: boolean | undefined;
}

/** Failures that are not the broker's get the same shape, so that a script reads one. */
export function asProblem(error: TokenBrokerError | CommandFailure): Readonly<Record<string, unknown>> {
  if (error instanceof CommandFailure) return { type: error.type, detail: error.detail };
  const { type, detail, status, retryable, problem } = error;
  return problem ?? { type, detail, status, retryable };
}

function adviceFor(error: TokenBrokerError | CommandFailure, options: ExplainedFor): string {
  return error instanceof CommandFailure ? error.advice : explain(error.type, options);
}
