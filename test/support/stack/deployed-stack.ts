import type { EnvironmentForm } from '../../../lib/settings/settings.ts';
import { type Deployed, deploy, type TemplateText } from '../aws/cloudformation.ts';
import { type Options, synthesise } from './synthesise.ts';

/** The stack of an environment as it is in AWS. */
export type DeployedStack = ReturnType<typeof deployStack>;

export function deployStack(name: string, form: EnvironmentForm | undefined, options: Options = {}) {
  if (form === undefined) throw new Error(`There is no environment ${name}.`);
  const { account, region } = form;
  const place = { stackName: `TokenBroker-${name}`, account, region };
  const resources = deploy(synthesise(name, form, options).template, place);
  const find = finder(resources);
  const { TargetFunctionArn, Qualifier } = find('TokenEndpoint', 'AWS::Lambda::Url').properties;
  return {
    account,
    region,
    resources,
    /** The ARN of the one resource of the type within the construct that is called so. */
    arnOf: (construct: string, type: string) => find(construct, type).arn ?? '',
    /** The target of the Function URL: the alias that the URL is on. */
    urlTarget: `${TargetFunctionArn}:${Qualifier}`,
  };
}

/** The resources of a template of the tests. */
export function deployed({ template }: { readonly template: TemplateText }): readonly Deployed[] {
  return deploy(template, { stackName: 'TokenBroker-test', account: '111111111111', region: 'eu-west-1' });
}

/** Gives the one resource of the type within the construct that is called so. */
export function finder(resources: readonly Deployed[]) {
  return (construct: string, type: string): Deployed => {
    const [found, ...others] = resources.filter(({ id, type: own }) => id.startsWith(construct) && own === type);
    if (found === undefined || others.length > 0) throw new Error(`${construct} has not one ${type}`);
    return found;
  };
}
