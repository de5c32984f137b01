import { type Command, InvalidArgumentError } from 'commander';
import type { IssuedToken } from '../index.ts';
import { tokenMembers } from '../serve/answers.ts';
import { explainFailure } from './failure.ts';
import { addConnectionOptions, type CallerOptions, connect, invocation, parseName, parseWhole } from './options.ts';
import { printJson, printMembers, talk } from './output.ts';
import type { Shell } from './shell.ts';

/** Adds `token`, which asks the broker for a token, as the AWS identity that runs the command. */
export function addTokenCommand(program: Command, shell: Shell): void {
  addConnectionOptions(program.command('token'))
    .description('Ask for a token, as your AWS identity; shows its fingerprint, not the token.')
    .argument('[client]', 'the client to act for', parseName)
    .argument('[service]', 'the service that issues the token', parseName)
    .option('--client <name>', 'the client, in place of the argument', parseName)
    .option('--service <name>', 'the service, in place of the argument', parseName)
    .option('--min-ttl <seconds>', 'how long the token should still live', parseWhole('seconds', 0, 86_400))
    .option('--refused <fingerprint>', 'the token that the service turned away, to get its successor', parseFingerprint)
    .option('--reveal', 'show the token itself')
    .addHelpText('after', examples(invocation(program)))
    .action(async (first: string | undefined, second: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TokenCommandOptions>();
      const { minTtl, refused } = options;
      const names = [first, second].filter((name) => name !== undefined);
      const missing = (name: string) =>
        command.error(`error: required option '--${name} <name>' or argument '${name}' not specified`);
      const client = options.client ?? names.shift() ?? missing('client');
      const service = options.service ?? names.shift() ?? missing('service');
      if (names.length > 0) command.error('error: too many arguments');
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
  readonly client?: string;
  readonly service?: string;
  readonly minTtl?: number;
  readonly refused?: string;
  readonly reveal?: boolean;
}

function print(shell: Shell, token: IssuedToken, { json, reveal, minTtl = 0 }: TokenCommandOptions): void {
  // The names of the wire, so that a script reads the same members here and there.
  const { access_token, ...shown } = tokenMembers(token);
  // A further member may be as secret as the token, for example a refresh token.
  const members = reveal ? { access_token, ...shown, ...token.passThrough } : shown;
  const lifetime = shown.expires_in;
  // Tolerates a second for the way.
  if (lifetime + 1 < minTtl) {
    const why = 'the broker could not get a token that lives longer';
    talk(shell, `The token lives for ${lifetime} s, less than the ${minTtl} s of --min-ttl: ${why}.`);
  }
  if (json) printJson(shell, members);
  else printMembers(shell, members);
  if (!json && !reveal) talk(shell, 'The token is hidden; --reveal shows it.');
}

/** `npm` must print nothing where a program reads. */
const examples = (run: string, silent = run.replace('npm run', 'npm run --silent')) => `
Examples:
  $ ${run} token --client acme --service customer-insights
  $ ${silent} token acme customer-insights --json --reveal | jq -r .access_token
  $ ${run} token acme customer-insights --refused 0123456789abcdef

Exit code: 0 a token was issued, 1 refused or failed, 2 wrong usage.`;
