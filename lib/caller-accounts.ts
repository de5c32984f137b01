import { ALIAS, functionName } from './names.ts';
import { parseRoleArn } from './role-arn.ts';
import type { Fault } from './settings-error.ts';

interface Rules {
  readonly accessRules: readonly { readonly role: string }[];
}

/** The accounts whose roles the access rules name, each once. */
export function callerAccounts({ accessRules }: Rules): readonly string[] {
  const accounts = accessRules.map(({ role }) => parseRoleArn(role)?.account ?? '');
  return [...new Set(accounts)].toSorted();
}

interface Place extends Rules {
  readonly name: string;
  readonly account: string;
  readonly region: string;
}

/** What is wrong when rules name more accounts than the policy of the alias can let in. */
export function callerAccountFaults(place: Place): readonly Fault[] {
  const accounts = callerAccounts(place);
  const room = Math.floor((MAX_POLICY_BYTES - EMPTY_POLICY.length) / bytesPerAccount(place));
  if (accounts.length <= room) return [];
  const reason = `name ${accounts.length} accounts, and the policy of the function has room for ${room}: its ${MAX_POLICY_BYTES} bytes take two statements for each`;
  return [{ path: ['accessRules'], reason }];
}

/** @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const MAX_POLICY_BYTES = 20_480;

/** As Lambda shows it; the id is there whatever else is. */
const EMPTY_POLICY = '{"Version":"2012-10-17","Id":"default","Statement":[]}';

/** The two statements that an account needs, each with the comma after it. */
function bytesPerAccount({ name, account, region, accessRules }: Place): number {
  const partition = parseRoleArn(accessRules[0]?.role ?? '')?.partition ?? 'aws';
  const statement = (Action: string, Condition: object) => ({
    // CloudFormation makes it up; Lambda takes no longer one.
    Sid: 'x'.repeat(100),
    Effect: 'Allow',
    Principal: { AWS: `arn:${partition}:iam::${account}:root` },
    Action,
    Resource: `arn:${partition}:lambda:${region}:${account}:function:${functionName(name)}:${ALIAS}`,
    Condition,
  });
  return [
    statement('lambda:InvokeFunctionUrl', { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } }),
    statement('lambda:InvokeFunction', { Bool: { 'lambda:InvokedViaFunctionUrl': 'true' } }),
  ].reduce((bytes, each) => bytes + JSON.stringify(each).length + ','.length, 0);
}
