import { parseArgs } from 'node:util';
import { CloudFormation, paginateDescribeStacks } from '@aws-sdk/client-cloudformation';
import { isRefused, openClient } from '../cli/shared/ask-aws.ts';
import { note } from '../client/commands/output.ts';
import type { Shell } from '../client/commands/shell.ts';
import type { Environment } from '../lib/settings/settings.ts';
import { DEFAULT_QUALIFIER, QUALIFIER, readSettings } from '../lib/settings/settings-file.ts';

/**
 * Returns the options with which the bootstrap meets the organisation's requirements, without those that `args` name.
 * Updates the toolkit stack that already has the qualifier, because another one fails on names that exist. Asks AWS
 * for it only if the bootstrap changes anything.
 *
 * @see aws/aws-cdk#16352, aws-samples/aws-transform-custom-samples#98
 */
export async function bootstrapOptions(
  shell: Shell,
  environment: Environment,
  args: readonly string[],
  changesNothing: boolean,
): Promise<readonly string[]> {
  const { values: named } = parseArgs({ args: [...args], options: NAMED, strict: false });
  const { context, organisation } = readSettings();
  const { qualifier = context[QUALIFIER] ?? DEFAULT_QUALIFIER, 'toolkit-stack-name': toolkit } = named;
  const isDefault = qualifier === DEFAULT_QUALIFIER;
  const asks = toolkit === undefined && !changesNothing;
  const owner = asks ? await toolkitStackOf(shell, environment, qualifier) : undefined;
  const options = {
    qualifier: isDefault ? undefined : `${qualifier}`,
    'toolkit-stack-name': owner ?? (isDefault ? undefined : `CDKToolkit-${qualifier}`),
    'custom-permissions-boundary': named.cpb === undefined ? organisation.permissionsBoundary : undefined,
  };
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined || named[name] !== undefined ? [] : [`--${name}`, value],
  );
}

const NAMED = {
  qualifier: { type: 'string' },
  'toolkit-stack-name': { type: 'string' },
  'custom-permissions-boundary': { type: 'string' },
  cpb: { type: 'string' },
} as const;

/** Returns the name of the toolkit stack that was created with this qualifier. */
async function toolkitStackOf(shell: Shell, { name, region }: Environment, qualifier: unknown) {
  const place = { environment: name, region };
  const client = openClient((config) => new CloudFormation(config), 'CLOUDFORMATION', shell, place);
  try {
    for await (const { Stacks = [] } of paginateDescribeStacks({ client }, {}, { abortSignal: shell.signal })) {
      const owner = Stacks.find(({ Parameters = [], StackStatus = '' }) => {
        const values = new Map(Parameters.map(({ ParameterKey, ParameterValue }) => [ParameterKey, ParameterValue]));
        const isToolkit = values.has('CloudFormationExecutionPolicies') && values.get('Qualifier') === qualifier;
        return isToolkit && !/^(?:CREATE_FAILED|DELETE_|REVIEW_|ROLLBACK_)/.test(StackStatus);
      });
      if (owner !== undefined) return owner.StackName;
    }
  } catch (error) {
    if (!isRefused(error)) throw error;
    note(shell, `Whether a toolkit stack has the qualifier ${qualifier} was not checked (${error.message}).`);
  }
  return undefined;
}
