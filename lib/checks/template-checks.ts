import {
  type App,
  CloudFormationValidatePlugin,
  type IPolicyValidationContext,
  type IPolicyValidationPlugin,
  type Stack,
  Validations,
} from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';
import { secretPrefix } from '../../functions/vocabulary.ts';
import { partitionOf } from '../settings/regions.ts';

/** Checks every template of the app with cdk-nag and the CDK's rules. An unacknowledged finding fails synth. */
export function checkTemplates(app: App): void {
  Validations.of(app).addPlugins(withoutWarnings(new AwsSolutionsChecks(app)), withoutWarnings(CDK_RULES));
}

/** Loads its rules once, which takes seconds. */
const CDK_RULES = new CloudFormationValidatePlugin();

/** Makes every finding an error, because synth continues after a warning and an operator easily overlooks it. */
function withoutWarnings(plugin: Pick<IPolicyValidationPlugin, 'validate'>): IPolicyValidationPlugin {
  const validate = (context: IPolicyValidationContext) => {
    const violations = plugin.validate(context).violations.map((violation) => ({ ...violation, severity: 'error' }));
    return { violations, success: violations.length === 0 };
  };
  // Keeps the class of the plugin. Otherwise the CDK adds its own rules a second time.
  return Object.create(plugin, { validate: { value: validate } });
}

/** Makes the checks ignore the findings. A finding whose construct the stack does not contain is skipped. */
export function acknowledge(stack: Stack, acknowledged: readonly Acknowledgement[]): void {
  for (const { construct, ...rule } of acknowledged) {
    const steps = construct.split('/');
    const scope = steps.reduce<IConstruct | undefined>((outer, id) => outer?.node.tryFindChild(id), stack);
    if (scope !== undefined) Validations.of(scope).acknowledge(rule);
  }
}

/** An accepted finding of a construct and of the constructs inside it. */
interface Acknowledgement {
  /** The path within the stack. */
  readonly construct: string;
  /** The id of the finding in the report of the checks. */
  readonly id: string;
  readonly reason: string;
}

/** The accepted findings of cdk-nag. A test fails for each finding that the checks no longer report. */
export function acknowledgements({ region, account }: Stack, environment: string): readonly Acknowledgement[] {
  const resource = (service: string, rest: string) =>
    `IAM5[Resource::arn:${partitionOf(region)}:${service}:${region}:${account}:${rest}]`;
  const everySecret = resource('secretsmanager', `secret:${secretPrefix(environment)}*`);
  const lists = 'Lists, looks and traces, for which AWS knows no narrower resource; a test names each such action';
  const interfaces = 'Lambda chooses the ids of the interfaces; a Deny keeps the code of the function from using this';
  return [
    ['TokenEndpoint/Role', everySecret, 'The operator decides which clients exist; the template does not know them'],
    ['CredentialHealth/Role', everySecret, 'Clients come without a deployment; the role may only use DescribeSecret'],
    [
      'TokenEndpoint/Canary',
      resource('cloudwatch', 'alarm:*'),
      'CodeDeploy reads the state of alarms without naming them, and changes nothing',
    ],
    ...['TokenEndpoint/Role', 'CredentialHealth/Role', 'ReleaseCheck/Role'].flatMap((role) => [
      [role, 'IAM5[Resource::*]', lists],
      [role, resource('ec2', 'network-interface/*'), interfaces],
      [role, resource('ec2', '*/*'), interfaces],
    ]),
    ['PairTable/SealingKey', 'SMG4', 'An operator rotates it after a leak; a schedule would only make tokens misses'],
    [
      'PairTable/Table',
      'DDB3',
      'The table is a cache: lost tokens are requested again, and a restored one may have expired',
    ],
    ['FailedEvents/Queue', 'SQS3', 'The last queue: events that failed for good stay until an operator has read them'],
    ['Monitoring/Trail', 'S1', 'The bucket holds the records of the trail itself, and CloudTrail alone writes to it'],
  ].map(([construct = '', rule, reason = '']) => ({ construct, id: `AwsSolutions::AwsSolutions-${rule}`, reason }));
}
