import type { EnvironmentForm } from '../../lib/settings/environment.ts';
import { type Deployed, deploy } from '../support/cloudformation.ts';
import { synthesise } from './synthesise.ts';

/** The stack of an environment as it is in AWS. */
export interface DeployedStack {
  readonly resources: readonly Deployed[];
  /** The ARN of the one resource of the type within the construct that is called so. */
  readonly arnOf: (construct: string, type: string) => string;
  /** What the Function URL runs: the function, or the alias that the URL is on. */
  readonly urlTarget: string;
}

export function deployStack(name: string, form: EnvironmentForm): DeployedStack {
  const { account, region } = form;
  const stackName = `TokenBroker-${name}`;
  const resources = deploy(synthesise(name, form).template, { stackName, account, region, partition: 'aws' });
  return {
    resources,
    arnOf: (construct, type) => {
      const found = resources.filter((resource) => resource.id.startsWith(construct) && resource.type === type);
      const arn = found[0]?.arn;
      if (arn === undefined || found.length > 1) throw new Error(`${construct} has ${found.length} of ${type}`);
      return arn;
    },
    urlTarget: urlTargetOf(resources),
  };
}

function urlTargetOf(resources: readonly Deployed[]): string {
  const [url, ...others] = resources.filter(({ type }) => type === 'AWS::Lambda::Url');
  if (url === undefined || others.length > 0) throw new Error('A stack has one URL.');
  const { TargetFunctionArn, Qualifier } = url.properties;
  return Qualifier === undefined ? TargetFunctionArn : `${TargetFunctionArn}:${Qualifier}`;
}
