import { stackName } from '../../lib/settings/names.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { arn } from './statements.ts';

/**
 * Returns the permissions boundary of every role of an account's stacks: all rights, except those with which a role
 * gains more. The roles of the bootstrap, which may be bounded too, still make the roles of a stack. Health still
 * assumes its probe. The denials come last.
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
