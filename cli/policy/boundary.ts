import { stackName } from '../../lib/settings/names.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { arn } from './statements.ts';

/**
 * Returns the statements of the permissions boundary that every role of an account's stacks has: all rights, except
 * those with which a role gains more. The bootstrap's roles still make the roles of a stack, although the bootstrap puts
 * the boundary on them too, and health assumes its probe. The denials come last.
 *
 * @see aws/aws-cdk#31161
 */
export function boundaryStatements(environment: Environment, qualifier: string): readonly object[] {
  const role = (name: string) => arn(environment, 'iam', `role/${name}`, '');
  const bootstrap = ['cfn-exec', 'deploy', 'lookup'].map((kind) =>
    role(`cdk-${qualifier}-${kind}-role-${environment.account}-*`),
  );
  return [
    { Sid: 'EverythingElse', Effect: 'Allow', Action: '*', Resource: '*' },
    {
      Sid: 'ChangeRolesOnlyByTheBootstrap',
      Effect: 'Deny',
      Action: 'iam:*',
      Resource: '*',
      Condition: { ArnNotLike: { 'aws:PrincipalArn': bootstrap } },
    },
    {
      Sid: 'AssumeOnlyTheProbeOfHealth',
      Effect: 'Deny',
      Action: 'sts:AssumeRole',
      // CloudFormation cuts a long name of an environment.
      NotResource: role(`${stackName('*')}-CredentialHealthProbe*`),
    },
  ];
}
