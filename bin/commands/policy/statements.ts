import { sealingKeyName, secretPrefix } from '../../../functions/vocabulary.ts';
import {
  ALIAS,
  functionName,
  healthFunctionName,
  partitionOf,
  stackName,
  tableName,
} from '../../../lib/settings/names.ts';
import type { Environment } from '../../../lib/settings/settings.ts';

/** `actions` of a service, with spaces between. */
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

/** Of a resource in the account of an environment. */
export function arn({ account, region }: Environment, service: string, resource: string, place = region): string {
  return `arn:${partitionOf(region)}:${service}:${place}:${account}:${resource}`;
}

/** The resources that several policies name. */
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
 * The key of the environment, known by its tags unless the settings name it, or it `isFresh`; `users` are the services
 * that use it for a principal.
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

/** The tags of the stack as conditions: on what there is, or on what is asked for. */
export function tagsOf(of: 'ResourceTag' | 'RequestTag', { name }: Environment) {
  return { [`aws:${of}/application`]: 'token-broker', [`aws:${of}/environment`]: name };
}

/** AWS knows no resource for it. */
export const STOP_A_DEPLOYMENT = allow('StopADeployment', 'codedeploy', 'StopDeployment', '*');

/** How a service uses a key for a principal that stores or reads something there. */
export const KEY_USE = 'Decrypt GenerateDataKey';
