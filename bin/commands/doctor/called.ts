import { askAws } from '../../../client/commands/identity.ts';
import { ask } from '../../../client/commands/reach.ts';
import { createTokenBroker, TokenBrokerError } from '../../../client/index.ts';
import { parseJsonObject } from '../../../functions/broker/json.ts';
import { sealingKeyName, secretName } from '../../../functions/contract.ts';
import { rulesDigest } from '../../../functions/environment.ts';
import { ALIAS, functionName } from '../../../lib/settings/names.ts';
import { findingsTable, runHealth, summaryOf } from '../shared/health-run.ts';
import { openSecrets } from '../shared/secrets.ts';
import { asProfile } from './ask.ts';
import { good, type Line, type Seen, unproven, type World, wrong } from './world.ts';

/** What AWS and the broker answer to calls that change nothing. */
export const CALLED: readonly Line[] = [
  {
    line: 'unsigned-call',
    async look({ shell, url }) {
      const answer = await ask(new URL('/whoami', url), 'POST', shell.signal);
      if ('code' in answer) return unproven(`No answer from ${url} (${answer.code})`);
      return answer.status === 403
        ? good('It is refused with 403')
        : wrong(
            `It is answered with ${answer.status}`,
            'Take it for a breach: the Function URL must have the authorization AWS_IAM. Stop the broker, then deploy.',
          );
    },
  },
  { line: 'signed-call', look: examineSignedCall },
  { line: 'health-run', look: examineHealthRun },
  { line: 'direct-invoke', isFor: (_, isGuarded) => isGuarded, look: examineDirectInvoke },
  {
    line: 'words-denied',
    // No client has this name, and no version has this stage: even an allowed call gets no value back.
    look: (world) =>
      examineWords(
        world,
        secretName(world.environment.name, 'no-such-client'),
        /not authorized to perform: secretsmanager:GetSecretValue/,
      ),
  },
  {
    line: 'words-disabled',
    // Its policy denies the sealing key as `client disable` denies a client's secret.
    look: (world) =>
      examineWords(world, sealingKeyName(world.environment.name), /explicit deny in a resource-based policy/),
  },
  { line: 'words-deleted', look: examineDeleted },
];

/** Whether the broker knows the role, and goes by the rules of this checkout. */
async function examineSignedCall({ shell, url, region, environment }: World): Promise<Seen> {
  const { credentials, signal } = shell;
  const broker = createTokenBroker({ url, region, credentials, cache: false, maxAttempts: 1 });
  try {
    const { role, rules, rulesDigest: inForce } = await broker.whoami({ signal });
    const wanted = rulesDigest(environment);
    if (rules.length === 0)
      return unproven(
        `The broker takes the signature of ${role}, which no access rule names: which rules are in force is not told to it`,
      );
    return inForce === wanted
      ? good(`The broker takes the signature of ${role}, and goes by the rules ${wanted}`)
      : wrong(
          `The rules in force are ${inForce}, and those of this checkout ${wanted}`,
          'Deploy, or check out what is deployed; a canary gives a new version a part of the calls first.',
        );
  } catch (error) {
    if (!(error instanceof TokenBrokerError) || error.type === 'aborted') throw error;
    return wrong(error.message, error.advice ?? 'doctor, without --stack, follows the call.');
  }
}

/** The schedule's own path, with a role without a rule that must be refused. */
async function examineHealthRun({ shell, asker, environment }: World): Promise<Seen> {
  const { pairs, faults } = await asker.as('deploy', 'lambda:InvokeFunction', (who) =>
    runHealth(who, environment, RUN_MS),
  );
  const table = findingsTable(pairs, { ...shell, env: { ...shell.env, NO_COLOR: '1' } });
  if (pairs.length > 0) shell.stderr.write(table);
  const seen = `${summaryOf(pairs)}; a role without an access rule`;
  return faults.length === 0
    ? good(`${seen} was refused`)
    : wrong(faults.join('; '), 'The version in use is not as it must be: mend it, or go back (release back).');
}

/** A run of a few clients takes seconds; that of thousands is for the schedule to show. */
const RUN_MS = 100_000;

/** Lambda decides upon a dry run as upon an invocation, and runs nothing. */
async function examineDirectInvoke({ shell, environment, direct }: World): Promise<Seen> {
  if (direct === undefined) return unproven('--profile-direct must name a profile whose own policies allow it');
  const { region, name } = environment;
  const asked = {
    path: `/2015-03-31/functions/${functionName(name)}/invocations`,
    query: { Qualifier: ALIAS },
    headers: { 'x-amz-invocation-type': 'DryRun' },
    body: '{}',
  };
  const credentials = await asProfile(shell, direct)
    .credentials()
    .catch(() => undefined);
  if (credentials === undefined) return unproven(`The profile ${direct} gives no AWS credentials`);
  const { status, text, word } = await askAws(shell, { service: 'lambda', region, credentials, ...asked });
  if (status === 204)
    return wrong(
      `The profile ${direct} may invoke the function past its URL, and claim to be any caller`,
      'Attach the guard: docs/operations.md, "Guard the function".',
    );
  if (status !== 403) return unproven(`Lambda does not say (${word})`);
  return /explicit deny in a service control policy/.test(text)
    ? good(`A service control policy denies it to the profile ${direct}`)
    : unproven(`It is denied to the profile ${direct}, by its own policies: take one whose policies allow it`);
}

/** Whether AWS refuses a secret by the words that the broker, or a person who reads its log, goes by. */
async function examineWords({ shell, environment }: World, SecretId: string, words: RegExp): Promise<Seen> {
  const { name, message } = await refusalOf({ shell, environment }, 'GetSecretValue', {
    SecretId,
    VersionStage: 'doctor',
  });
  if (name === 'ResourceNotFoundException')
    return unproven('Your identity may read secrets, so that AWS denies it nothing');
  return name === 'AccessDeniedException' && words.test(message)
    ? good(`AccessDeniedException, "${words.source}"`)
    : wrong(
        `AWS says ${name}, without "${words.source}"`,
        'Tell the developers of the broker: AWS has changed its words.',
      );
}

async function examineDeleted({ shell, environment }: World): Promise<Seen> {
  const secrets = await openSecrets(shell, { environment: environment.name }).list();
  const deleted = secrets.find(({ deletedAt }) => deletedAt !== undefined);
  if (deleted === undefined) return unproven('No client is marked for deletion');
  const SecretId = secretName(environment.name, deleted.client);
  const { name } = await refusalOf({ shell, environment }, 'GetResourcePolicy', { SecretId });
  return name === 'InvalidRequestException'
    ? good(`${name}, for ${deleted.client}`)
    : wrong(`AWS says ${name} for ${deleted.client}`, 'Tell the developers of the broker: AWS has changed its words.');
}

/** AWS's name and words for a refusal; the words are compared, and shown nowhere. */
async function refusalOf(
  { shell, environment }: Pick<World, 'shell' | 'environment'>,
  operation: string,
  input: object,
) {
  const { text, word } = await askAws(shell, {
    service: 'secretsmanager',
    region: environment.region,
    credentials: await shell.credentials(),
    body: JSON.stringify(input),
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `secretsmanager.${operation}` },
  });
  const { __type, message, Message } = parseJsonObject(text) ?? {};
  return { name: typeof __type === 'string' ? __type.replace(/^.*#/, '') : word, message: `${message ?? Message}` };
}
