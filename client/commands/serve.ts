import { once } from 'node:events';
import { type Command, InvalidArgumentError } from 'commander';
import { serviceUrlFault } from '../../functions/service-url.ts';
import { NAME_PATTERN } from '../../functions/vocabulary.ts';
import { safeCause } from '../index.ts';
import type { Forwarding } from '../serve/forward.ts';
import { KeyFileRefused, writeKeyFile } from '../serve/key.ts';
import { startServer } from '../serve/server.ts';
import type { Apis } from '../serve/target.ts';
import { CommandFailure, explainFailure } from './failure.ts';
import { addConnectionOptions, type CallerOptions, connect, invocation, parseWhole } from './options.ts';
import { note, printJson } from './output.ts';
import type { Shell } from './shell.ts';

/** Adds `serve`, which is the broker of programs on this machine, as the AWS identity of the command. */
export function addServeCommand(program: Command, shell: Shell): void {
  addConnectionOptions(program.command('serve'))
    .description('Run a broker for programs on this machine: with a key they get tokens, or call APIs without a token.')
    .option('--port <n>', 'the port on 127.0.0.1; 0 selects a free port', parseWhole('numbers', 0, 65_535), 2_775)
    .option('--key-file <path>', 'where to write the new key (default: in a new folder)')
    .option('--api <service=url>', 'forward /api/CLIENT/SERVICE/… to this API, with the token; repeatable', parseApi)
    .option('--api-timeout <s>', 'how long an API may be silent', parseWhole('seconds', 1, 3_600), 60)
    .option('--no-token', 'issue no tokens: only forward calls')
    .option('--log', 'print a line for each forwarded call: client, service, method, status, time')
    .addHelpText('after', help(invocation(program)))
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<ServeOptions>();
      const given = shell.env.TOKEN_BROKER_SERVE_KEY;
      if (given === '') command.error('error: TOKEN_BROKER_SERVE_KEY is empty: set it to a key, or unset it');
      if (given !== undefined && !/^[\w.~-]{32,256}$/.test(given)) {
        command.error('error: TOKEN_BROKER_SERVE_KEY must have 32 to 256 letters, digits or _ . ~ -');
      }
      if (given !== undefined && options.keyFile !== undefined) {
        command.error('error: give either TOKEN_BROKER_SERVE_KEY or --key-file');
      }
      const { api: apis, apiTimeout, token: hasToken, log: isLogged, json } = options;
      if (apis === undefined && (!hasToken || isLogged)) command.error('error: --no-token and --log need an --api');
      const broker = connect(shell, options, command, {});
      const log: Forwarding['log'] = (call) => {
        if (isLogged) shell.stdout.write(`${json ? JSON.stringify(call) : `${Object.values(call).join(' ')} ms`}\n`);
      };
      await explainFailure(shell, options, async () => {
        // The port is taken first: a second server on the same port ends before it touches the file.
        const server = await startServer({
          broker,
          key: given,
          port: options.port,
          note: (line) => note(shell, line),
          hasToken,
          forwarding: apis && { apis, silenceMs: apiTimeout * 1_000, log },
        }).catch(NO_PORT);
        let file: Awaited<ReturnType<typeof writeKeyFile>> | undefined;
        try {
          if (given === undefined) file = await writeKeyFile(options.keyFile, server).catch(NO_KEY_FILE);
          if (json) printJson(shell, { url: server.url, key_file: file?.file });
          else shell.stdout.write(usage(server.url, file?.file, options));
          if (!shell.signal.aborted) await once(shell.signal, 'abort');
          note(shell, 'Stopping: open requests have 30 s.');
        } finally {
          await server.close(30_000);
          await file?.remove();
        }
      });
    });
}

interface ServeOptions extends CallerOptions {
  readonly port: number;
  readonly keyFile?: string;
  readonly api?: Apis;
  readonly apiTimeout: number;
  /** `false` after `--no-token`. */
  readonly token: boolean;
  readonly log?: boolean;
}

/** Adds the API of a service to the others: `SERVICE=URL`. */
export function parseApi(text: string, others: Apis = new Map()): Apis {
  const [, service = '', url = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const fault = serviceUrlFault(url, { allowLoopback: true });
  if (!NAME_PATTERN.test(service)) {
    throw new InvalidArgumentError('Write SERVICE=URL: customer-insights=https://api.example.com');
  }
  if (fault !== undefined) throw new InvalidArgumentError(`The URL of ${service} ${fault}.`);
  if (others.has(service)) throw new InvalidArgumentError('Name each service once.');
  return new Map([...others, [service, new URL(url)]]);
}

/** The address and how to call it, without a key or a token. */
function usage(url: string, file: string | undefined, { api = new Map(), token }: ServeOptions): string {
  const key = file === undefined ? '$TOKEN_BROKER_SERVE_KEY' : `$(cat '${file}')`;
  const curl = `  printf 'user = "CLIENT:%s"' "${key}" |\n    curl -sK - --noproxy '*'`;
  const apis = [...api].map(([service, { href }]) => {
    return `Calls of ${url}/api/CLIENT/${service} go to ${href}, with the token of CLIENT:\n${curl} ${url}/api/CLIENT/${service}/\n`;
  });
  const tokens = `An OAuth 2.0 library takes the token URL ${url}/token, the client as client_id,
the key as client_secret, and the service as scope. In a shell:
${curl} -d grant_type=client_credentials -d scope=SERVICE ${url}/token\n`;
  const place = `Listening on ${url}; Ctrl-C ends it. The key is in ${file ?? 'TOKEN_BROKER_SERVE_KEY'}.\n`;
  return [place, ...apis, ...(token ? [tokens] : [])].join('');
}

const failWith = (type: string, detail: string, advice: string) => (error: unknown) => {
  if (!(error instanceof KeyFileRefused)) {
    throw new CommandFailure(type, `${detail} (${safeCause(error).message})`, advice);
  }
  throw new CommandFailure('key-file-refused', error.message, 'Give --key-file another name, or delete the file.');
};
const NO_PORT = failWith('port-unavailable', 'It cannot listen on the port', 'Give another --port.');
const NO_KEY_FILE = failWith('key-file-failed', 'The key cannot be written', 'Give --key-file in a folder of yours.');

const help = (run: string) => `
The key is in TOKEN_BROKER_SERVE_KEY. Without it, a file contains a new key until the end.
The file must not be on a disk that machines share: another machine would replace the key.
A program with the key gets what the access rules allow your role.

With --api a program needs no token: it calls this server in place of the API, with the key in place
of the token (Authorization: Bearer KEY). A token that the API refuses is replaced, and the call repeated.

Examples:
  $ ${run} serve
  $ ${run} serve --port 2776 --key-file "$XDG_RUNTIME_DIR/token-broker.key"
  $ ${run} serve --api customer-insights=https://insights.example.com/v1 --no-token --log

Exit code: 0 ended by SIGTERM or Ctrl-C, 1 failed, 2 wrong usage.`;
