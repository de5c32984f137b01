import {
  type App,
  CloudFormationValidatePlugin,
  type IPolicyValidationContext,
  type IPolicyValidationPlugin,
  type Stack,
  Validations,
} from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';
import type { Acknowledgement } from './acknowledgements.ts';

/**
 * Checks every template that the app synthesises with two packs of cdk-nag and the CDK's own rules, offline. Each finding
 * that is not acknowledged fails synth.
 */
export function checkTemplates(app: App): void {
  Validations.of(app).addPlugins(
    withoutWarnings(new AwsSolutionsChecks(app)),
    withoutWarnings(new ServerlessChecks(app)),
    withoutWarnings(new CloudFormationValidatePlugin()),
  );
}

/** Lets the checks pass over findings in a stack; throws for a construct that is not there. */
export function acknowledge(stack: Stack, acknowledgements: readonly Acknowledgement[]): void {
  for (const { construct, ...rule } of acknowledgements) {
    const scope = construct.split('/').reduce<IConstruct>(({ node }, id) => node.findChild(id), stack);
    Validations.of(scope).acknowledge(rule);
  }
}

/** Makes every finding an error, because synth continues after a warning and an operator easily overlooks it. */
function withoutWarnings(plugin: Pick<IPolicyValidationPlugin, 'validate'>): IPolicyValidationPlugin {
  const validate = (context: IPolicyValidationContext) => {
    const violations = plugin.validate(context).violations.map((one) => ({ ...one, severity: 'error' }));
    return { violations, success: violations.length === 0 };
  };
  // Still an instance of its class, or the CDK adds its own rules a second time.
  return Object.create(plugin, { validate: { value: validate } });
}
