import { CommanderError } from 'commander';
import { framesOf } from '../../functions/broker/problem.ts';
import { TokenBrokerError } from '../index.ts';
import { note, printJson } from './output.ts';
import { INTERRUPTED, type Shell } from './shell.ts';

/** A failure of a command that is neither the broker's nor wrong usage. No text of it contains a secret. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  /** The type for programs. `aborted` when the person or the shell stopped waiting. */
  readonly type: string;
  readonly detail: string;
  readonly advice: string;

  constructor(type: string, detail: string, advice: string) {
    super(`${type}: ${detail}`);
    this.type = type;
    this.detail = detail;
    this.advice = advice;
  }
}

/** Returns the failure of a command that Ctrl-C interrupted. */
export function aborted(): CommandFailure {
  return new CommandFailure('aborted', 'The command was interrupted', 'Run it again.');
}

/** The environment and the client of a failure. Absent when a command concerns several. */
export interface About {
  readonly environment?: string | undefined;
  readonly client?: string | undefined;
}

/** Runs the work of a command. Explains a failure, with advice, and exits with 1, after Ctrl-C with 130. */
export async function explainFailure(
  shell: Shell,
  options: About & { readonly json?: boolean | undefined; readonly url?: string | undefined },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const failure = isFailure(error) ? error : defect(error);
    if (failure.type === 'aborted') throw new CommanderError(INTERRUPTED, failure.type, failure.message);
    printFailure(shell, failure, options);
    shell.exitCode = 1;
  }
}

function printFailure(shell: Shell, failure: Failure, options: Parameters<typeof explainFailure>[1]): void {
  if (options.json) printJson(shell, asProblem(failure));
  const silent = silentPlace(shell, failure, options.url);
  note(shell, `error: ${silent ? `${failure.type}: Nothing answers at ${silent}` : failure.message}`);
  note(shell, silent ? SILENT_ADVICE : adviceFor(failure, options));
  const { retryAfterSeconds, problem } = failure instanceof TokenBrokerError ? failure : {};
  if (problem?.response_shape !== undefined && !options.json) note(shell, shapeText(problem.response_shape));
  if (retryAfterSeconds !== undefined) note(shell, `Try again in ${retryAfterSeconds} s.`);
}

/** Returns the local URL where nothing listens: the broker's, or that of a stand-in for an AWS service. */
function silentPlace({ env }: Shell, failure: Failure, url: string | undefined): string | undefined {
  const [, service] = /: (\w+):\w+ .*\(ECONNREFUSED\)$/.exec(failure.detail) ?? [];
  const isOf = (name: string) => service && name.replaceAll('_', '').toLowerCase().endsWith(service);
  const variable = Object.keys(env).find((name) => name.startsWith('AWS_ENDPOINT_URL_') && isOf(name));
  const place = failure instanceof TokenBrokerError ? url : env[variable ?? 'AWS_ENDPOINT_URL'];
  const isHere = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/|$)/.test(place ?? '');
  return failure.message.includes('ECONNREFUSED') && isHere ? place : undefined;
}

/** Returns the command that changes a terminal's variables of a local broker, on Windows for PowerShell. */
export function terminalCommand(words: string, platform = process.platform): string {
  const run = `run --silent token-broker -- env ${words}`;
  return platform === 'win32' ? `npm.cmd ${run} --powershell | Invoke-Expression` : `eval "$(npm ${run})"`;
}

/** The command that removes the variables of a local broker from a terminal. */
export const UNSET_LOCAL = terminalCommand('--unset');

const SILENT_ADVICE = `Correct the port, start the local broker with npm start, or remove the variables of a local broker that has ended: ${UNSET_LOCAL}.`;

type Failure = TokenBrokerError | CommandFailure;

/** Returns whether a command explains the error. Any other error is a defect. */
export function isFailure(error: unknown): error is Failure {
  return error instanceof TokenBrokerError || error instanceof CommandFailure;
}

/** Reports only the name and the places of a defect, because its message may quote a secret. */
function defect(error: unknown): CommandFailure {
  const { name, places } =
    error instanceof Error ? { name: error.name, places: framesOf(error) } : { name: typeof error, places: [] };
  const word = /^\w{1,64}$/.test(name) ? name : 'unknown';
  return new CommandFailure('internal', `The command has a defect: ${word}`, `Report where: ${places.join(' ')}`);
}

/** Returns the form of a service's answer, without values, under the name that advice refers to. */
export function shapeText(shape: unknown): string {
  return `response_shape: ${JSON.stringify(shape)}`;
}

/** Returns any failure in the shape of the broker's problems, so that scripts read a single shape. */
export function asProblem(error: Failure): Readonly<Record<string, unknown>> {
  if (error instanceof CommandFailure) return { type: error.type, detail: error.detail };
  const { type, detail, status, retryable, problem, caller } = error;
  return { ...(problem ?? { type, detail, status, retryable }), ...(caller && { caller }) };
}

/** Returns the advice for a failure. */
export function adviceFor({ advice }: Pick<Failure, 'advice'>, about: About): string {
  const unknown = 'This command line does not know the problem: read its detail, or update it.';
  return withNames(advice ?? unknown, about);
}

/** Fills the environment and the client into an advice of the contract, where they are known. */
export function withNames(advice: string, { environment = '<environment>', client = '<client>' }: About): string {
  return advice.replaceAll('`', '').replaceAll('<environment>', environment).replaceAll('<client>', client);
}
