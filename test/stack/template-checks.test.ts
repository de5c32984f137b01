import { mkdtempSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { App, type Stack } from 'aws-cdk-lib';
import { CfnTopic } from 'aws-cdk-lib/aws-sns';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, it } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { acknowledge, acknowledgements, checkTemplates } from '../../lib/checks/template-checks.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { everyForm } from '../unit/settings/every-form.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { resourcesOf, type Statement, type Template } from './synthesise.ts';
import { SYNTHESISED } from './synthesise-once.ts';

const STACK = 'TokenBroker';
/** What the stack itself says to an operator: no finding, and it stops nothing. */
const ADVICE = 'token-broker:no-subscriber';
const checked = Object.entries(everyForm).map(([name, form]) => ({ name, ...check(name, form) }));

describe('the template of', () => {
  it.each(checked)('$name is without an unacknowledged finding', ({ open, stopped }) => {
    expect(open).toEqual([]);
    expect(stopped).toBe(false);
  });

  it.each(checked)('$name asks for a signature at every URL', ({ template }) => {
    const urls = resourcesOf({ template }, 'AWS::Lambda::Url');
    expect(new Set(urls.map(({ Properties }) => Properties.AuthType))).toEqual(new Set(['AWS_IAM']));
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
    const everywhere = checked
      .flatMap(({ template }) => resourcesOf({ template }, 'AWS::IAM::Policy'))
      .flatMap(({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement)
      .filter(({ Effect, Resource }) => Effect === 'Allow' && [Resource].flat().includes('*'));
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

it('every acknowledgement matches a finding somewhere, and says why', () => {
  const acknowledged = checked.find(({ name }) => name === 'all-options')?.acknowledged ?? [];
  expect(acknowledged).not.toEqual([]);
  const matched = new Set(checked.flatMap((one) => one.matched));
  expect(acknowledged.filter(({ id, construct }) => !matched.has(`${id} at ${construct}`))).toEqual([]);
  for (const { reason } of acknowledged) expect(reason.length).toBeGreaterThan(30);
});

describe('an unacknowledged finding', () => {
  const { open, stopped } = check('test', exampleForm(), {
    change: (stack) => {
      new CfnTopic(stack, 'BrokenTopic');
      new CfnQueue(stack, 'BrokenQueue').addPropertyOverride('Nonsense', true);
    },
  });

  it('is told, whether it is of cdk-nag or of the CDK, and stops synth', () => {
    expect(open).toEqual(expect.arrayContaining(['AwsSolutions-SNS3 at BrokenTopic', 'F3002 at BrokenQueue']));
    expect(stopped).toBe(true);
  });

  it('stops synth even if it is only a warning', () => {
    const butOne = check('test', exampleForm(), { without: 'AwsSolutions::AwsSolutions-DDB3' });
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
  /** The id of an acknowledgement that is not made. */
  readonly without?: string;
}

/** What the checks tell of an environment's template, with a change or without one of the acknowledgements. */
function check(name: string, form: unknown, { change = () => undefined, without }: Options = {}) {
  const outdir = mkdtempSync(path.join(SYNTHESISED, 'checked-'));
  const context = { ...cdkJson.context, 'aws:cdk:bundling-stacks': [] };
  const app = new App({ analyticsReporting: false, outdir, context });
  const stack = new TokenBrokerStack(app, STACK, { environment: parseEnvironment(name, form) });
  const acknowledged = acknowledgements(stack, name);
  acknowledge(
    stack,
    acknowledged.filter(({ id }) => id !== without),
  );
  change(stack);
  checkTemplates(app);
  const stopped = isStopped(() => app.synth());
  const read = (file: string) => JSON.parse(readFileSync(path.join(outdir, file), 'utf8'));
  const template: Template = read(`${STACK}.template.json`);
  const { pluginReports }: Report = read('validation-report.json');
  const inStack = (construct: string) => construct.replace(`${STACK}/`, '');
  return {
    acknowledged,
    stopped,
    template,
    open: pluginReports.flatMap(({ violations }) =>
      violations
        .filter(({ ruleName }) => !ruleName.endsWith(ADVICE))
        .flatMap(({ ruleName, violatingConstructs }) =>
          violatingConstructs.map(({ constructPath }) => `${ruleName} at ${inStack(constructPath)}`),
        ),
    ),
    matched: pluginReports.flatMap(({ suppressedViolations = [] }) =>
      suppressedViolations.map(
        ({ acknowledgedId, acknowledgedAt }) => `${acknowledgedId} at ${inStack(acknowledgedAt)}`,
      ),
    ),
  };
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

/** What matters of the file that the CDK writes. */
interface Report {
  readonly pluginReports: readonly {
    readonly violations: readonly {
      readonly ruleName: string;
      readonly violatingConstructs: readonly { readonly constructPath: string }[];
    }[];
    readonly suppressedViolations?: readonly { readonly acknowledgedId: string; readonly acknowledgedAt: string }[];
  }[];
}
