import type { Environment } from './environment.ts';
import { stackName } from './names.ts';
import type { Fault } from './schema.ts';

interface Deployment {
  /** Whose AWS credentials there are, as the CDK's command line says; `undefined` without any. */
  readonly account: string | undefined;
  /** The stacks that the command names; patterns such as `**` name none. */
  readonly stacks: readonly string[];
}

/**
 * What is wrong when the credentials at hand are for another account than a stack that is named: who forgot to change the
 * example's accounts, or to sign in to the right one, learns it before anything is built.
 */
export function deployingAccountFaults(
  environments: readonly Pick<Environment, 'name' | 'account' | 'deployFrom'>[],
  { account, stacks }: Deployment,
): readonly Fault[] {
  if (account === undefined) return [];
  return environments
    .filter(({ name }) => stacks.includes(stackName(name)))
    .filter((environment) => ![environment.account, ...environment.deployFrom].includes(account))
    .map(({ name }) => ({
      path: ['environments', name, 'account'],
      reason: `is not the account of your AWS credentials, ${account}, which deployFrom does not name either`,
    }));
}
