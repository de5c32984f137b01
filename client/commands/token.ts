import { type Command, InvalidArgumentError } from 'commander';
import type { IssuedToken } from '../index.ts';
import { tokenMembers } from '../serve/answers.ts';
import { explainFailure } from './failure.ts';
import {
  addConnectionOptions,
  addPair,
  type CallerOptions,
  connect,
  invocation,
  parseWhole,
  readPair,
} from './options.ts';
import { note, printJson, printMembers } from './output.ts';
import type { Shell } from './shell.ts';

/** Adds `token`, which asks the broker for a token, as the AWS identity that runs the command. */
export function addTokenCommand(program: Command, shell: Shell): void {
  addConnectionOptions(addPair(program.command('token')))
    .description('Ask for a token, as your AWS identity; shows its fingerprint, not the token.')
    .option('--min-ttl <seconds>', 'how long the token should still live', parseWhole('seconds', 0, 86_400))
    .option('--refused <fingerprint>', 'the token that the service turned away, to get its successor', parseFingerprint)
    .option('--reveal', 'show the token itself')
    .option('--raw', 'print only the token, for a pipe or a file; at a terminal with --reveal')
    .addHelpText('after', examples(invocation(program)))
    .action(async (_client: unknown, _service: unknown, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TokenCommandOptions>();
      const { minTtl, refused, raw, reveal, json } = options;
      if (raw && json) command.error('error: give either --raw or --json');
      if (raw && !reveal && shell.stdout.isTTY) command.error('error: --raw shows the token here: add --reveal');
      const missing = (name: string) =>
        command.error(`error: required option '--${name} <name>' or argument '${name}' not specified`);
      const { client = missing('client'), service = missing('service') } = readPair(command);
      const broker = connect(shell, options, command);
      await explainFailure(shell, { ...options, client }, async () => {
        print(shell, await broker.token({ client, service, minTtl, refused, signal: shell.signal }), options);
      });
    });
}

function parseFingerprint(text: string): string {
  if (/^[0-9a-f]{16}$/.test(text)) return text;
  throw new InvalidArgumentError('It takes the fingerprint of the token (16 hex digits), not the token.');
}

interface TokenCommandOptions extends CallerOptions {
  readonly minTtl?: number;
  readonly refused?: string;
  readonly reveal?: boolean;
  readonly raw?: boolean;
}

function print(shell: Shell, token: IssuedToken, { json, reveal, raw, minTtl = 0 }: TokenCommandOptions): void {
  // The names of the wire, so that a script reads the same members here and there.
  const { access_token, ...shown } = tokenMembers(token);
  // A further member may be as secret as the token, for example a refresh token.
  const members = reveal ? { access_token, ...shown, ...token.passThrough } : shown;
  const lifetime = shown.expires_in;
  // Tolerates a second for the way.
  if (lifetime + 1 < minTtl) {
    const why = 'the broker could not get a token that lives longer';
    note(shell, `The token lives for ${lifetime} s, less than the ${minTtl} s of --min-ttl: ${why}.`);
  }
  if (raw) return void shell.stdout.write(`${token.accessToken}\n`);
  if (json) printJson(shell, members);
  else printMembers(shell, members);
  if (!json && !reveal) note(shell, 'The token is hidden; --reveal shows it.');
}

/** `npm` must print nothing where a program reads. */
const examples = (run: string, silent = run.replace('npm run', 'npm run --silent')) => `
Examples:
  $ ${run} token --client acme --service customer-insights
  $ token=$(${silent} token acme customer-insights --raw) || exit
  $ ${run} token acme customer-insights --refused 0123456789abcdef

Exit code: 0 a token was issued, 1 refused or failed, 2 wrong usage.`;
