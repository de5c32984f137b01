import { describe, expect, it } from 'vitest';
import { bootstrapOptions } from '../../bin/bootstrap.ts';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment } from '../../lib/settings/settings.ts';
import { refused, startAws } from './commands/shared/aws-operations.ts';
import { openShell, writeSettings } from './commands/shared/command-line.ts';

const DEV = parseEnvironment('dev', environments.dev);
const OWN = ['--qualifier', 'broker1', '--toolkit-stack-name', 'CDKToolkit-broker1'];
const BOUNDED = ['--custom-permissions-boundary', 'team/bounds'];

/** @see aws/aws-cdk#16352, aws-samples/aws-transform-custom-samples#98, aws/aws-cdk#26588 */
describe('npm run bootstrap', () => {
  it.each<[what: string, stacks: readonly Stack[], toolkit: string]>([
    ['none', [], 'CDKToolkit-broker1'],
    ['one of another qualifier', [toolkit('CDKToolkit', 'hnb659fds')], 'CDKToolkit-broker1'],
    ['the default one, from the qualifier in cdk.json', [toolkit('CDKToolkit', 'broker1')], 'CDKToolkit'],
    ['that of a landing zone, on the second page', [other(), toolkit('org-cdk', 'broker1')], 'org-cdk'],
    ['ours', [toolkit('CDKToolkit-broker1', 'broker1')], 'CDKToolkit-broker1'],
    [
      'a second one, which failed on the names of the first',
      [toolkit('CDKToolkit-broker1', 'broker1', 'ROLLBACK_COMPLETE'), toolkit('CDKToolkit', 'broker1')],
      'CDKToolkit',
    ],
    ['one that was never created', [toolkit('mine', 'broker1', 'REVIEW_IN_PROGRESS')], 'CDKToolkit-broker1'],
    ['one whose last update failed', [toolkit('mine', 'broker1', 'UPDATE_ROLLBACK_COMPLETE')], 'mine'],
    ['another stack with a parameter of this name', [other('broker1')], 'CDKToolkit-broker1'],
  ])('updates the toolkit stack that has the qualifier: %s', async (_, stacks, name) => {
    const { options } = await startWorld(stacks);
    expect(await options()).toEqual(['--qualifier', 'broker1', '--toolkit-stack-name', name]);
  });

  it.each<[what: string, stacks: readonly Stack[], expected: string[]]>([
    ['without a bootstrap', [], []],
    ['with that of a landing zone', [toolkit('org-cdk', 'hnb659fds')], ['--toolkit-stack-name', 'org-cdk']],
  ])('takes the default qualifier of the CDK %s', async (_, stacks, expected) => {
    const { options } = await startWorld(stacks, {});
    expect(await options()).toEqual(expected);
  });

  it.each<[args: string, expected: string[]]>([
    ['--toolkit-stack-name mine', ['--qualifier', 'broker1', ...BOUNDED]],
    ['--toolkit-stack-name=mine', ['--qualifier', 'broker1', ...BOUNDED]],
    ['--custom-permissions-boundary other', OWN],
    ['--cpb=other', OWN],
    ['--qualifier other', ['--toolkit-stack-name', 'of-other', ...BOUNDED]],
  ])('lets %s replace its own option', async (args, expected) => {
    const organisation = { bootstrapQualifier: 'broker1', permissionsBoundary: 'team/bounds' };
    const { options, calls } = await startWorld([toolkit('of-other', 'other')], organisation);
    expect(await options(args.split(' '))).toEqual(expected);
    expect(calls).toHaveLength(args.includes('toolkit') ? 0 : 1);
  });

  it('asks nothing when it only shows help or its template', async () => {
    const { options, calls } = await startWorld([toolkit('CDKToolkit', 'broker1')]);
    expect(await options(['--show-template'], true)).toEqual(OWN);
    expect(calls).toEqual([]);
  });

  it('goes on when it may not look, and says so', async () => {
    const { options, output } = await startWorld('denied');
    expect(await options()).toEqual(OWN);
    expect(output.stderr).toMatch(/^Whether a toolkit stack has the qualifier broker1 was not .*aws-access-denied/);
  });
});

/** A stack as CloudFormation shows it. */
type Stack = string;

function stackOf(name: string, status: string, parameters: Readonly<Record<string, string>>): Stack {
  const members = Object.entries(parameters).map(([key, value]) => {
    return `<member><ParameterKey>${key}</ParameterKey><ParameterValue>${value}</ParameterValue></member>`;
  });
  const own = `<StackName>${name}</StackName><StackStatus>${status}</StackStatus>`;
  return `<member>${own}<Parameters>${members.join('')}</Parameters></member>`;
}

function toolkit(name: string, Qualifier: string, status = 'UPDATE_COMPLETE'): Stack {
  return stackOf(name, status, { Qualifier, CloudFormationExecutionPolicies: 'arn:aws:iam::1:policy/x' });
}

function other(Qualifier?: string): Stack {
  return stackOf('other', 'CREATE_COMPLETE', Qualifier === undefined ? {} : { Qualifier });
}

/** An account with stacks, of which CloudFormation shows one a page, and settings with an organisation. */
async function startWorld(
  stacks: readonly Stack[] | 'denied',
  organisation: object = { bootstrapQualifier: 'broker1' },
) {
  const { url, calls } = await startAws(({ members: { NextToken = 0 } }) => {
    if (stacks === 'denied') return refused('AccessDenied', 403);
    const page = Number(NextToken);
    const next = page + 1 < stacks.length ? `<NextToken>${page + 1}</NextToken>` : '';
    return `<Stacks>${stacks[page] ?? ''}</Stacks>${next}`;
  });
  writeSettings({ dev: environments.dev }, organisation);
  const { shell, output } = openShell({ AWS_ENDPOINT_URL_CLOUDFORMATION: url });
  const options = (args: readonly string[] = [], changesNothing = false) =>
    bootstrapOptions(shell, DEV, args, changesNothing);
  return { options, calls, output };
}
