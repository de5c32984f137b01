import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { explainFailure } from '../../../client/commands/failure.ts';
import { addConnectionOptions, type ConnectionOptions, connect, parseName } from '../../../client/commands/options.ts';
import { talk } from '../../../client/commands/output.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { TokenBroker } from '../../../client/index.ts';
import { secretName } from '../../../functions/contract.ts';
import { checkPairs, isAccepted } from '../shared/checks.ts';
import { type ClientSecret, provablePairs, versionWith } from '../shared/client-secret.ts';
import { checkEndpoint, checkService, configuredServices, isLocal } from '../shared/environment.ts';
import { type ClientOptions, parseServices } from '../shared/options.ts';
import { type NewVersion, openSecrets, type Secrets, secretDeleted, unknownClient } from '../shared/secrets.ts';
import { isTerminal, isYes } from './confirm.ts';
import { type Prepared, prepareCredential, readCredential } from './credential-prompt.ts';
import { makeCurrent, printOutcome, TAKES_EFFECT } from './promote.ts';

/** `client put`: stores a credential beside the one in use, proves it, and only then lets it take over. */
export function addPutCommand(parent: Command, shell: Shell): void {
  addConnectionOptions(parent.command('put'))
    .description('Store a new credential, check it on each service of the client, and promote it if all accept it.')
    .argument('<client>', 'whose credential', parseName)
    .option('--create', 'make the client if there is none of this name')
    .option('--services <names>', 'the services that the client has, with commas between, or all', parseServices)
    .option('--force', 'promote it even if a service does not accept it')
    .addOption(new Option('--kms-key-id <key>', 'what encrypts a new secret').env('TOKEN_BROKER_KMS_KEY_ID'))
    .option('--json', 'answer in JSON')
    .addHelpText('after', HELP)
    .action(async (client: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<PutOptions>();
      const { environment } = options;
      checkEndpoint(shell, options, 'AWS_ENDPOINT_URL_SECRETS_MANAGER', command);
      const broker = connect(shell, options, command);
      await explainFailure(shell, { ...options, client }, async () => {
        const secrets = openSecrets(shell, options);
        const before = await secrets.find(client);
        if (before === undefined && !options.create) await confirmNewClient(shell, client, secrets);
        refuseUnstorable(before, options, command);
        const said = servicesSaid(shell, before, options, command);
        const configured = configuredServices(shell, environment);
        const prepared = prepareCredential(await readCredential(shell), said, { environment, configured });
        const services = prepared.services === 'all' ? configured : prepared.services;

        const version = { versionId: randomUUID(), ...prepared };
        talk(shell, `Storing version ${version.versionId} of ${secretName(environment, client)}.`);
        try {
          const stage = await store(secrets, client, version, before, options);
          await prove(shell, { broker, secrets, client, version: version.versionId, services, stage, before }, options);
        } catch (error) {
          talk(
            shell,
            'client list shows whether the version is stored, and its stage. A pending one affects no caller:',
          );
          talk(shell, `client promote ${client} checks and promotes it, another client put ${client} replaces it.`);
          throw error;
        }
      });
    });
}

interface PutOptions extends ClientOptions, ConnectionOptions {
  readonly services?: readonly string[] | 'all';
  readonly create?: boolean;
  readonly force?: boolean;
  readonly kmsKeyId?: string;
}

/** A typing error must not become a client, and the rotation of the one that was meant never happen. */
async function confirmNewClient(shell: Shell, client: string, secrets: Secrets): Promise<void> {
  const unknown = await unknownClient(secrets, client, 'Nothing was stored. --create makes a new client.');
  if (!isTerminal(shell)) throw unknown;
  talk(shell, `${unknown.detail}. ${unknown.advice}`);
  if (!(await isYes(shell, `Make the new client "${client}"?`))) throw unknown;
}

function refuseUnstorable(before: ClientSecret | undefined, options: PutOptions, command: Command): void {
  if (before?.deletedAt !== undefined) throw secretDeleted();
  if (before === undefined && !options.kmsKeyId && !isLocal(options.environment)) {
    command.error(
      'error: a new secret needs the key of the environment: give --kms-key-id or set TOKEN_BROKER_KMS_KEY_ID to the output KeyArn of its stack',
    );
  }
}

/**
 * The services that a client is put with, as `--services` says, else the tag of its secret; `undefined` when neither says
 * anything. Wrong usage when the environment does not have one of them.
 */
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

/** Stores the version beside what is there. The first version of a secret is current at once: AWS knows no other way. */
async function store(
  secrets: Secrets,
  client: string,
  { services, ...version }: NewVersion & Prepared,
  before: ClientSecret | undefined,
  { kmsKeyId }: PutOptions,
): Promise<'AWSCURRENT' | 'AWSPENDING'> {
  if (before === undefined) {
    await secrets.create(client, version, { services, kmsKeyId });
    return 'AWSCURRENT';
  }
  const tag = services === 'all' ? undefined : services.join(' ');
  if (tag !== before.servicesTag) await secrets.setServices(client, services);
  const stages = await secrets.putPending(client, version);
  return stages.includes('AWSCURRENT') ? 'AWSCURRENT' : 'AWSPENDING';
}

interface Stored {
  readonly broker: TokenBroker;
  readonly secrets: Secrets;
  readonly client: string;
  readonly version: string;
  readonly services: readonly string[];
  readonly stage: 'AWSCURRENT' | 'AWSPENDING';
  readonly before: ClientSecret | undefined;
}

async function prove(shell: Shell, stored: Stored, options: PutOptions): Promise<void> {
  const { broker, secrets, client, version, services, stage, before } = stored;
  const { environment, force = false, json } = options;
  talk(shell, `Checking it on ${services.join(', ')}.`);
  const pairs = services.map((service) => ({ client, service }));
  const checks = await checkPairs(broker, pairs, { stage, signal: shell.signal });
  const areAccepted = checks.every((check) => isAccepted(check, version));
  const isPromoted = stage === 'AWSPENDING' && (areAccepted || force);
  if (isPromoted) {
    await makeCurrent(shell, secrets, { client, version, current: versionWith('AWSCURRENT', before) });
  }
  const outcome = { environment, client, version, stage: isPromoted ? 'AWSCURRENT' : stage, checks } as const;
  printOutcome(shell, outcome, {
    json,
    next: NEXT[isPromoted ? 'promoted' : stage][areAccepted ? 'accepted' : 'refused'],
  });
  if (!areAccepted && !isPromoted) shell.exitCode = 1;
}

const FIRST = 'It is the first version, so AWS made it the current one at once';

/** What to do next, by what has become of the version and what the services said. */
const NEXT = {
  promoted: { accepted: TAKES_EFFECT, refused: `Promoted by --force. ${TAKES_EFFECT} client rollback undoes it.` },
  AWSPENDING: {
    accepted: '',
    refused: 'It stays pending, and callers are not affected. Store the right credential with client put.',
  },
  AWSCURRENT: {
    accepted: `${FIRST}. Callers get tokens as soon as an access rule lets them.`,
    refused: `${FIRST}; no caller had a token of the client before. Store the right credential with client put.`,
  },
} as const;

const HELP = `
At a terminal it asks for the client_id and the secret, which is not shown; else it reads them from standard input:
  {"client_id": "…", "secret": "…"}    also client_secret or password for secret, username for client_id`;
