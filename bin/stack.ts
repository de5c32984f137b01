import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { awsFailure } from '../cli/shared/ask-aws.ts';
import { useSettings } from '../cli/shared/settings-option.ts';
import { CommandFailure } from '../client/commands/failure.ts';
import { endProcess, PROXIED, processShell } from '../client/commands/shell.ts';
import { parseJsonObject } from '../functions/broker/json.ts';
import { ACCESS_KEY } from '../lib/settings/access-rules.ts';
import { stackName } from '../lib/settings/names.ts';
import { type Environment, parseEnvironment } from '../lib/settings/settings.ts';
import { explainSettings, readSettings } from '../lib/settings/settings-file.ts';
import { bootstrapOptions } from './bootstrap.ts';
import { deploy, explained } from './deployment.ts';

/** The CDK's arguments, for one stack only: without `--exclusively` the CDK would bundle the others too. */
const COMMANDS: Readonly<Record<string, (environment: Environment) => readonly string[]>> = {
  bootstrap: ({ account, region }) => ['bootstrap', `aws://${account}/${region}`],
  diff: ({ name }) => ['diff', stackName(name), '--exclusively'],
  deploy: ({ name }) => ['deploy', stackName(name), '--exclusively', ...unasked()],
};

/** Without a terminal, the CDK would stop at its own question. It refuses the option twice. */
function unasked(): readonly string[] {
  const isDecided = rest.some((word) => word.startsWith('--require-approval'));
  return process.stdin.isTTY || isDecided ? [] : ['--require-approval', 'never'];
}

/** Arguments with which the CDK changes nothing. */
const CHANGES_NOTHING = /^(?:-h|--help|--version|--no-execute|--show-template|(?:--method=)?prepare-change-set)$/;

/** A changed line of `listAccess` in the template, as `cdk diff` prints it. */
const ACCESS_LINE = new RegExp(`^\\[([-+~])\\] Metadata ${ACCESS_KEY}(\\S+): (.*)$`);

/** A second service in the stack's metadata, as `cdk diff` prints it. */
const SECOND_SERVICE = /^\[~\] Metadata Services: "?([^\s"]+)"? to "?\S+ \S/;

const UNLISTED =
  'A secret that does not name its services is then sent to no service: client list shows which to store again with client put --services.';

// `npm run deploy -- dev` runs the CDK with the arguments for this environment, `npm run cdk` with yours.
const [verb = '', name = '', ...rest] = useSettings(process.argv.slice(2));
endProcess(await run().catch((error) => fail(1, explainSettings(error))));

async function run(): Promise<number> {
  // The CDK ignores an option that it does not know, and would go on with the settings of the checkout.
  // Its own `--set`, `--staging` and `--strict` are no typos.
  const typo = [name, ...rest].find((word) => /^--?se?tt?[in]/.test(word));
  if (typo !== undefined && /^--settings(=|$)/.test(typo)) return fail(2, '--settings must name one file');
  if (typo !== undefined) return fail(2, `unknown option '${typo}' (Did you mean --settings?)`);
  if (verb === 'cdk') return cdk(name === '' ? rest : [name, ...rest]);
  const { environments, folder } = readSettings();
  const command = COMMANDS[verb];
  if (command === undefined || !Object.hasOwn(environments, name)) {
    const verbs = Object.keys(COMMANDS).join('|');
    const unknown = command === undefined || name === '' ? '' : `there is no environment "${name}": `;
    return fail(2, `${unknown}npm run ${verbs} -- <environment>, one of ${Object.keys(environments).join(', ')}`);
  }
  const environment = parseEnvironment(name, environments[name], folder);
  const { account, region } = environment;
  const own = await signedInAccount(region);
  const changesNothing = rest.some((word) => CHANGES_NOTHING.test(word));
  if (own instanceof CommandFailure && verb !== 'diff' && !changesNothing) {
    return fail(1, `${own.detail}. ${own.advice} Nothing was done.`);
  }
  if (typeof own === 'string' && own !== account) {
    return fail(1, `You are signed in to the account ${own}, but ${name} belongs to ${account}: nothing was done.`);
  }
  const runCdk = (required: readonly string[] = []) => cdk([...command(environment), ...required, ...rest]);
  if (verb === 'deploy' && !changesNothing) return deploy(processShell(), environment, runCdk);
  if (verb !== 'bootstrap') return runCdk();
  const shell = processShell();
  return explained(shell, async () => runCdk(await bootstrapOptions(shell, environment, rest, changesNothing)));
}

/**
 * Returns the account, or why the credentials are unusable. Returns `undefined` without an answer from AWS: the CDK
 * then finds the account itself, or needs no account.
 */
async function signedInAccount(region: string): Promise<string | CommandFailure | undefined> {
  const { profile } = parseArgs({ args: rest, options: { profile: { type: 'string' } }, strict: false }).values;
  if (typeof profile === 'string') process.env.AWS_PROFILE = profile;
  try {
    const requestHandler = { ...PROXIED, connectionTimeout: 2_000, requestTimeout: 3_000, throwOnRequestTimeout: true };
    const sts = new STSClient({ region, maxAttempts: 2, requestHandler });
    return (await sts.send(new GetCallerIdentityCommand({}))).Account;
  } catch (error) {
    const failure = awsFailure(error, 'sts:GetCallerIdentity', region);
    return failure.type.startsWith('aws-credentials-') ? failure : undefined;
  }
}

async function cdk(args: readonly string[]): Promise<number> {
  process.stderr.write(`> cdk ${args.join(' ')}\n`);
  // A workspace of npm has its packages in a folder further up.
  const program = fileURLToPath(import.meta.resolve('aws-cdk/bin/cdk'));
  // Only the output of `diff` is rewritten: a deployment asks its questions at the terminal.
  const output = args[0] === 'diff' ? 'pipe' : 'inherit';
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['inherit', output, output],
    env: { ...process.env, ...(process.stdout.isTTY && !process.env.NO_COLOR && { FORCE_COLOR: '1' }) },
  });
  // A terminal sends Ctrl-C to both processes. A cancelled job sends SIGTERM to this process only.
  process.once('SIGTERM', () => child.kill());
  const ended = once(child, 'close');
  for (const name of ['stdout', 'stderr'] as const) {
    const from = child[name];
    if (from !== null) createInterface(from).on('line', (line) => process[name].write(`${readable(line)}\n`));
  }
  const [code] = await ended;
  return typeof code === 'number' ? code : 1;
}

/** Rewrites a line of the CDK about access as sentences, and adds a warning to a line about a second service. */
function readable(line: string): string {
  const text = stripVTControlCharacters(line);
  const only = SECOND_SERVICE.exec(text)?.[1];
  if (only !== undefined) return `${line}\n[!] ${only} is no longer the only service. ${UNLISTED}`;
  const [, sign, role, values = ''] = ACCESS_LINE.exec(text) ?? [];
  if (role === undefined) return line;
  const [first = '', second = ''] = values.split(/(?<=\}) to (?=\{)/);
  const [before, after] = sign === '+' ? [[], accessOf(first)] : [accessOf(first), accessOf(second)];
  return [
    ...after.filter((right) => !before.includes(right)).map((right) => `[+] ${role} gains ${right}`),
    ...before.filter((right) => !after.includes(right)).map((right) => `[-] ${role} loses ${right}`),
  ].join('\n');
}

/** Returns `token for acme on customer-insights`, one text for each client. */
function accessOf(json: string): readonly string[] {
  return Object.entries(parseJsonObject(json) ?? {}).flatMap(([what, clients]) => {
    const [operation, place] = what.split(' on ');
    const named = [clients].flat().map((client) => (client === 'all' ? 'all clients' : client));
    return named.map((client) => `${operation} for ${client} on ${place}`);
  });
}

function fail(exitCode: number, message: string): number {
  process.stderr.write(`error: ${message}\n`);
  return exitCode;
}
