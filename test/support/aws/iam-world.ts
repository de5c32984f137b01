import type { Deployed } from './cloudformation.ts';
import { type Policies, parsePolicy, type Statement } from './iam.ts';

/** The policies of a deployed stack, and those of roles and the boundaries that are not in it, by their ARNs. */
export function policiesOf(stack: readonly Deployed[], others: Readonly<Record<string, unknown>> = {}): Policies {
  const find = (arn: string) => {
    if (others[arn] === undefined) throw new Error(`Who is ${arn}?`);
    return parsePolicy(others[arn]);
  };
  const roleOf = (arn: string) => stack.find((one) => one.arn === arn);
  const ofResources = stack.flatMap((resource) => resourcePolicies(resource, stack));
  return {
    ofRole: once((arn) => {
      const role = roleOf(arn);
      return role === undefined ? find(arn) : ownPolicies(role, stack);
    }),
    boundaryOf: once((arn) => {
      const boundary = roleOf(arn)?.properties.PermissionsBoundary;
      return boundary && find(boundary);
    }),
    ofResource: (arn) => ofResources.filter(({ resource }) => resource === arn).flatMap(({ statements }) => statements),
  };
}

/** Reads the policies of a principal once: a search for ways asks for them a thousand times. */
function once<Policy>(read: (arn: string) => Policy): (arn: string) => Policy {
  const known = new Map<string, Policy>();
  return (arn) => {
    if (!known.has(arn)) known.set(arn, read(arn));
    return known.get(arn) as Policy;
  };
}

/** The same where keys have AWS's own policy of a new key, which leaves everything to the account. */
export function withDefaultKeyPolicy(policies: Policies): Policies {
  const Principal = { AWS: 'arn:aws:iam::111111111111:root' };
  const Statement = { Effect: 'Allow', Principal, Action: 'kms:*', Resource: '*' };
  const ofKey = parsePolicy({ Version: '2012-10-17', Statement });
  return { ...policies, ofResource: (arn) => (arn.includes(':kms:') ? ofKey : policies.ofResource(arn)) };
}

function ownPolicies({ ref, properties }: Deployed, stack: readonly Deployed[]): readonly Statement[] {
  for (const elsewhere of ['Policies', 'ManagedPolicyArns']) {
    if (elsewhere in properties) throw new Error(`${ref} has ${elsewhere}`);
  }
  return stack
    .filter(({ type, properties: { Roles } }) => type === 'AWS::IAM::Policy' && Roles.includes(ref))
    .flatMap(({ properties: { PolicyDocument } }) => parsePolicy(PolicyDocument));
}

/** Types whose policy says who may use a resource: where the policy is, and which resources it is about, if not its own. */
const POLICIES: Readonly<Record<string, readonly [document: string, about?: string]>> = {
  'AWS::KMS::Key': ['KeyPolicy'],
  'AWS::IAM::Role': ['AssumeRolePolicyDocument'],
  'AWS::SNS::TopicPolicy': ['PolicyDocument', 'Topics'],
  'AWS::SQS::QueuePolicy': ['PolicyDocument', 'Queues'],
  'AWS::S3::BucketPolicy': ['PolicyDocument', 'Bucket'],
  'AWS::SecretsManager::ResourcePolicy': ['ResourcePolicy', 'SecretId'],
};

function resourcePolicies({ id, type, arn, properties }: Deployed, stack: readonly Deployed[]) {
  if (type === 'AWS::Lambda::Permission') {
    return [{ resource: `${properties.FunctionName}`, statements: permission(properties) }];
  }
  const [document, about] = POLICIES[type] ?? [];
  if (document !== undefined) {
    const refs = about === undefined ? [] : [properties[about]].flat();
    const arns = about === undefined ? [arn] : refs.map((ref) => stack.find((one) => one.ref === ref)?.arn);
    return arns.map((resource) => ({ resource, statements: parsePolicy(properties[document]) }));
  }
  if (type !== 'AWS::IAM::Policy' && Object.keys(properties).some((name) => /Policy(Document)?$/.test(name))) {
    throw new Error(`What does the policy of ${id} say, ${type}?`);
  }
  return [];
}

/** The statement that Lambda adds to a function's policy (AddPermission). */
function permission({ Action, FunctionName, Principal, ...only }: Deployed['properties']): readonly Statement[] {
  const conditions = Object.entries(only).map(([name, value]) => {
    const [operator, key] = PERMISSION_CONDITIONS[name] ?? [];
    if (operator === undefined || key === undefined) throw new Error(`A permission with ${name}`);
    return [operator, { [key]: value }];
  });
  const Statement = {
    Effect: 'Allow',
    Principal: /\.amazonaws\.com$/.test(Principal) ? { Service: Principal } : { AWS: Principal },
    Action,
    Resource: FunctionName,
    Condition: Object.fromEntries(conditions),
  };
  return parsePolicy({ Version: '2012-10-17', Statement });
}

const PERMISSION_CONDITIONS: Readonly<Record<string, readonly [operator: string, key: string]>> = {
  FunctionUrlAuthType: ['StringEquals', 'lambda:FunctionUrlAuthType'],
  InvokedViaFunctionUrl: ['Bool', 'lambda:InvokedViaFunctionUrl'],
  PrincipalOrgID: ['StringEquals', 'aws:PrincipalOrgID'],
  SourceArn: ['ArnLike', 'aws:SourceArn'],
};
