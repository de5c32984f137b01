import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { App, type Stack } from 'aws-cdk-lib';
import { CfnUrl } from 'aws-cdk-lib/aws-lambda';
import { CfnTopic } from 'aws-cdk-lib/aws-sns';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { describe, expect, it } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { type Acknowledgement, acknowledgements, actionsOnEverything } from '../../lib/checks/acknowledgements.ts';
import { acknowledge, checkTemplates } from '../../lib/checks/template-checks.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { TokenBrokerStack } from '../../lib/token-broker-stack.ts';
import { everyForm } from './every-form.ts';
import { exampleForm } from './example-form.ts';
import { resourcesOf, type Statement, type Template } from './synthesise.ts';

const STACK = 'TokenBroker';
const checked = Object.entries(everyForm).map(([name, form]) => ({ name, ...check(name, form) }));

describe('the template of', () => {
  it.each(checked)('$name is without a finding that nobody acknowledged', ({ open, stopped }) => {
    expect(open).toEqual([]);
    expect(stopped).toBe(false);
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

  it.each(Object.keys(actionsOnEverything))('of %s on every resource is needed by a role', (action) => {
    const statements = checked
      .flatMap(({ template }) => resourcesOf({ template }, 'AWS::IAM::Policy'))
      .flatMap(({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement);
    const everywhere = statements.filter(({ Resource }) => Resource === '*').flatMap(({ Action }) => Action);
    expect(everywhere).toContain(action);
  });
});

describe('a finding that nobody acknowledged', () => {
  const { open, stopped } = check('test', exampleForm(), {
    change: (stack) => {
      new CfnTopic(stack, 'BrokenTopic');
      new CfnQueue(stack, 'BrokenQueue').addPropertyOverride('Nonsense', true);
      new CfnUrl(stack, 'BrokenUrl', { authType: 'NONE', targetFunctionArn: 'token-broker' });
    },
  });

  it.each([
    ['a rule of AWS Solutions', 'AwsSolutions-SNS3 at BrokenTopic'],
    ['a rule of Serverless', 'Serverless-SQSRedrivePolicy at BrokenQueue'],
    ['a rule of the CDK', 'F3002 at BrokenQueue'],
    ['a rule of ours', 'function_url_asks_for_a_signature at BrokenUrl'],
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
  const violations = report.pluginReports.flatMap((one) => one.violations);
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
