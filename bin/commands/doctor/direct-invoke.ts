import { askAws, findCredentials } from '../../../client/commands/identity.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import { ok, type Step, unknown } from '../../../client/commands/step.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { ALIAS, functionName } from '../../../lib/settings/names.ts';
import { mapConcurrently } from '../shared/checks.ts';

/**
 * Which roles of the broker's account may invoke the function past its URL, and so claim to be any caller: as far as AWS's
 * simulation says, which knows a role's own policies and its boundary, but no service control policy with a condition.
 */
export async function examineDirectInvocation(
  shell: Shell,
  { name, account, region }: Pick<Environment, 'name' | 'account' | 'region'>,
): Promise<Step> {
  const step = 'direct-invoke';
  const { credentials } = await findCredentials(shell);
  if (credentials === undefined) return unknown(step, 'There are no AWS credentials');
  const iam = createIam(shell, credentials);
  const roles = await iam.listRoles(account);
  if (roles === undefined) return unknown(step, `You cannot list the roles of account ${account} (iam:ListRoles)`);

  const arn = `:lambda:${region}:${account}:function:${functionName(name)}`;
  const answers = await mapConcurrently(roles, async (role) => {
    const functionArn = `${role.split(':').slice(0, 2).join(':')}${arn}`;
    return { role, may: await iam.mayInvoke(role, [functionArn, `${functionArn}:${ALIAS}`]) };
  });
  const rolesThat = (may: boolean | undefined) => answers.filter((one) => one.may === may).map(({ role }) => role);
  const [able, untold] = [rolesThat(true), rolesThat(undefined)];
  if (able.length > 0) return unknown(step, `Unless the guard is attached, these may: ${able.join(', ')}`);
  if (untold.length > 0) {
    return unknown(step, `AWS tells nothing of ${untold.length} roles (iam:SimulatePrincipalPolicy)`);
  }
  return ok(step, `None of the ${roles.length} roles of account ${account} may invoke the function past its URL`);
}

/** What is asked of IAM; both are `undefined` when it does not tell. */
function createIam(shell: Shell, credentials: Parameters<typeof askAws>[1]['credentials']) {
  const ask = (members: Readonly<Record<string, string>>) =>
    askAws(shell, {
      ...{ service: 'iam', region: 'us-east-1', credentials },
      body: new URLSearchParams({ ...members, Version: '2010-05-08' }).toString(),
    });
  return {
    /** The ARNs of the roles of the account, without those of AWS's own services. */
    async listRoles(account: string): Promise<readonly string[] | undefined> {
      const roles: string[] = [];
      let marker: string | undefined;
      do {
        const { status, text } = await ask({
          Action: 'ListRoles',
          MaxItems: '1000',
          ...(marker && { Marker: marker }),
        });
        const found = [...text.matchAll(/<Arn>(arn:[a-z-]+:iam::(\d{12}):role\/[!-;=-~]{1,600})<\/Arn>/g)];
        if (status !== 200 || found.some(([, , of]) => of !== account)) return undefined;
        roles.push(...found.map(([, arn = '']) => arn));
        marker = /<Marker>([!-;=-~]+)<\/Marker>/.exec(text)?.[1];
      } while (marker !== undefined);
      return roles.filter((arn) => !arn.includes(':role/aws-service-role/'));
    },

    async mayInvoke(role: string, functionArns: readonly string[]): Promise<boolean | undefined> {
      const { status, text } = await ask({
        Action: 'SimulatePrincipalPolicy',
        PolicySourceArn: role,
        'ActionNames.member.1': 'lambda:InvokeFunction',
        ...Object.fromEntries(functionArns.map((arn, index) => [`ResourceArns.member.${index + 1}`, arn])),
        'ContextEntries.member.1.ContextKeyName': 'lambda:InvokedViaFunctionUrl',
        'ContextEntries.member.1.ContextKeyType': 'boolean',
        'ContextEntries.member.1.ContextKeyValues.member.1': 'false',
      });
      const decisions = [...text.matchAll(/<EvalDecision>(\w+)<\/EvalDecision>/g)].map(([, decision]) => decision);
      if (status !== 200 || decisions.length === 0) return undefined;
      return decisions.includes('allowed');
    },
  };
}
