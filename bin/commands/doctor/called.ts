import { SecretsManager, SecretsManagerServiceException } from '@aws-sdk/client-secrets-manager';
import { askAws } from '../../../client/commands/identity.ts';
import { ask } from '../../../client/commands/reach.ts';
import { createTokenBroker, TokenBrokerError } from '../../../client/index.ts';
import { sealingKeyName, secretName } from '../../../functions/contract.ts';
import { rulesDigest } from '../../../functions/environment.ts';
import { ALIAS, functionName } from '../../../lib/settings/names.ts';
import { awsFailure } from '../shared/ask-aws.ts';
import { awsConfig } from '../shared/environment.ts';
import { findingsTable, runHealth, summaryOf } from '../shared/health-run.ts';
import { openSecrets } from '../shared/secrets.ts';
import { asProfile, good, type Lines, type Seen, unproven, type World, wrong } from './world.ts';

/** What AWS and the broker answer to calls that change nothing. */
export const CALLED: Lines = {
  async 'unsigned-call'({ shell, options, outputUrl }) {
    const url = options.url ?? outputUrl;
    const answer = await ask(new URL('/whoami', url), 'POST', shell.signal);
    if ('code' in answer) return unproven(`No answer from ${url} (${answer.code})`);
    if (answer.status === 403) return good('It is refused with 403');
    return wrong(
      `It is answered with ${answer.status}`,
      'Take it for a breach: the Function URL must have the authorization AWS_IAM. Stop the broker, then deploy.',
    );
  },

  /** Whether the broker knows the role, and goes by the rules of this checkout. */
  async 'signed-call'({ shell, options, outputUrl, environment }) {
    const { url = outputUrl, region = environment.region } = options;
    const { credentials, signal } = shell;
    const broker = createTokenBroker({ url, region, credentials, cache: false, maxAttempts: 1 });
    try {
      const { role, rules, rulesDigest: inForce } = await broker.whoami({ signal });
      const takes = `The broker takes the signature of ${role}`;
      const wanted = rulesDigest(environment);
      if (rules.length === 0) {
        return unproven(`${takes}, which no access rule names: which rules are in force is not told to it`);
      }
      if (inForce === wanted) return good(`${takes}, and goes by the rules ${wanted}`);
      return wrong(
        `The rules in force are ${inForce}, and those of this checkout ${wanted}`,
        'Deploy, or check out what is deployed; a canary gives a new version a part of the calls first.',
      );
    } catch (error) {
      if (!(error instanceof TokenBrokerError) || error.type === 'aborted') throw error;
      return wrong(error.message, error.advice ?? 'doctor, without --stack, follows the call.');
    }
  },

  /** The schedule's own path, with a role without a rule that must be refused. */
  async 'health-run'({ shell, as, environment }) {
    const { pairs, faults } = await as('deploy', 'lambda:InvokeFunction', (who) => runHealth(who, environment, RUN_MS));
    const table = findingsTable(pairs, { ...shell, env: { ...shell.env, NO_COLOR: '1' } });
    if (pairs.length > 0) shell.stderr.write(table);
    return faults.length === 0
      ? good(`${summaryOf(pairs)}; a role without an access rule was refused`)
      : wrong(faults.join('; '), 'The version in use is not as it must be: mend it, or go back (release back).');
  },

  /** Lambda decides upon a dry run as upon an invocation, and runs nothing. */
  async 'direct-invoke'({ shell, environment: { region, name }, options: { guarded, profileDirect } }) {
    if (!guarded) return undefined;
    if (profileDirect === undefined) {
      return unproven('--profile-direct must name a profile whose own policies allow it');
    }
    const credentials = await asProfile(shell, profileDirect)
      .credentials()
      .catch(() => undefined);
    if (credentials === undefined) return unproven(`The profile ${profileDirect} gives no AWS credentials`);
    const { status, text, word } = await askAws(shell, {
      service: 'lambda',
      region,
      credentials,
      path: `/2015-03-31/functions/${functionName(name)}/invocations`,
      query: { Qualifier: ALIAS },
      headers: { 'x-amz-invocation-type': 'DryRun' },
      body: '{}',
    });
    if (status === 204) {
      return wrong(
        `The profile ${profileDirect} may invoke the function past its URL, and claim to be any caller`,
        'Attach the guard: docs/operations.md, "Guard the function".',
      );
    }
    if (status !== 403) return unproven(`Lambda does not say (${word})`);
    return /explicit deny in a service control policy/.test(text)
      ? good(`A service control policy denies it to the profile ${profileDirect}`)
      : unproven(`It is denied to the profile ${profileDirect}, by its own policies: take one whose policies allow it`);
  },

  'words-denied': (world) =>
    // No client has this name, and no version has this stage: even an allowed call gets no value back.
    examineDenial(
      world,
      secretName(world.environment.name, 'no-such-client'),
      'not authorized to perform: secretsmanager:GetSecretValue',
    ),

  'words-disabled': (world) =>
    // Its policy denies the sealing key as `client disable` denies a client's secret.
    examineDenial(world, sealingKeyName(world.environment.name), 'explicit deny in a resource-based policy'),

  async 'words-deleted'(world) {
    const { name: environment } = world.environment;
    const secrets = await openSecrets(world.shell, { environment }).list();
    const deleted = secrets.find(({ deletedAt }) => deletedAt !== undefined);
    if (deleted === undefined) return unproven('No client is marked for deletion');
    const SecretId = secretName(environment, deleted.client);
    const { name } = await refusalOf(world, (client, send) => client.getResourcePolicy({ SecretId }, send));
    return name === 'InvalidRequestException'
      ? good(`${name}, for ${deleted.client}`)
      : wrong(`AWS says ${name} for ${deleted.client}`, NEW_WORDS);
  },
};

/** A run of a few clients takes seconds; that of thousands is for the schedule to show. */
const RUN_MS = 100_000;

const NEW_WORDS = 'Tell the developers of the broker: AWS has changed its words.';

/** Whether AWS denies a secret in the words by which the broker, or a person who reads its log, goes. */
async function examineDenial(world: World, SecretId: string, words: string): Promise<Seen> {
  const input = { SecretId, VersionStage: 'doctor' };
  const { name, message } = await refusalOf(world, (client, send) => client.getSecretValue(input, send));
  if (name === 'ResourceNotFoundException') {
    return unproven('Your identity may read secrets, so that AWS denies it nothing');
  }
  return name === 'AccessDeniedException' && message.includes(words)
    ? good(`${name}, "${words}"`)
    : wrong(`AWS says ${name}, without "${words}"`, NEW_WORDS);
}

/** AWS's name and words for a refusal; the words are compared, and shown nowhere. @throws CommandFailure */
async function refusalOf(
  { shell, environment: { name: environment, region } }: World,
  call: (client: SecretsManager, send: { readonly abortSignal: AbortSignal }) => Promise<unknown>,
) {
  try {
    const client = new SecretsManager(awsConfig(shell, { environment }, 'SECRETS_MANAGER'));
    await call(client, { abortSignal: shell.signal });
    return { name: 'nothing against it', message: '' };
  } catch (error) {
    if (error instanceof SecretsManagerServiceException) return error;
    throw awsFailure(error, 'secretsmanager', region);
  }
}
