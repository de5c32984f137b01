import { IAM, paginateListRoles } from '@aws-sdk/client-iam';
import { Lambda } from '@aws-sdk/client-lambda';
import { ALIAS, functionName } from '../../../lib/settings/names.ts';
import { isDenied, isRefused, openClient } from '../shared/ask-aws.ts';
import { mapConcurrently } from '../shared/checks.ts';
import { awsConfig } from '../shared/environment.ts';
import { arn } from '../shared/statements.ts';
import { asProfile, good, placeOf, refusalOf, type Seen, sendOf, unproven, type World, wrong } from './world.ts';

/** Whether the guard denies a direct invocation: Lambda decides upon a dry run as upon an invocation, and runs nothing. */
export async function tryDirectInvocation({ shell, environment, options: { profileDirect } }: World): Promise<Seen> {
  if (profileDirect === undefined) {
    return unproven('--profile-direct must name a profile whose own policies allow it');
  }
  const lambda = new Lambda(awsConfig(asProfile(shell, profileDirect), placeOf(environment), 'LAMBDA'));
  const input = { FunctionName: functionName(environment.name), Qualifier: ALIAS, InvocationType: 'DryRun' } as const;
  const answer = lambda.invoke({ ...input, Payload: '{}' }, sendOf(shell));
  const refusal = await refusalOf(answer, `lambda:InvokeFunction as ${profileDirect}`, environment.region);
  if (refusal === undefined) {
    return wrong(
      `The profile ${profileDirect} may invoke the function past its URL, and claim to be any caller`,
      'Attach the guard: docs/operations.md, "Guard the function".',
    );
  }
  if (refusal.name !== 'AccessDeniedException') return unproven(`Lambda does not say (${refusal.name})`);
  return /explicit deny in a service control policy/.test(refusal.message)
    ? good(`A service control policy denies it to the profile ${profileDirect}`)
    : unproven(`It is denied to the profile ${profileDirect}, by its own policies: take one whose policies allow it`);
}

/**
 * Which roles of the broker's account may invoke the function past its URL, and so claim to be any caller: as far as AWS's
 * simulation says, which knows a role's own policies and its boundary, but no service control policy with a condition.
 */
export async function listDirectInvokers({ as, environment }: World): Promise<Seen> {
  const { name, account } = environment;
  const functionArn = arn(environment, 'lambda', `function:${functionName(name)}`);
  const endAt = Date.now() + SIMULATIONS_MS;
  const answers = await as('lookup', async (who) => {
    const iam = openClient((config) => new IAM(config), 'IAM', who, placeOf(environment));
    const roles: string[] = [];
    for await (const { Roles = [] } of paginateListRoles({ client: iam, pageSize: 1_000 }, {}, sendOf(who))) {
      roles.push(...Roles.flatMap(({ Arn = '' }) => (Arn.includes(':role/aws-service-role/') ? [] : Arn)));
    }
    return mapConcurrently(roles, async (role) => {
      const asked = Date.now() < endAt ? simulate(iam, role, functionArn, sendOf(who)) : undefined;
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
async function simulate(iam: IAM, role: string, functionArn: string, send: ReturnType<typeof sendOf>) {
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
