import type { Command } from 'commander';
import type { IssuedToken } from '../index.ts';
import { explainFailure } from './failure.ts';
import {
  addConnectionOptions,
  type ConnectionOptions,
  connect,
  invocation,
  parseName,
  parseSeconds,
} from './options.ts';
import { printJson, printMembers, talk } from './output.ts';
import type { Shell } from './shell.ts';

/** `token`: asks the broker for a token, as the AWS identity that runs the command. */
export function addTokenCommand(program: Command, shell: Shell): void {
  addConnectionOptions(program.command('token'))
    .description('Ask for a token, as your AWS identity; shows its fingerprint, not the token.')
    .argument('[client]', 'the client to act for', parseName)
    .argument('[service]', 'the service that issues the token', parseName)
    .option('--client <name>', 'the client, in place of the argument', parseName)
    .option('--service <name>', 'the service, in place of the argument', parseName)
    .option('--min-ttl <seconds>', 'how long the token should still live', parseSeconds(0, 86_400))
    .option('--refused <fingerprint>', 'the token that the service turned away, to get its successor')
    .option('--json', 'answer in JSON, problems too')
    .option('--reveal', 'show the token itself')
    .addHelpText('after', examples(invocation(program)))
    .action(async (first: string | undefined, second: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<TokenCommandOptions>();
      // Where --client is given, the argument is the service.
      const [one, other] = options.client === undefined ? [first, second] : [undefined, first];
      const client = only('client', one, options.client, command);
      const service = only('service', other, options.service, command);
      if (options.client !== undefined && second !== undefined) command.error('error: too many arguments');
      checkFingerprint(options.refused, command);
      const broker = connect(shell, options, command);
      await explainFailure(shell, { ...options, client }, async () => {
        const { minTtl, refused } = options;
        print(shell, await broker.token({ client, service, minTtl, refused, signal: shell.signal }), options);
      });
    });
}

/** The name that is given as an argument or as an option; wrong usage when it is given by neither or both. */
function only(name: string, argument: string | undefined, option: string | undefined, command: Command): string {
  if (argument !== undefined && option !== undefined) return command.error('error: too many arguments');
  const missing = `error: required option '--${name} <name>' or argument '${name}' not specified`;
  return argument ?? option ?? command.error(missing);
}

/** A token given by mistake must not be repeated in the error, as `commander` itself would do. */
function checkFingerprint(text: string | undefined, command: Command): void {
  if (text !== undefined && !/^[0-9a-f]{16}$/.test(text)) {
    command.error('error: --refused takes the fingerprint of the token (16 hex digits), not the token');
  }
}

interface TokenCommandOptions extends ConnectionOptions {
  readonly environment?: string;
  readonly client?: string;
  readonly service?: string;
  readonly minTtl?: number;
  readonly refused?: string;
  readonly json?: boolean;
  readonly reveal?: boolean;
}

function print(shell: Shell, token: IssuedToken, { json, reveal, minTtl = 0 }: TokenCommandOptions): void {
  const lifetime = Math.max(0, Math.floor((token.expiresAt - Date.now()) / 1000));
  // Named as on the wire, so that a script reads the same members here and there.
  const shown = {
    token_type: token.tokenType,
    expires_in: lifetime,
    expires_at: token.expiresAtBroker ?? new Date(token.expiresAt).toISOString(),
    expiry_source: token.expirySource,
    fingerprint: token.fingerprint,
    scope: token.scope,
  };
  // What a service sends along may be as secret as the token: a refresh token, for example.
  const members = reveal ? { access_token: token.accessToken, ...shown, ...token.passThrough } : shown;
  // A second for the way.
  if (lifetime + 1 < minTtl) {
    talk(
      shell,
      `The token lives for ${lifetime} s, less than the ${minTtl} s of --min-ttl: the service gives none that lives longer.`,
    );
  }
  if (json) {
    printJson(shell, members);
    return;
  }
  printMembers(shell, members);
  if (!reveal) talk(shell, 'The token is hidden; --reveal shows it.');
}

const examples = (run: string) => `
Examples:
  $ ${run} token --client acme --service customer-insights
  $ ${run} token acme customer-insights
  $ ${silent(run)} token --client acme --service customer-insights --json
  $ ${silent(run)} token --client acme --service customer-insights --json --reveal | jq -r .access_token
  $ ${run} token --client acme --service customer-insights --refused 0123456789abcdef

Exit code: 0 a token was issued, 1 refused or failed, 2 wrong usage.`;

/** npm must not talk where a program reads. */
function silent(run: string): string {
  return run.replace('npm run', 'npm run --silent');
}
