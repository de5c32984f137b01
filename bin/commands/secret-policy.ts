import { tokenRoleName } from '../../lib/names.ts';
import { isJsonObject, parseJson } from '../json.ts';
import { CommandFailure } from './failure.ts';
import type { Secrets } from './secrets.ts';

interface Which {
  readonly client: string;
  readonly environment: string;
}

/**
 * Denies the token function's role the value of a client's secret, so that IAM stops what no longer reads the table.
 * Other statements stay as they are. False when the client has no secret.
 */
export async function denyBroker(secrets: Secrets, { client, environment }: Which): Promise<boolean> {
  const found = await secrets.readPolicy(client);
  if (found === undefined) return false;
  const { rest, others } = parsePolicy(found.policy);
  const Statement = [...others, denialOf(roleArn(found.arn, environment))];
  await secrets.writePolicy(client, JSON.stringify({ ...rest, Statement }));
  return true;
}

/** Ends that. */
export async function allowBroker(secrets: Secrets, client: string): Promise<void> {
  const found = await secrets.readPolicy(client);
  const { rest, others, isDenied } = parsePolicy(found?.policy);
  if (!isDenied) return;
  await secrets.writePolicy(client, others.length === 0 ? undefined : JSON.stringify({ ...rest, Statement: others }));
}

/** A secret lies in the account of its stack, and so does the role, whose name the stack fixes. */
function roleArn(secretArn: string, environment: string): string {
  const [, partition, , , account] = secretArn.split(':');
  return `arn:${partition}:iam::${account}:role/${tokenRoleName(environment)}`;
}

const SID = 'TokenBrokerDisabled';

/** A role that is named as principal is stored by its id, and a role made anew would not be denied. */
function denialOf(role: string) {
  return {
    Sid: SID,
    Effect: 'Deny',
    Principal: '*',
    Action: 'secretsmanager:GetSecretValue',
    Resource: '*',
    Condition: { ArnEquals: { 'aws:PrincipalArn': role } },
  };
}

/** A policy without its statements, the statements of others, and whether ours is there. */
function parsePolicy(policy: string | undefined) {
  if (policy === undefined) return { rest: { Version: '2012-10-17' }, others: [], isDenied: false };
  const document = parseJson(policy);
  if (!isJsonObject(document)) {
    throw new CommandFailure(
      'secret-policy-unreadable',
      "The secret's resource policy is not a JSON object",
      'Look at it with aws secretsmanager get-resource-policy, and correct it first.',
    );
  }
  const { Statement, ...rest } = document;
  const statements = [Statement ?? []].flat();
  const others = statements.filter((statement) => !isJsonObject(statement) || statement.Sid !== SID);
  return { rest, others, isDenied: others.length < statements.length };
}
