import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App, type Stack } from 'aws-cdk-lib';
import { CfnTopic } from 'aws-cdk-lib/aws-sns';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, it } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { type Acknowledgement, acknowledgements } from '../../lib/checks/acknowledgements.ts';
import { acknowledge, checkTemplates } from '../../lib/checks/template-checks.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { everyForm } from '../unit/settings/every-form.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourcesOf, type Statement, type Template } from './synthesise.ts';

const STACK = 'TokenBroker';
const checked = Object.entries(everyForm).map(([name, form]) => ({ name, ...check(name, form) }));

describe('the template of', () => {
  it.each(checked)('$name is without an unacknowledged finding', ({ open, stopped }) => {
    expect(open).toEqual([]);
    expect(stopped).toBe(false);
  });
});

describe('the template of', () => {
  it.each(checked)('$name asks for a signature at every URL', ({ template }) => {
    const urls = resourcesOf({ template }, 'AWS::Lambda::Url');
    expect(urls.map(({ Properties }) => Properties.AuthType)).toEqual(['AWS_IAM']);
  });

  it.each(checked)('$name runs every function on Node 24, with a log group of the stack', ({ template }) => {
    for (const { Properties } of resourcesOf({ template }, 'AWS::Lambda::Function')) {
      expect(Properties.Runtime).toBe('nodejs24.x');
      expect(template.Resources[Properties.LoggingConfig.LogGroup.Ref]?.Type).toBe('AWS::Logs::LogGroup');
    }
  });

  it.each(checked)('$name names every action and every principal that it allows', ({ template }) => {
    const allowed = statementsOf(template).filter(({ Effect }) => Effect === 'Allow');
    expect(allowed.length).toBeGreaterThan(20);
    for (const statement of allowed) {
      expect(Object.keys(statement)).not.toContain('NotAction');
      expect(Object.keys(statement)).not.toContain('NotPrincipal');
      expect([statement.Action].flat().filter((action) => /[*?]/.test(action))).toEqual([]);
      expect(JSON.stringify(statement.Principal ?? '')).not.toContain('*');
    }
    for (const { Properties } of resourcesOf({ template }, 'AWS::Lambda::Permission')) {
      expect(JSON.stringify(Properties.Principal)).not.toContain('*');
    }
    for (const { Properties } of resourcesOf({ template }, 'AWS::IAM::Role')) {
      expect(Properties).not.toHaveProperty('ManagedPolicyArns');
      expect(Properties).not.toHaveProperty('Policies');
    }
  });

  it('every environment allows on every resource only what AWS knows no narrower one for', () => {
    const policies = checked.flatMap(({ template }) => resourcesOf({ template }, 'AWS::IAM::Policy'));
    const statements = policies.flatMap(({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement);
    const everywhere = statements.filter(
      ({ Effect, Resource }) => Effect === 'Allow' && [Resource].flat().includes('*'),
    );
    expect(new Set(everywhere.flatMap(({ Action }) => Action))).toEqual(
      new Set([
        // A list of all secrets of an account, which holds no values.
        'secretsmanager:ListSecrets',
        // X-Ray has no resource that a trace could be written to.
        'xray:PutTraceSegments',
        'xray:PutTelemetryRecords',
        // EC2 describes all network interfaces and subnets of a region or none.
        'ec2:DescribeNetworkInterfaces',
        'ec2:DescribeSubnets',
      ]),
    );
  });
});

describe('an acknowledgement', () => {
  const all = checked[0]?.acknowledged ?? [];

  it.each(all.map((one, index) => ({ ...one, index })))('matches a finding: $id in $construct', ({ index }) => {
    const matchedIn = checked.filter(({ acknowledged, matched }) => matched(acknowledged[index]));
    expect(matchedIn).not.toEqual([]);
  });

  it('of another resource, or with another id, would match none', () => {
    const [{ matched, acknowledged }] = checked as [(typeof checked)[0]];
    const [one] = acknowledged;
    expect(matched(one)).toBe(true);
    expect(matched(one && { ...one, construct: 'TokenEndpoint' })).toBe(false);
    expect(matched(one && { ...one, id: 'AwsSolutions::AwsSolutions-IAM5' })).toBe(false);
  });

  it('says why', () => {
    for (const { reason } of all) expect(reason.length).toBeGreaterThan(30);
  });
});

describe('an unacknowledged finding', () => {
  const { open, stopped } = check('test', exampleForm(), {
    change: (stack) => {
      new CfnTopic(stack, 'BrokenTopic');
      new CfnQueue(stack, 'BrokenQueue').addPropertyOverride('Nonsense', true);
    },
  });

  it.each([
    ['a rule of AWS Solutions', 'AwsSolutions-SNS3 at BrokenTopic'],
    ['a rule of Serverless', 'Serverless-SQSRedrivePolicy at BrokenQueue'],
    ['a rule of the CDK', 'F3002 at BrokenQueue'],
  ])('is told: %s', (_, finding) => {
    expect(open).toContain(finding);
  });

  it('stops synth', () => {
    expect(stopped).toBe(true);
  });

  it('stops synth even if it is only a warning', { timeout: 120_000 }, () => {
    const butOne = check('test', exampleForm(), {
      kept: ({ id }) => id !== 'AwsSolutions::AwsSolutions-DDB3',
    });
    expect(butOne.open).toEqual(['AwsSolutions-DDB3 at PairTable/Table/Resource']);
    expect(butOne.stopped).toBe(true);
  });
});

/** The statements of all policies: of roles, of resources, and of who may assume a role. */
function statementsOf(template: Template): readonly Statement[] {
  return Object.values(template.Resources).flatMap(({ Properties }) =>
    ['PolicyDocument', 'KeyPolicy', 'ResourcePolicy', 'AssumeRolePolicyDocument'].flatMap(
      (policy): readonly Statement[] => Properties?.[policy]?.Statement ?? [],
    ),
  );
}

interface Options {
  readonly change?: (stack: Stack) => unknown;
  readonly kept?: (one: Acknowledgement) => boolean;
}

/** What the checks tell of an environment's template, with a change or without some of the acknowledgements. */
function check(name: string, form: unknown, { change = () => undefined, kept = () => true }: Options = {}) {
  const outdir = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  try {
    const context = { ...cdkJson.context, 'aws:cdk:bundling-stacks': [] };
    const app = new App({ analyticsReporting: false, outdir, context });
    const stack = new TokenBrokerStack(app, STACK, { environment: parseEnvironment(name, form) });
    const acknowledged = acknowledgements(stack, name);
    acknowledge(stack, acknowledged.filter(kept));
    change(stack);
    checkTemplates(app);
    const stopped = isStopped(() => app.synth());
    const template: Template = JSON.parse(readFileSync(path.join(outdir, `${STACK}.template.json`), 'utf8'));
    return { acknowledged, stopped, template, ...readReport(outdir) };
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

function isStopped(synth: () => unknown): boolean {
  try {
    synth();
    return false;
  } catch (error) {
    if (error instanceof Error && error.name === 'ValidationFailed') return true;
    throw error;
  }
}

function readReport(outdir: string) {
  const report: Report = JSON.parse(readFileSync(path.join(outdir, 'validation-report.json'), 'utf8'));
  const suppressed = report.pluginReports.flatMap(({ suppressedViolations = [] }) => suppressedViolations);
  const all = report.pluginReports.flatMap((one) => one.violations);
  const violations = all.filter(({ ruleName }) => !ruleName.endsWith(ADVICE));
  return {
    open: violations.flatMap(({ ruleName, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath }) => `${ruleName} at ${constructPath.replace(`${STACK}/`, '')}`),
    ),
    matched: (one: Acknowledgement | undefined) =>
      suppressed.some(
        ({ acknowledgedId, acknowledgedAt }) =>
          acknowledgedId === one?.id && acknowledgedAt === `${STACK}/${one.construct}`,
      ),
  };
}

/** What the stack itself says to an operator: no finding, and it stops nothing. */
const ADVICE = 'token-broker:no-subscriber';

/** What matters of the file that the CDK writes. */
interface Report {
  readonly pluginReports: readonly {
    readonly violations: readonly Violation[];
    readonly suppressedViolations?: readonly (Violation & {
      readonly acknowledgedId: string;
      readonly acknowledgedAt: string;
    })[];
  }[];
}

interface Violation {
  readonly ruleName: string;
  readonly violatingConstructs: readonly { readonly constructPath: string }[];
}
