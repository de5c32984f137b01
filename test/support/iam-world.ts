import type { Deployed } from './cloudformation.ts';
import type { Policies } from './iam.ts';
import { parsePolicy, type Statement } from './iam-policy.ts';

/** The policies of a deployed stack, and those of roles that are not in it, by their ARNs. */
export function policiesOf(stack: readonly Deployed[], others: Readonly<Record<string, unknown>> = {}): Policies {
  const ofRoles = new Map([
    ...Object.entries(others).map(([arn, document]) => [arn, parsePolicy(document)] as const),
    ...stack
      .filter(({ type }) => type === 'AWS::IAM::Role')
      .map((role) => [role.arn, ownPolicies(role, stack)] as const),
  ]);
  const ofResources = stack.flatMap((resource) => resourcePolicies(resource, stack));
  return {
    ofRole: (arn) => {
      const statements = ofRoles.get(arn);
      if (statements === undefined) throw new Error(`Who is ${arn}?`);
      return statements;
    },
    ofResource: (arn) => ofResources.filter(({ resource }) => resource === arn).flatMap(({ statements }) => statements),
  };
}

function ownPolicies({ ref, properties }: Deployed, stack: readonly Deployed[]): readonly Statement[] {
  for (const elsewhere of ['Policies', 'ManagedPolicyArns', 'PermissionsBoundary']) {
    if (elsewhere in properties) throw new Error(`${ref} has ${elsewhere}`);
  }
  return stack
    .filter(({ type, properties: { Roles } }) => type === 'AWS::IAM::Policy' && Roles.includes(ref))
    .flatMap(({ properties: { PolicyDocument } }) => parsePolicy(PolicyDocument));
}

interface ResourcePolicy {
  /** An ARN. */
  readonly resource: string | undefined;
  readonly statements: readonly Statement[];
}

/** What a part of a template says about who may use a resource, itself or another one. */
function resourcePolicies(part: Deployed, stack: readonly Deployed[]): readonly ResourcePolicy[] {
  const { type, arn, properties } = part;
  const on = (refs: readonly string[], document: unknown) =>
    refs.map((ref) => ({ resource: stack.find((one) => one.ref === ref)?.arn, statements: parsePolicy(document) }));
  switch (type) {
    case 'AWS::KMS::Key':
      return [{ resource: arn, statements: parsePolicy(properties.KeyPolicy) }];
    case 'AWS::IAM::Role':
      return [{ resource: arn, statements: parsePolicy(properties.AssumeRolePolicyDocument) }];
    case 'AWS::Lambda::Permission':
      return [{ resource: properties.FunctionName, statements: [permission(properties)] }];
    case 'AWS::SNS::TopicPolicy':
      return on(properties.Topics, properties.PolicyDocument);
    case 'AWS::SQS::QueuePolicy':
      return on(properties.Queues, properties.PolicyDocument);
    case 'AWS::SecretsManager::ResourcePolicy':
      return on([properties.SecretId], properties.ResourcePolicy);
    default:
      if (type !== 'AWS::IAM::Policy' && Object.keys(properties).some((name) => /Policy(Document)?$/.test(name))) {
        throw new Error(`What does the policy of ${part.id} say, ${type}?`);
      }
      return [];
  }
}

/**
 * The statement that Lambda adds to a function's policy.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
 */
function permission(properties: Readonly<Record<string, unknown>>): Statement {
  const { Action, FunctionName, Principal, ...rest } = properties;
  const { FunctionUrlAuthType, InvokedViaFunctionUrl, SourceAccount, SourceArn, ...unknown } = rest;
  if (Object.keys(unknown).length > 0) throw new Error(`A permission with ${Object.keys(unknown)}`);
  const isService = /\.amazonaws\.com$/.test(`${Principal}`);
  const [statement] = parsePolicy({
    Version: '2012-10-17',
    Statement: {
      Effect: 'Allow',
      Principal: isService ? { Service: Principal } : { AWS: Principal },
      Action,
      Resource: FunctionName,
      Condition: {
        ...(FunctionUrlAuthType !== undefined && {
          StringEquals: { 'lambda:FunctionUrlAuthType': FunctionUrlAuthType },
        }),
        ...(InvokedViaFunctionUrl !== undefined && { Bool: { 'lambda:InvokedViaFunctionUrl': InvokedViaFunctionUrl } }),
        ...(SourceAccount !== undefined && { StringLike: { 'aws:SourceAccount': SourceAccount } }),
        ...(SourceArn !== undefined && { ArnLike: { 'aws:SourceArn': SourceArn } }),
      },
    },
  });
  if (statement === undefined) throw new Error('A permission is a statement.');
  return statement;
}
