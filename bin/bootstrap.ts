import { CloudFormation, paginateDescribeStacks } from '@aws-sdk/client-cloudformation';
import { isRefused, openClient } from '../cli/shared/ask-aws.ts';
import { note } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import type { Environment } from '../lib/settings/settings.ts';
import { DEFAULT_QUALIFIER, QUALIFIER, readSettings } from '../lib/settings/settings-file.ts';

/**
 * Returns the options with which the bootstrap meets the organisation's requirements, without those that `args` name.
 * Updates the toolkit stack that already has the qualifier, because another one fails on names that exist.
 *
 * @see aws/aws-cdk#16352, aws-samples/aws-transform-custom-samples#98
 */
export async function bootstrapOptions(
  shell: Shell,
  environment: Environment,
  args: readonly string[],
  changesNothing: boolean,
): Promise<readonly string[]> {
  const named = (option: string) => new RegExp(`^--${option}[=\\n](.*)$`, 'm').exec(args.join('\n'))?.[1];
  const { context, organisation } = readSettings();
  const qualifier = named('qualifier') ?? `${context[QUALIFIER] ?? DEFAULT_QUALIFIER}`;
  const asks = named('toolkit-stack-name') === undefined && !changesNothing;
  const owner = asks ? await toolkitStackOf(shell, environment, qualifier) : undefined;
  const isDefault = qualifier === DEFAULT_QUALIFIER;
  const options = {
    qualifier: isDefault ? undefined : qualifier,
    'toolkit-stack-name': owner ?? (isDefault ? undefined : `CDKToolkit-${qualifier}`),
    'custom-permissions-boundary': named('cpb') === undefined ? organisation.permissionsBoundary : undefined,
  };
  return Object.entries(options).flatMap(([option, value]) =>
    value === undefined || named(option) !== undefined ? [] : [`--${option}`, value],
  );
}

/** Returns the name of the toolkit stack that was created with this qualifier. */
async function toolkitStackOf(shell: Shell, { name, region }: Environment, qualifier: string) {
  const place = { environment: name, region };
  const client = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', shell, place);
  try {
    for await (const { Stacks = [] } of paginateDescribeStacks({ client }, {}, { abortSignal: shell.signal })) {
      const owner = Stacks.find(({ Parameters = [], StackStatus = '' }) => {
        if (/^(?:CREATE_FAILED|DELETE_|REVIEW_|ROLLBACK_)/.test(StackStatus)) return false;
        const values = new Map(Parameters.map(({ ParameterKey, ParameterValue }) => [ParameterKey, ParameterValue]));
        return values.has('CloudFormationExecutionPolicies') && values.get('Qualifier') === qualifier;
      });
      if (owner !== undefined) return owner.StackName;
    }
  } catch (error) {
    if (!isRefused(error)) throw error;
    note(shell, `Whether a toolkit stack has the qualifier ${qualifier} was not checked (${error.message}).`);
  }
  return undefined;
}
