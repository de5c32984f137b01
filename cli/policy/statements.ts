import { sealingKeyName, secretPrefix } from '../../functions/vocabulary.ts';
import { ALIAS, functionName, healthFunctionName, stackName, tableName } from '../../lib/settings/names.ts';
import { partitionOf } from '../../lib/settings/regions.ts';
import type { Environment } from '../../lib/settings/settings.ts';

/** The bootstrap of the CDK that deploys an environment, and the permissions boundary of every role of the stack. */
export interface Bootstrap {
  readonly qualifier: string;
  readonly boundary?: string | undefined;
}

/** Returns a statement that allows the service's `actions`, which have spaces between them. */
export function allow(
  Sid: string,
  service: string,
  actions: string,
  Resource: string | readonly string[],
  Condition?: object,
) {
  const Action = actions.split(' ').map((name) => `${service}:${name}`);
  return { Sid, Effect: 'Allow' as const, Action, Resource, ...(Condition && { Condition }) };
}

/** Returns the ARN of a resource in the account of an environment. */
export function arn({ account, region }: Environment, service: string, resource: string, place = region): string {
  return `arn:${partitionOf(region)}:${service}:${place}:${account}:${resource}`;
}

/** Returns the ARNs that several policies name. */
export function resourcesOf(environment: Environment) {
  const { name } = environment;
  const token = arn(environment, 'lambda', `function:${functionName(name)}`);
  return {
    stack: arn(environment, 'cloudformation', `stack/${stackName(name)}/*`),
    table: arn(environment, 'dynamodb', `table/${tableName(name)}`),
    /** The token function, with its alias and versions. */
    functions: [token, `${token}:*`],
    alias: `${token}:${ALIAS}`,
    health: arn(environment, 'lambda', `function:${healthFunctionName(name)}`),
    secrets: arn(environment, 'secretsmanager', `secret:${secretPrefix(name)}*`),
    sealingKey: arn(environment, 'secretsmanager', `secret:${sealingKeyName(name)}-*`),
  };
}

/**
 * Returns the environment's key, with its tags as condition unless the settings name it or it `isFresh`. `users` are
 * the services that use the key for a principal.
 */
export function keyOf(
  environment: Environment,
  { users, isFresh }: { readonly users?: readonly string[]; readonly isFresh?: boolean } = {},
): readonly [string, object | undefined] {
  const { region, keyArn } = environment;
  const equals = {
    ...(users && { 'kms:ViaService': users.map((service) => `${service}.${region}.amazonaws.com`) }),
    ...(keyArn === undefined && !isFresh && tagsOf('ResourceTag', environment)),
  };
  const condition = Object.keys(equals).length === 0 ? undefined : { StringEquals: equals };
  return [keyArn ?? arn(environment, 'kms', 'key/*'), condition];
}

/** Returns the stack's tags as conditions on the resource or on the request. */
export function tagsOf(of: 'ResourceTag' | 'RequestTag', { name }: Environment) {
  return { [`aws:${of}/application`]: 'token-broker', [`aws:${of}/environment`]: name };
}

/** AWS defines no narrower resource for this action. */
export const STOP_A_DEPLOYMENT = allow('StopADeployment', 'codedeploy', 'StopDeployment', '*');

/** The actions of a service that uses a key for a principal that stores or reads there. */
export const KEY_USE = 'Decrypt GenerateDataKey';
