import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type IPolicyValidationContext, type Stack, Validations } from 'aws-cdk-lib';
import { CfnTopic } from 'aws-cdk-lib/aws-sns';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { NIST80053R5Checks, PCIDSS321Checks } from 'cdk-nag';
import { expect, it } from 'vitest';
import { acknowledge, acknowledgements, checkTemplates } from '../../lib/checks/template-checks.ts';
import { environments } from '../../lib/environments.ts';
import { parseEnvironment } from '../../lib/settings/settings.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { newApp, resourcesOf, type Statement, type Template } from '../support/stack/synthesise.ts';
import { ALL_OPTIONS, exampleForm } from '../unit/settings/example-form.ts';

/** Settings that together bring every resource into a template. test/e2e/app.test.ts checks all environments. */
const FORMS: Readonly<Record<string, unknown>> = {
  prod: environments.prod,
  'all-options': {
    ...exampleForm(),
    ...ALL_OPTIONS,
    trail: { sealingKeyWriters: ['arn:aws:iam::111111111111:role/key-keeper'] },
    reservedConcurrency: 10,
  },
  'all-options-off': {
    ...exampleForm(),
    canary: 'off',
    reservedConcurrency: 0,
    keyArn: 'arn:aws:kms:eu-west-1:111111111111:key/01234567-89ab-cdef-0123-456789abcdef',
  },
};
/** The stack's own advice to an operator: no finding, and it stops no synth. */
const ADVICE = /token-broker:[a-z-]+$/;
const { templates, matched, severities: _, ...verdict } = check(FORMS);

it('no template has an unacknowledged finding, so synth is not stopped', () => {
  expect(verdict).toEqual({ open: [], isStopped: false });
});

it('a stack allows on every resource only actions for which AWS knows no narrower one', () => {
  const everywhere = templates
    .flatMap(({ template }) => resourcesOf({ template }, 'AWS::IAM::Policy'))
    .flatMap(({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement)
    .filter(({ Effect, Resource }) => Effect === 'Allow' && [Resource].flat().includes('*'));
  expect([...new Set(everywhere.flatMap(({ Action }) => Action))].toSorted()).toEqual([
    // EC2 describes all network interfaces and subnets of a region or none.
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    // A list of all secrets of an account, which holds no values.
    'secretsmanager:ListSecrets',
    // X-Ray has no resource that a trace could be written to.
    'xray:PutTelemetryRecords',
    'xray:PutTraceSegments',
  ]);
});

it('every acknowledgement matches a finding somewhere, and says why', () => {
  const acknowledged = templates.find(({ name }) => name === 'all-options')?.acknowledged ?? [];
  expect(acknowledged).not.toEqual([]);
  expect(acknowledged.filter(({ id, construct }) => !matched.includes(`${id} at ${construct}`))).toEqual([]);
  for (const { reason } of acknowledged) expect(reason.length).toBeGreaterThan(30);
});

it('docs/security.md has a reason for each rule that the stack breaks of the packs for PCI and NIST, and for no other', () => {
  const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split("\n## What AWS's own judges say\n");
  const named = [...(section.split('\n## ')[0] ?? '').matchAll(/`([A-Z]\w+)`(?=,| \|)/g)].map(([, rule]) => rule);
  const broken = [PCIDSS321Checks, NIST80053R5Checks].flatMap(rulesBroken);
  expect([...new Set(broken)].toSorted()).toEqual(named.toSorted());
});

it('an unacknowledged finding of cdk-nag or of the CDK stops synth as an error, although DDB3 is only a warning', () => {
  const breakStack = (stack: Stack) => {
    new CfnTopic(stack, 'BrokenTopic');
    new CfnQueue(stack, 'BrokenQueue').addPropertyOverride('Nonsense', true);
  };
  const { open, isStopped, severities } = check({ test: exampleForm() }, breakStack, 'AwsSolutions::AwsSolutions-DDB3');
  const expected = [
    'AwsSolutions-SNS3 at test/BrokenTopic',
    'F3002 at test/BrokenQueue',
    'AwsSolutions-DDB3 at test/PairTable/Table/Resource',
  ];
  expect(open).toEqual(expect.arrayContaining(expected));
  expect({ isStopped, severities }).toEqual({ isStopped: true, severities: new Set(['error']) });
});

/** The rules of a pack that the stack of prod with a trail breaks, without the name of the pack. */
function rulesBroken(Pack: typeof PCIDSS321Checks | typeof NIST80053R5Checks): readonly string[] {
  const app = newApp();
  new TokenBrokerStack(app, 'prod', { environment: parseEnvironment('prod', { ...environments.prod, trail: {} }) });
  const pack = new Pack(app);
  const rules: string[] = [];
  const validate = (templates: IPolicyValidationContext) => {
    rules.push(...pack.validate(templates).violations.map(({ ruleName }) => ruleName.replace(/^.*-/, '')));
    return { violations: [], success: true };
  };
  Validations.of(app).addPlugins(Object.create(pack, { validate: { value: validate } }));
  app.synth();
  return rules;
}

/**
 * The findings in the templates of an app, with a change, or without one of the acknowledgements. The checks of an app
 * take as long for one template as for five.
 */
function check(forms: Record<string, unknown>, change: (stack: Stack) => unknown = () => undefined, without = '') {
  const app = newApp();
  const stacks = Object.entries(forms).map(([name, form]) => {
    const stack = new TokenBrokerStack(app, name, { environment: parseEnvironment(name, form) });
    const acknowledged = acknowledgements(stack, name).filter(({ id }) => id !== without);
    acknowledge(stack, acknowledged);
    change(stack);
    return { name, acknowledged };
  });
  checkTemplates(app);
  let isStopped = false;
  try {
    app.synth();
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ValidationFailed')) throw error;
    isStopped = true;
  }
  const read = (file: string) => JSON.parse(readFileSync(path.join(app.outdir, file), 'utf8'));
  const templateOf = (name: string): Template => read(`${name}.template.json`);
  const { pluginReports }: Report = read('validation-report.json');
  const violations = pluginReports
    .flatMap((report) => report.violations)
    .filter(({ ruleName }) => !ADVICE.test(ruleName));
  return {
    templates: stacks.map((stack) => ({ ...stack, template: templateOf(stack.name) })),
    isStopped,
    severities: new Set(violations.map(({ severity }) => severity)),
    open: violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} at ${constructPath}`),
    ),
    /** Without the stack, whose name is the first step of a path. */
    matched: pluginReports
      .flatMap(({ suppressedViolations = [] }) => suppressedViolations)
      .map(({ acknowledgedId, acknowledgedAt }) => `${acknowledgedId} at ${acknowledgedAt.replace(/^[^/]+\//, '')}`),
  };
}

/** The members of the CDK's report that the tests read. */
interface Report {
  readonly pluginReports: readonly {
    readonly violations: readonly Violation[];
    readonly suppressedViolations?: readonly { readonly acknowledgedId: string; readonly acknowledgedAt: string }[];
  }[];
}

interface Violation {
  readonly ruleName: string;
  readonly severity: string;
  readonly violatingConstructs: readonly { readonly constructPath: string }[];
}
