import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command, CommanderError } from 'commander';
import { causeWord } from '../functions/aws/calls.ts';
import { leakingVariables } from '../functions/variables.ts';
import { greeting, requestLine } from './banner.ts';
import { startLocalBroker } from './broker.ts';
import { readPort } from './config.ts';
import { leaveShellFile } from './shell.ts';

/** Runs the whole broker on this machine until Ctrl-C. */
async function main(): Promise<void> {
  const { config: file } = parseArguments();
  const port = readPort(process.env.PORT);
  const leaking = leakingVariables(process.env);
  if (leaking.length > 0) process.stderr.write(leakWarning(leaking));
  const onFailure = (what: string, error: unknown) => process.stderr.write(`${what}: ${String(error)}\n`);
  const broker = await startLocalBroker({
    port,
    config: file === undefined ? undefined : readConfig(file),
    folder: file && dirname(file),
    write: (line) => process.stdout.write(requestLine(line)),
    onMessage: ({ subject, text }) => process.stdout.write(notification(subject, text)),
    onFailure,
  });
  const takeShellFile = leaveShellFile(broker, onFailure);
  const end = () => {
    takeShellFile();
    void broker.close().then(() => process.exit(0));
  };
  process.once('SIGINT', end).once('SIGTERM', end);
  process.stdout.write(greeting(broker));
}

/** The local broker starts despite these variables, because editors set them for a debugger. */
function leakWarning(names: readonly string[]): string {
  return `${names.join(', ')} is set: Node may write credentials and tokens here; a deployed function would not start.\n`;
}

/** Formats a message to the operators so that it stands out from the request lines. */
function notification(subject: string, text: string): string {
  const lines = [subject, ...text.trimEnd().split('\n')];
  return `--- to the operators\n${lines.map((line) => `  ${line}\n`).join('')}---\n`;
}

function parseArguments(): { readonly config?: string } {
  return new Command('npm start --')
    .description('Runs the token broker on this machine, with stand-ins for AWS and the services.')
    .option('--config <file>', 'JSON with services, accessRules, callers and credentials of your own')
    .addHelpText(
      'after',
      `
Environment:
  PORT  where the broker listens (default: 8788); its page is on the port PORT+1 and its stand-ins are on the ports PORT+2
        and PORT+3, or on free ones; 0 takes free ports for everything

docs/development.md shows a configuration.`,
    )
    .exitOverride()
    .parse()
    .opts();
}

function readConfig(file: string): unknown {
  try {
    // PowerShell and Notepad begin a file with a byte order mark, which the decoder drops.
    return JSON.parse(new TextDecoder().decode(readFileSync(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new Error(`cannot read ${file}: ${causeWord(error)}`);
    // The rest of the parser's message quotes the text, which contains credentials.
    const place = /\(line \d+ column \d+\)/.exec(String(error))?.[0] ?? '';
    throw new Error(`${file} is not valid JSON ${place}`.trimEnd());
  }
}

main().catch((error: unknown) => {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
