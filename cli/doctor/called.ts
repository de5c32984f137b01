import { Lambda } from '@aws-sdk/client-lambda';
import { ask } from '../../client/commands/doctor/reach.ts';
import { ALIAS, functionName } from '../../lib/settings/names.ts';
import { awsFailure } from '../shared/ask-aws.ts';
import { awsConfig } from '../shared/aws-config.ts';
import { findingsTable, runHealth, summaryOf } from '../shared/health-run.ts';
import { asProfile, good, type Line, type Lines, unproven, type World, wrong } from './world.ts';

/** Lines that send calls to AWS and the broker. The calls change nothing. */
export function calledLines(world: World): Lines {
  return {
    'unsigned-call': () => callUnsigned(world),
    'health-run': () => runOnce(world),
    ...(world.options.guarded && { 'direct-invoke': () => tryDirectInvocation(world) }),
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
  try {
    await lambda.invoke({ ...input, Payload: '{}' }, send);
  } catch (error) {
    const failure = awsFailure(error, `lambda:InvokeFunction as ${profile}`, place.region);
    if (failure.type !== 'aws-access-denied') throw failure;
    return failure.detail.includes('service control policy')
      ? good(`A service control policy denies it to the profile ${profile}`)
      : unproven(`Its own policies deny it to the profile ${profile}: choose a profile whose policies allow it`);
  }
  const may = `The profile ${profile} may invoke the function past its URL, and claim to be any caller`;
  return wrong(may, 'Attach the guard: docs/deploy.md, "Guard the function".');
}
