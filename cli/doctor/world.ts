import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { STS } from '@aws-sdk/client-sts';
import type { DoctorStep } from '../../client/commands/doctor/step.ts';
import type { DoctorOptions } from '../../client/commands/doctor.ts';
import { CommandFailure } from '../../client/commands/failure.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { standardAwsCredentials } from '../../client/index.ts';
import { causeWord } from '../../functions/aws/calls.ts';
import { stackName } from '../../lib/settings/names.ts';
import type { Environment } from '../../lib/settings/settings.ts';
import { arn } from '../policy/statements.ts';
import { bootstrapOf } from '../policy.ts';
import { isDenied, openClient } from '../shared/ask-aws.ts';
import { awsConfig } from '../shared/operate.ts';

/** A line of the report, without its name. */
export type Line = Omit<DoctorStep, 'step'>;

export const good = (detail: string): Line => ({ outcome: 'ok', detail });
export const unproven = (detail: string): Line => ({ outcome: 'unknown', detail });
export const wrong = (detail: string, advice: string): Line => {
  return { outcome: 'failed', detail: `${detail}. ${advice}`, advice };
};

export interface StackOptions extends DoctorOptions {
  readonly environment: string;
  readonly stack?: boolean;
  readonly guarded?: boolean;
  /** AWS profiles of the roles with rights that an operator lacks, and of a role that may invoke the function. */
  readonly profileDeploy?: string;
  readonly profileEmergency?: string;
  readonly profileDirect?: string;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** Opens AWS and the stack's outputs. @throws CommandFailure without a stack */
export async function openWorld(shell: Shell, environment: Environment, options: StackOptions) {
  const { name, region } = environment;
  /** The stack's own region: `--region` and AWS_REGION are the region for which the caller signs. */
  const place = { environment: name, region };
  const send = { abortSignal: shell.signal };
  const StackName = stackName(name);
  const none = new CommandFailure('aws-not-found', `AWS has no stack ${StackName} in ${region}`, NONE);
  // CloudFormation refuses only a name that no stack has.
  const conflict = (error: unknown) => (causeWord(error) === 'ValidationError' ? none : undefined);
  const cloudformation = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', shell, place, conflict);
  const { Stacks: [stack] = [] } = await cloudformation.describeStacks({ StackName }, send);
  const output = (key: string) => stack?.Outputs?.find(({ OutputKey }) => OutputKey === key)?.OutputValue ?? '';
  if (output('Url') === '') {
    const detail = `The stack has no outputs: its status is ${stack?.StackStatus}`;
    throw new CommandFailure('stack-incomplete', detail, 'Deploy; docs/deploy.md, "When a deployment fails".');
  }
  const as = signIn(shell, environment, options);
  return { shell, environment, options, place, send, outputUrl: output('Url'), as };
}

const NONE = 'Is it deployed, and are you signed in to its account?';

/** The roles that may ask AWS, with the option that names the profile of each role. */
const ROLES = {
  operator: 'the operator',
  deploy: 'the role that deploys (--profile-deploy)',
  lookup: "the CDK's lookup role, which the role that deploys may assume (--profile-deploy)",
  emergency: 'the role for emergencies (--profile-emergency)',
  direct: 'a role whose own policies allow it (--profile-direct)',
} as const;

export type Role = keyof typeof ROLES;

/** Returns a function that runs work with the shell of a role, or with the person's own shell without a profile. */
function signIn(shell: Shell, environment: Environment, options: StackOptions) {
  const deploy = asProfile(shell, options.profileDeploy);
  const lookup = options.profileDeploy === undefined ? shell : asLookupRole(deploy, environment);
  const [emergency, direct] = [asProfile(shell, options.profileEmergency), asProfile(shell, options.profileDirect)];
  const shells = { operator: shell, deploy, lookup, emergency, direct };
  /** @throws CommandFailure which names the right role, if AWS denies the work */
  return async <Answer>(role: Role, work: (who: Shell) => Promise<Answer>): Promise<Answer> => {
    try {
      return await work(shells[role]);
    } catch (error) {
      if (!isDenied(error)) throw error;
      throw new CommandFailure(error.type, `${error.detail}: this line is for ${ROLES[role]}`, error.advice);
    }
  };
}

/** Returns the same shell, signed in with the profile if it is named. */
function asProfile(shell: Shell, profile: string | undefined): Shell {
  if (profile === undefined) return shell;
  return { ...shell, credentials: standardAwsCredentials({ profile }) };
}

/** Returns the shell signed in as the bootstrap's lookup role, which may read and change nothing. */
function asLookupRole(deployer: Shell, environment: Environment): Shell {
  const { name, account, region } = environment;
  const { qualifier } = bootstrapOf(environment);
  const RoleArn = arn(environment, 'iam', `role/cdk-${qualifier}-lookup-role-${account}-${region}`, '');
  const sts = new STS(awsConfig(deployer, { environment: name, region }, 'STS'));
  const assume = async () => {
    const input = { RoleArn, RoleSessionName: 'doctor' };
    const { Credentials } = await sts.assumeRole(input, { abortSignal: deployer.signal });
    const { AccessKeyId = '', SecretAccessKey = '', SessionToken = '' } = Credentials ?? {};
    return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken };
  };
  let assumed: ReturnType<typeof assume> | undefined;
  return { ...deployer, credentials: () => (assumed ??= assume()) };
}
