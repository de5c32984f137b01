import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../../client/commands/options.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { secretName } from '../../../functions/contract.ts';
import { askForChecks } from '../shared/checks.ts';
import { type ClientSecret, provablePairs, versionWith } from '../shared/client-secret.ts';
import { type ClientOptions, checkService, configuredServices, isLocal, operate } from '../shared/environment.ts';
import { type NewVersion, openSecrets, type Secrets, secretDeleted, unknownClient } from '../shared/secrets.ts';
import { isTerminal, isYes } from './confirm.ts';
import { prepareCredential, readCredential } from './credential.ts';
import { conclude } from './versions.ts';

/** `client put`: stores a credential beside the one in use, proves it, and only then lets it take over. */
export function addPutCommand(parent: Command, shell: Shell): void {
  const key = new Option('--kms-key-id <key>', 'what encrypts a new secret').env('TOKEN_BROKER_KMS_KEY_ID');
  addConnectionOptions(parent.command('put'))
    .description('Store a new credential, check it on each service of the client, and promote it if all accept it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--create', 'make the client if there is none of this name')
    .option('--services <names>', 'the services that the client has, with commas between, or all', parseServices)
    .option('--force', 'promote it even if a service does not accept it')
    .addOption(key)
    .option('--json', 'answer in JSON')
    .addHelpText('after', HELP)
    .action(operate<PutOptions>(shell, ['SECRETS_MANAGER'], (options, command) => put(shell, options, command)));
}

interface PutOptions extends ClientOptions, ConnectionOptions {
  readonly services?: readonly string[] | 'all';
  readonly create?: boolean;
  readonly force?: boolean;
  readonly kmsKeyId?: string;
}

function parseServices(text: string): readonly string[] | 'all' {
  return text === 'all' ? text : [...new Set(text.split(',').map(parseName))];
}

async function put(shell: Shell, options: PutOptions, command: Command): Promise<void> {
  const { environment, client } = options;
  const broker = connect(shell, options, command);
  const secrets = openSecrets(shell, options);
  const before = await secrets.find(client);
  if (before === undefined) await refuseNewClient(shell, secrets, options, command);
  if (before?.deletedAt !== undefined) throw secretDeleted();
  const said = servicesSaid(shell, before, options, command);
  const configured = configuredServices(shell, environment);
  const prepared = prepareCredential(await readCredential(shell), said, { environment, configured });
  const services = prepared.services === 'all' ? configured : prepared.services;

  const version = randomUUID();
  talk(shell, `Storing version ${version} of ${secretName(environment, client)}.`);
  try {
    const stored = await store(secrets, { ...prepared, versionId: version }, before, options);
    talk(shell, `Checking it on ${services.join(', ')}.`);
    const pairs = services.map((service) => ({ client, service }));
    const checks = await askForChecks(shell, broker, pairs, stored);
    const current = versionWith('AWSCURRENT', before);
    await conclude(shell, secrets, options, { version, stage: stored, checks, current });
  } catch (error) {
    talk(shell, 'client list shows whether the version is stored, and its stage. A pending one affects no caller:');
    talk(shell, `client promote ${client} checks and promotes it, another client put ${client} replaces it.`);
    throw error;
  }
}

/** A typing error must not create a client and leave the intended one without its rotation. */
async function refuseNewClient(
  shell: Shell,
  secrets: Secrets,
  { environment, client, create, kmsKeyId }: PutOptions,
  command: Command,
): Promise<void> {
  if (!create) {
    const unknown = await unknownClient(secrets, client, 'Nothing was stored. --create makes a new client.');
    if (!isTerminal(shell)) throw unknown;
    talk(shell, `${unknown.detail}. ${unknown.advice}`);
    if (!(await isYes(shell, `Make the new client "${client}"?`))) throw unknown;
  }
  if (kmsKeyId || isLocal(environment)) return;
  command.error(
    'error: a new secret needs the key of the environment: give --kms-key-id or set TOKEN_BROKER_KMS_KEY_ID to the output KeyArn of its stack',
  );
}

/** The services of `--services`, else of the secret's tag, if any. Wrong usage for one that the environment lacks. */
function servicesSaid(
  shell: Shell,
  before: ClientSecret | undefined,
  { environment, services }: PutOptions,
  command: Command,
): readonly string[] | 'all' | undefined {
  if (services === undefined && before?.servicesTag !== undefined) {
    return provablePairs(shell, before, environment).map(({ service }) => service);
  }
  for (const service of services === 'all' ? [] : (services ?? [])) checkService(shell, service, environment, command);
  return services;
}

/** Stores the version beside the others. AWS makes the first version of a secret current at once. */
async function store(
  secrets: Secrets,
  version: NewVersion,
  before: ClientSecret | undefined,
  { client, kmsKeyId }: PutOptions,
): Promise<'AWSCURRENT' | 'AWSPENDING'> {
  if (before === undefined) {
    await secrets.create(client, version, kmsKeyId);
    return 'AWSCURRENT';
  }
  const { services } = version;
  const tag = services === 'all' ? undefined : services.join(' ');
  if (tag !== before.servicesTag) await secrets.setServices(client, services);
  const stages = await secrets.putPending(client, version);
  return stages.includes('AWSCURRENT') ? 'AWSCURRENT' : 'AWSPENDING';
}

const HELP = `
At a terminal it asks for the client_id and the secret, which is not shown; else it reads them from standard input:
  {"client_id": "…", "secret": "…"}    also client_secret or password for secret, username for client_id`;
