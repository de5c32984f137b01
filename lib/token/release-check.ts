import { Duration, Stack } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Alias, FunctionUrlAuthType, type IFunction, type IVersion } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { ReleaseCheckEnvironment } from '../../functions/environment.ts';
import { allowUrlCalls } from '../data/allow.ts';
import type { ClientSecrets } from '../data/client-secrets.ts';
import type { Environment } from '../settings/environment.ts';
import { NEXT_ALIAS, releaseCheckName } from '../settings/names.ts';
import { createLambdaFunction, type Observation } from './lambda-function.ts';

interface ReleaseCheckProps {
  readonly environment: Pick<Environment, 'name' | 'services'>;
  /** Of the token function, made by this deployment. */
  readonly version: IVersion;
  readonly secrets: ClientSecrets;
  readonly observation: Observation;
}

/**
 * Asks a new version of the token function before a caller does, through an alias and a URL that its own role alone may call:
 * no role may invoke the function past a URL. Health cannot do it, because its function is updated after the callers' URL.
 */
export class ReleaseCheck extends Construct {
  /** Who asks. */
  readonly role: IRole;
  readonly hook: IFunction;
  /** The ARN of `hook`, written out: the function waits for the deployment group, and the group for the policy with the ARN. */
  readonly hookArn: string;

  constructor(scope: Construct, id: string, { environment, version, secrets, observation }: ReleaseCheckProps) {
    super(scope, id);
    const { name, services } = environment;
    const next = new Alias(this, 'Alias', { aliasName: NEXT_ALIAS, version });
    const variables: ReleaseCheckEnvironment = {
      TOKEN_BROKER_ENVIRONMENT: name,
      TOKEN_BROKER_URL: next.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM }).url,
      TOKEN_BROKER_SERVICES: Object.keys(services).join(' '),
    };
    const functionName = releaseCheckName(name);
    const { lambdaFunction, role } = createLambdaFunction(this, {
      functionName,
      description: `Asks a new version of the token function of environment ${name} before a caller does`,
      entry: 'release-check.ts',
      memorySize: 256,
      timeout: Duration.minutes(2),
      environment: { ...variables },
      observation,
    });
    allowUrlCalls(role, next);
    secrets.allowListing(role);
    this.role = role;
    this.hook = lambdaFunction;
    this.hookArn = Stack.of(this).formatArn({ service: 'lambda', resource: `function:${functionName}` });
  }
}
