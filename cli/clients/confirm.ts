import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { aborted, CommandFailure } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { note, printJson } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { LOCAL_ACCOUNT, LOCAL_ENVIRONMENT } from '../../lib/settings/names.ts';
import { isRefused } from '../shared/ask-aws.ts';
import type { ClientSecret } from '../shared/client-secret.ts';
import { addAwsOptions, awsRegion, type ClientOptions, type CommandOptions } from '../shared/operate.ts';
import { findSecret, type Secrets } from '../shared/secrets.ts';
import { settingsOf } from '../shared/settings.ts';

/** The options of every command that changes a client. */
export interface ChangeOptions extends CommandOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Adds the options of `ChangeOptions`. */
export function addChangeOptions(command: Command): Command {
  return command
    .option('--yes', 'do it without asking; required without a terminal')
    .option('--dry-run', 'print what it would do, and change nothing');
}

/** Adds a command that changes one client in AWS, without the broker. */
export function addChangeCommand(parent: Command, name: string, client = '<client>'): Command {
  return addChangeOptions(addAwsOptions(parent.command(name))).argument(client, 'the client', parseName);
}

/**
 * Finds the secret of a client to stop, start or send again. Returns `undefined` if `evenIfMissing` allows a missing
 * secret, or if Secrets Manager does not answer: a change of the table does not need it.
 */
export async function findStoppable(
  shell: Shell,
  secrets: Secrets,
  { client, evenIfMissing }: ClientOptions & { readonly evenIfMissing?: boolean },
): Promise<ClientSecret | undefined> {
  try {
    return evenIfMissing ? await secrets.find(client) : await findSecret(secrets, client);
  } catch (error) {
    if (!isRefused(error)) throw error;
    const isPassing = error.type === 'aws-unavailable' || error.type === 'aws-throttled';
    if (!evenIfMissing && !isPassing) throw error;
    note(shell, `Whether the client "${client}" exists is unknown (${error.type}).`);
    return undefined;
  }
}

/**
 * Prints the changes and their place, and asks at the terminal. Each change begins with a verb: `sets …`. The account
 * is the secret's, otherwise the settings'. Returns false with `--dry-run`. Without `--yes` it needs a terminal.
 *
 * @throws CommandFailure `declined`, or `aborted` on Ctrl-C
 */
export async function isConfirmed(
  shell: Shell,
  changes: readonly string[],
  options: ChangeOptions & { readonly client?: string | undefined },
  command: Command,
  secret?: ClientSecret,
): Promise<boolean> {
  const { environment, client, yes, dryRun, json } = options;
  const [, , , arnRegion, arnAccount] = secret?.arn.split(':') ?? [];
  const account = arnAccount ?? (environment === LOCAL_ENVIRONMENT ? LOCAL_ACCOUNT : settingsOf(environment)?.account);
  const region = arnRegion ?? awsRegion(shell, options);
  const place = `account ${account ?? 'unknown'}, region ${region ?? 'unknown'}`;
  note(shell, `In the environment ${environment} (${place}) this command`);
  for (const change of changes) note(shell, `- ${change}`);
  if (dryRun) {
    if (json) printJson(shell, { environment, account, region, client, dry_run: true, changes });
    note(shell, 'Nothing was changed: --dry-run.');
    return false;
  }
  if (yes) return true;
  if (!isTerminal(shell)) {
    return command.error('error: there is no terminal to ask at, so nothing was changed; --yes does it without asking');
  }
  if (await isYes(shell, 'Continue?')) return true;
  throw new CommandFailure('declined', 'You did not agree', 'Nothing was changed.');
}

/** Returns whether a person can be asked: both a keyboard and a screen are there. */
export function isTerminal(shell: Shell): boolean {
  return Boolean(shell.stdin.isTTY && shell.stderr.isTTY);
}

/** Asks a question at the terminal. Every answer except yes counts as no. */
export async function isYes(shell: Shell, question: string): Promise<boolean> {
  const [answer = ''] = await ask(shell, [{ text: `${question} [y/N] ` }]);
  return /^\s*y(es)?\s*$/i.test(answer);
}

interface Question {
  readonly text: string;
  /** The answer is not shown. */
  readonly isHidden?: boolean;
}

/** Asks the questions at the terminal in turn, a line for each. Drops further lines. Ctrl-C and Ctrl-D abort. */
export async function ask(shell: Shell, questions: readonly Question[]): Promise<readonly string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const answers: string[] = [];
  const current = () => questions[answers.length];
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!(current() ?? questions.at(-1))?.isHidden) shell.stderr.write(chunk);
      done();
    },
  });
  // Open from the first question to the last answer, so that the terminal itself never echoes.
  const lines = createInterface({ input: shell.stdin, output, terminal: true, historySize: 0, signal: shell.signal });
  const askNext = () => {
    const question = current();
    if (question === undefined) {
      // The rest of a pasted secret must not be echoed, nor answer the next question.
      setTimeout(resolve, questions.at(-1)?.isHidden ? PASTE_MS : 0, answers);
      return;
    }
    lines.setPrompt(question.text);
    if (question.isHidden) shell.stderr.write(question.text);
    lines.prompt();
  };
  lines.on('line', (line) => {
    if (current() === undefined) return;
    if (current()?.isHidden) shell.stderr.write('\n');
    answers.push(line);
    askNext();
  });
  lines.once('close', () => {
    if (current() !== undefined) shell.stderr.write('\nInterrupted: nothing more was changed.\n');
    reject(aborted());
  });
  askNext();
  try {
    return await promise;
  } finally {
    lines.close();
  }
}

/** A terminal delivers all of a paste in less time. */
const PASTE_MS = 100;
