import type { EnvironmentForm } from '../../lib/settings/environment.ts';
import { type Deployed, deploy } from '../support/cloudformation.ts';
import { keyRequests } from '../support/iam-key-requests.ts';
import { computeRequests, otherRequests } from '../support/iam-other-requests.ts';
import type { Asked } from '../support/iam-requests.ts';
import { secretRequests, tableRequests } from '../support/iam-storage-requests.ts';
import { synthesise } from './synthesise.ts';

/** The stack of an environment as it is in AWS. */
export interface DeployedStack {
  readonly resources: readonly Deployed[];
  /** The ARN of the one resource of the type within the construct that is called so. */
  readonly arnOf: (construct: string, type: string) => string;
  /** What the Function URL runs: the alias that the URL is on. */
  readonly urlTarget: string;
}

export function deployStack(name: string, form: EnvironmentForm | undefined): DeployedStack {
  if (form === undefined) throw new Error(`There is no environment ${name}.`);
  const { account, region } = form;
  const stackName = `TokenBroker-${name}`;
  const resources = deploy(synthesise(name, form).template, { stackName, account, region, partition: 'aws' });
  const find = finder(resources);
  const { TargetFunctionArn, Qualifier } = find('TokenEndpoint', 'AWS::Lambda::Url').properties;
  return {
    resources,
    arnOf: (construct, type) => {
      const { arn } = find(construct, type);
      if (arn === undefined) throw new Error(`${construct} of ${type} has no ARN.`);
      return arn;
    },
    urlTarget: `${TargetFunctionArn}:${Qualifier}`,
  };
}

/** Gives the one resource of the type within the construct that is called so. */
export function finder(resources: readonly Deployed[]) {
  return (construct: string, type: string): Deployed => {
    const [found, ...others] = resources.filter(({ id, type: own }) => id.startsWith(construct) && own === type);
    if (found === undefined || others.length > 0) throw new Error(`${construct} has not one ${type}`);
    return found;
  };
}

/**
 * Requests by what they are for: those that the functions make, and those that an intruder in them might try, with the log
 * of one construct as their own.
 */
export function requestsTo(stack: DeployedStack, own: string): Readonly<Record<string, Asked>> {
  const { resources, arnOf, urlTarget } = stack;
  const [, , , region = '', account = ''] = urlTarget.split(':');
  const targets = {
    account,
    region,
    environment: 'test',
    key: arnOf('ClientSecrets', 'AWS::KMS::Key'),
    table: arnOf('PairTable', 'AWS::DynamoDB::Table'),
    sealingKey: arnOf('PairTable', 'AWS::SecretsManager::Secret'),
    topic: arnOf('OperatorTopic', 'AWS::SNS::Topic'),
    queue: arnOf('FailedEvents', 'AWS::SQS::Queue'),
    alias: urlTarget,
    next: arnOf('ReleaseCheck', 'AWS::Lambda::Alias'),
    deploymentGroup: arnOf('TokenEndpoint', 'AWS::CodeDeploy::DeploymentGroup'),
    functions: {
      releaseCheck: arnOf('ReleaseCheck', 'AWS::Lambda::Function'),
      token: arnOf('TokenEndpoint', 'AWS::Lambda::Function'),
      health: arnOf('CredentialHealth', 'AWS::Lambda::Function'),
    },
    probe: arnOf('CredentialHealthProbe', 'AWS::IAM::Role'),
    roles: resources.filter(({ type }) => type === 'AWS::IAM::Role').flatMap(({ arn = [] }) => arn),
    ownLog: arnOf(own, 'AWS::Logs::LogGroup'),
    otherLog: arnOf(own === 'TokenEndpoint' ? 'CredentialHealth' : 'TokenEndpoint', 'AWS::Logs::LogGroup'),
  };
  return {
    ...secretRequests(targets),
    ...tableRequests(targets),
    ...keyRequests(targets),
    ...computeRequests(targets),
    ...otherRequests(targets),
  };
}
