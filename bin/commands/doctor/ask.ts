import cdkJson from '../../../cdk.json' with { type: 'json' };
import { CommandFailure } from '../../../client/commands/failure.ts';
import type { Shell } from '../../../client/commands/shell.ts';
import type { Environment } from '../../../lib/settings/environment.ts';
import { askService, elementOf, isDenied, queryService } from '../shared/ask-aws.ts';
import { arn } from '../shared/statements.ts';

/** Profiles of the roles that may see what an operator may not. */
export interface Profiles {
  readonly profileDeploy?: string;
  readonly profileEmergency?: string;
}

/** Who has to look, with the option that names its profile. */
const ROLES = {
  operator: 'your own role',
  deploy: 'the role that deploys (--profile-deploy)',
  lookup: "the CDK's lookup role, which the role that deploys may assume (--profile-deploy)",
  emergency: 'the role for emergencies (--profile-emergency)',
} as const;

type Role = keyof typeof ROLES;

/** Asks AWS as the person who runs the command and, where that is denied, as the role that a line is for. */
export function createAsker(shell: Shell, environment: Environment, { profileDeploy, profileEmergency }: Profiles) {
  const { region } = environment;
  const deployer = profileDeploy === undefined ? undefined : asProfile(shell, profileDeploy);
  const others: Readonly<Record<Role, () => Promise<Shell | undefined>>> = {
    operator: async () => undefined,
    deploy: async () => deployer,
    lookup: async () => deployer && asLookupRole(deployer, environment),
    emergency: async () => (profileEmergency === undefined ? undefined : asProfile(shell, profileEmergency)),
  };

  /** @throws CommandFailure also when none of the roles at hand may */
  async function as<Answer>(role: Role, action: string, work: (shell: Shell) => Promise<Answer>): Promise<Answer> {
    try {
      return await work(shell);
    } catch (error) {
      if (!isDenied(error)) throw error;
    }
    const other = await others[role]();
    const notAllowed = `${action} is not allowed to you: this line is for ${ROLES[role]}`;
    const refusal = new CommandFailure('aws-access-denied', notAllowed, 'Run it as that role.');
    if (other === undefined) throw refusal;
    return work(other).catch((error) => Promise.reject(isDenied(error) ? refusal : error));
  }

  const json = (role: Role, ...[service, operation, question]: Parameters<ReturnType<typeof askService>>) =>
    as(role, `${service}:${operation}`, (who) => askService(who, region)(service, operation, question));

  return {
    as,
    json,
    /** Describes something, as the role that may look at everything. */
    look: (service: Parameters<typeof json>[1], target: string, body: object): Promise<Properties> =>
      json('lookup', service, target.replace(/^.*\./, ''), { target, body }),
    xml: (role: Role, ...[service, action, members]: Parameters<ReturnType<typeof queryService>>) =>
      as(role, `${service}:${action}`, (who) => queryService(who, region)(service, action, members)),
  };
}

export type Asker = ReturnType<typeof createAsker>;

// biome-ignore lint/suspicious/noExplicitAny: a resource has one of a hundred shapes, and each line looks at one of them
export type Properties = any;

/** The same shell, signed in by a profile. */
export function asProfile(shell: Shell, profile: string): Shell {
  const credentials = async () => {
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
    return defaultProvider({ profile })();
  };
  return { ...shell, credentials };
}

const QUALIFIER =
  Object.entries<unknown>(cdkJson.context).find(([name]) => name === '@aws-cdk/core:bootstrapQualifier')?.[1] ??
  'hnb659fds';

/** The role of the bootstrap that may read what there is, and change nothing. */
async function asLookupRole(deployer: Shell, environment: Environment): Promise<Shell> {
  const { account, region } = environment;
  const RoleArn = arn(environment, 'iam', `role/cdk-${QUALIFIER}-lookup-role-${account}-${region}`, '');
  const xml = await queryService(deployer, region)('sts', 'AssumeRole', { RoleArn, RoleSessionName: 'doctor' });
  const [accessKeyId = '', secretAccessKey = '', sessionToken = ''] = [
    'AccessKeyId',
    'SecretAccessKey',
    'SessionToken',
  ].map((name) => elementOf(xml, name));
  return { ...deployer, credentials: async () => ({ accessKeyId, secretAccessKey, sessionToken }) };
}
