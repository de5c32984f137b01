import { IAM, paginateListRoles } from '@aws-sdk/client-iam';
import { Lambda } from '@aws-sdk/client-lambda';
import { ALIAS, functionName } from '../../../lib/settings/names.ts';
import { isDenied, isRefused, openClient } from '../shared/ask-aws.ts';
import { mapConcurrently } from '../shared/checks.ts';
import { awsConfig } from '../shared/environment.ts';
import { arn } from '../shared/statements.ts';
import { asProfile, good, NO_REFUSAL, refusalOf, type Seen, unproven, type World, wrong } from './world.ts';

/** Whether the guard denies a direct invocation: Lambda decides upon a dry run as upon an invocation, and runs nothing. */
export async function tryDirectInvocation(world: World): Promise<Seen> {
  const { shell, environment, options, place, send } = world;
  const profile = options.profileDirect;
  if (profile === undefined) return unproven('--profile-direct must name a profile whose own policies allow it');
  const lambda = new Lambda(awsConfig(asProfile(shell, profile), place, 'LAMBDA'));
  const input = { FunctionName: functionName(environment.name), Qualifier: ALIAS, InvocationType: 'DryRun' } as const;
  const { name, message } = await refusalOf(
    lambda.invoke({ ...input, Payload: '{}' }, send),
    `lambda:InvokeFunction as ${profile}`,
    world,
  );
  if (name === 'AccessDeniedException') {
    return /explicit deny in a service control policy/.test(message)
      ? good(`A service control policy denies it to the profile ${profile}`)
      : unproven(`It is denied to the profile ${profile}, by its own policies: take one whose policies allow it`);
  }
  if (name !== NO_REFUSAL) return unproven(`Lambda does not say (${name})`);
  const may = `The profile ${profile} may invoke the function past its URL, and claim to be any caller`;
  return wrong(may, 'Attach the guard: docs/operations.md, "Guard the function".');
}

/**
 * Which roles of the broker's account may invoke the function past its URL, and so claim to be any caller: as far as AWS's
 * simulation says, which knows a role's own policies and its boundary, but no service control policy with a condition.
 */
export async function listDirectInvokers({ as, environment, place, send }: World): Promise<Seen> {
  const { name, account } = environment;
  const functionArn = arn(environment, 'lambda', `function:${functionName(name)}`);
  const endAt = Date.now() + SIMULATIONS_MS;
  const answers = await as('lookup', async (who) => {
    const iam = openClient((config) => new IAM(config), 'IAM', who, place);
    const roles: string[] = [];
    for await (const { Roles = [] } of paginateListRoles({ client: iam, pageSize: 1_000 }, {}, send)) {
      roles.push(...Roles.flatMap(({ Arn = '' }) => (Arn.includes(':role/aws-service-role/') ? [] : Arn)));
    }
    return mapConcurrently(roles, async (role) => {
      const asked = Date.now() < endAt ? simulate(iam, role, functionArn, send) : undefined;
      return { role, may: await asked?.catch(ifNotDenied) };
    });
  });
  const rolesThat = (may: boolean | undefined) => answers.filter((one) => one.may === may).map(({ role }) => role);
  const [able, untold] = [rolesThat(true), rolesThat(undefined)];
  if (able.length > 0) return unproven(`Unless the guard is attached, these may: ${able.join(', ')}`);
  if (untold.length > 0) return unproven(`AWS tells nothing of ${untold.length} roles (iam:SimulatePrincipalPolicy)`);
  return good(`None of the ${answers.length} roles of account ${account} may invoke the function past its URL`);
}

/** So long simulations begin: an account can have thousands of roles. */
const SIMULATIONS_MS = 60_000;

/** `undefined` when the simulation decided nothing. */
async function simulate(iam: IAM, role: string, functionArn: string, send: World['send']) {
  const simulation = {
    PolicySourceArn: role,
    ActionNames: ['lambda:InvokeFunction'],
    ResourceArns: [functionArn, `${functionArn}:${ALIAS}`],
    ContextEntries: [
      {
        ContextKeyName: 'lambda:InvokedViaFunctionUrl',
        ContextKeyType: 'boolean' as const,
        ContextKeyValues: ['false'],
      },
    ],
  };
  const { EvaluationResults: results = [] } = await iam.simulatePrincipalPolicy(simulation, send);
  if (results.length === 0) return undefined;
  return results.some(({ EvalDecision }) => EvalDecision === 'allowed');
}

/** A role may be gone meanwhile; a denial is for another identity to try. */
function ifNotDenied(error: unknown): undefined {
  if (!isRefused(error) || isDenied(error)) throw error;
}
