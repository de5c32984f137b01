import { Lambda } from '@aws-sdk/client-lambda';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { ask } from '../../client/commands/doctor/reach.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { FOR_DELETION, sealingKeyName, secretName } from '../../functions/vocabulary.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { awsConfig } from '../shared/aws-config.ts';
import { findingsTable, runHealth, summaryOf } from '../shared/health-run.ts';
import { openSecrets } from '../shared/secrets.ts';
import { asProfile, good, type Line, type Lines, NO_REFUSAL, refusalOf, unproven, type World, wrong } from './world.ts';

/** Lines that send calls to AWS and the broker. The calls change nothing. */
export function calledLines(world: World): Lines {
  return {
    'unsigned-call': () => callUnsigned(world),
    'health-run': () => runOnce(world),
    ...(world.options.guarded && { 'direct-invoke': () => tryDirectInvocation(world) }),
    'words-denied': () => examineDenied(world),
    'words-disabled': () => examineDisabled(world),
    'words-deleted': () => examineDeleted(world),
  };
}

async function callUnsigned({ shell, options, outputUrl }: World): Promise<Line> {
  const url = new URL('/whoami', URL.parse(options.url ?? '') ?? outputUrl);
  const answer = await ask(url, 'POST', shell.signal);
  if ('code' in answer) return unproven(`No answer from ${url.origin} (${answer.code})`);
  if (answer.status === 403) return good('It is refused with 403');
  return wrong(
    `It is answered with ${answer.status}`,
    'Treat it as a breach: the Function URL must have the authorization AWS_IAM. Stop the broker, then deploy.',
  );
}

/** Runs health as the schedule does. The run includes a role without a rule, which must be refused. */
async function runOnce({ shell, as, environment }: World): Promise<Line> {
  const { pairs, faults } = await as('deploy', (who) => runHealth(who, environment, RUN_MS));
  if (pairs.length > 0) shell.stderr.write(findingsTable(pairs));
  return faults.length === 0
    ? good(`${summaryOf(pairs)}; a role without an access rule was refused`)
    : wrong(faults.join('; '), 'The version in use is faulty: fix it, or go back (release back).');
}

/** Long enough for a few clients, whose run takes seconds. Thousands of clients are left to the schedule. */
const RUN_MS = 80_000;

/** Checks that the guard denies a direct invocation. Lambda authorizes a dry run like a call, but runs nothing. */
async function tryDirectInvocation(world: World): Promise<Line> {
  const { shell, environment, options, place, send } = world;
  const profile = options.profileDirect;
  if (profile === undefined) return unproven('--profile-direct must name a profile whose own policies allow it');
  const lambda = new Lambda(awsConfig(asProfile(shell, profile), place, 'LAMBDA'));
  const input = { FunctionName: functionName(environment.name), Qualifier: ALIAS, InvocationType: 'DryRun' } as const;
  const answer = lambda.invoke({ ...input, Payload: '{}' }, send);
  const { name, message } = await refusalOf(answer, `lambda:InvokeFunction as ${profile}`, world);
  if (name === 'AccessDeniedException') {
    return /explicit deny in a service control policy/.test(message)
      ? good(`A service control policy denies it to the profile ${profile}`)
      : unproven(`Its own policies deny it to the profile ${profile}: choose a profile whose policies allow it`);
  }
  if (name !== NO_REFUSAL) return unproven(`Lambda's answer does not show it (${name})`);
  const may = `The profile ${profile} may invoke the function past its URL, and claim to be any caller`;
  return wrong(may, 'Attach the guard: docs/deploy.md, "Guard the function".');
}

const NEW_WORDS = 'Report it to the developers of the broker: AWS has changed its words.';

/** Checks that AWS denies a secret in the words that a reader of the broker's log relies on. */
async function examineDenied(world: World): Promise<Line> {
  const words = 'not authorized to perform: secretsmanager:GetSecretValue';
  // No client has this name, and no version has this stage, so even an allowed call returns no value.
  const secret = secretName(world.environment.name, 'no-such-client');
  const { name, message } = await refusalToRead(world, world.shell, secret);
  if (name === 'ResourceNotFoundException') {
    return unproven('Your identity may read secrets, so AWS does not deny the call');
  }
  return name === 'AccessDeniedException' && message.includes(words)
    ? good(`${name}, "${words}"`)
    : wrong(`AWS says ${name}, without "${words}"`, NEW_WORDS);
}

/**
 * Checks the words for a secret that its own policy denies. The policy of the sealing key denies it as `client disable`
 * denies a client's secret. AWS may name the operator's own Deny first, so only the emergency role shows the words.
 */
async function examineDisabled(world: World): Promise<Line> {
  const words = 'explicit deny in a resource-based policy';
  const secret = sealingKeyName(world.environment.name);
  const { name, message } = await world.as('emergency', (who) => refusalToRead(world, who, secret));
  if (name === 'AccessDeniedException' && message.includes(words)) return good(`${name}, "${words}"`);
  return unproven(`AWS says ${name}, without "${words}": this line is for the role of --profile-emergency`);
}

function refusalToRead(world: World, who: Shell, SecretId: string) {
  const answer = secretsOf(world, who).getSecretValue({ SecretId, VersionStage: 'doctor' }, world.send);
  return refusalOf(answer, 'secretsmanager:GetSecretValue', world);
}

/** Checks that AWS names a deletion in the words by which the broker distinguishes it from other states of a secret. */
async function examineDeleted(world: World): Promise<Line> {
  const { name: environment } = world.environment;
  const secrets = await openSecrets(world.shell, { environment }).list();
  const deleted = secrets.find(({ deletedAt }) => deletedAt !== undefined);
  if (deleted === undefined) return unproven('No client is marked for deletion');
  const SecretId = secretName(environment, deleted.client);
  const answer = secretsOf(world, world.shell).getResourcePolicy({ SecretId }, world.send);
  const { name, message } = await refusalOf(answer, 'secretsmanager:GetResourcePolicy', world);
  return name === 'InvalidRequestException' && FOR_DELETION.test(message)
    ? good(`${name}, in known words, for ${deleted.client}`)
    : wrong(`AWS says ${name} for ${deleted.client}, in unknown words`, NEW_WORDS);
}

/** An SDK client that keeps AWS's own error messages, which the commands' clients replace. */
const secretsOf = ({ place }: World, who: Shell) => new SecretsManager(awsConfig(who, place, 'SECRETS_MANAGER'));
