import type { Deployed } from '../../support/aws/cloudformation.ts';
import { type Context, isAllowed, type Policies, parsePolicy, type Request } from '../../support/aws/iam.ts';

/** A role, and what its requests tell of themselves: those of a function's code name the function. */
export interface Actor {
  readonly requester: string;
  readonly context?: Context;
}

/** An account: its resources, the policies by which AWS decides there, and the roles that one person or function has. */
export interface World {
  readonly stack: readonly Deployed[];
  readonly policies: Policies;
  readonly actors: readonly Actor[];
}

/** Whether one of the actors may make all of these requests: a value is read and decrypted as one role. */
export function canDo({ policies, actors }: World, requests: readonly Omit<Request, 'requester'>[]): boolean {
  return actors.some(({ requester, context }) =>
    requests.every((request) =>
      isAllowed(policies, { ...request, requester, context: { ...request.context, ...context } }),
    ),
  );
}

export function can(world: World, action: string, resource: string, context: Context = {}): boolean {
  return canDo(world, [{ action, resource, context }]);
}

/**
 * The actions that can give a role more than it has. Each makes of a world what it becomes when the actors do it wherever
 * they may, with the widest policy: more than AWS would take, so that what stays out of reach is out of reach.
 */
export const STEPS: Readonly<Record<string, (world: World) => World>> = {
  PutResourcePolicy: (world) =>
    ['AWS::SecretsManager::Secret', 'AWS::DynamoDB::Table'].reduce((opened, type) => {
      const service = type.split('::')[1]?.toLowerCase();
      return onEach(opened, arnsOf(opened, type), (arn) => can(opened, `${service}:PutResourcePolicy`, arn), open);
    }, world),
  PutKeyPolicy: (world) => onEach(world, keysOf(world), (arn) => can(world, 'kms:PutKeyPolicy', arn, OF_KEY), open),
  CreateGrant: (world) => onEach(world, keysOf(world), (arn) => can(world, 'kms:CreateGrant', arn, OF_KEY), open),
  PutRolePolicy: (world) => empowered(world, 'iam:PutRolePolicy'),
  AttachRolePolicy: (world) => empowered(world, 'iam:AttachRolePolicy'),
  UpdateAssumeRolePolicy: (world) =>
    onEach(world, rolesOf(world), (arn) => can(world, 'iam:UpdateAssumeRolePolicy', arn), open),
  AddPermission: (world) => onEach(world, callablesOf(world), (arn) => can(world, 'lambda:AddPermission', arn), open),
  UpdateFunctionCode: (world) => runCode(world, 'lambda:UpdateFunctionCode'),
  UpdateFunctionConfiguration: (world) => runCode(world, 'lambda:UpdateFunctionConfiguration'),
  'PassRole with CreateFunction': (world) => {
    // Any name, and names that begin as a function's of the stack.
    const names = functionsOf(world).flatMap(({ arn = '' }) => [arn.replace(/[^:]+$/, 'any'), `${arn}-2`]);
    const made = [...new Set(names)].filter((arn) => can(world, 'lambda:CreateFunction', arn));
    const passed = rolesOf(world).filter((role) => isPassable(world, role, 'lambda'));
    return enter(
      world,
      made.flatMap((arn) => passed.map((requester) => actorOf(requester, arn))),
    );
  },
};

/** The world once the actors are every role that they may assume, or with which they may have CloudFormation deploy. */
export function assumeRoles(world: World): World {
  const isDeploying = can(world, 'cloudformation:CreateChangeSet', STACK);
  const roles = rolesOf(world).filter(
    (role) => can(world, 'sts:AssumeRole', role) || (isDeploying && isPassable(world, role, 'cloudformation')),
  );
  const wider = enter(
    world,
    roles.map((requester) => ({ requester })),
  );
  return wider === world ? world : assumeRoles(wider);
}

const STACK = 'arn:aws:cloudformation:eu-west-1:111111111111:stack/TokenBroker-test/0123';

/** The condition keys of every request about the stack's key. */
const OF_KEY: Context = {
  'kms:CallerAccount': '111111111111',
  'aws:ResourceTag/application': 'token-broker',
  'aws:ResourceTag/environment': 'test',
};

type Change = (world: World, arn: string) => World;

function onEach(world: World, arns: readonly string[], isPermitted: (arn: string) => boolean, change: Change): World {
  return arns.filter(isPermitted).reduce(change, world);
}

/** Leaves the resource no policy but one that allows every principal everything; a role knows one action alone. */
function open(world: World, arn: string): World {
  const { ofResource } = world.policies;
  const Action = arn.includes(':role/') ? 'sts:AssumeRole' : '*';
  const opened = parsePolicy({ Version: '2012-10-17', Statement: { ...EVERYTHING, Action, Principal: '*' } });
  return withPolicies(world, { ofResource: (other) => (other === arn ? opened : ofResource(other)) });
}

/** Gives every right to each role whose policies the actors may change so, beside what its own policies say. */
function empowered(world: World, action: string): World {
  const { ofRole } = world.policies;
  const every = parsePolicy({ Version: '2012-10-17', Statement: EVERYTHING });
  const roles = rolesOf(world).filter((arn) => can(world, action, arn, boundaryOf(world, arn)));
  if (roles.length === 0) return world;
  return withPolicies(world, { ofRole: (arn) => (roles.includes(arn) ? [...ofRole(arn), ...every] : ofRole(arn)) });
}

function runCode(world: World, action: string): World {
  const changed = functionsOf(world).filter(({ arn = '' }) => can(world, action, arn));
  const isConfigured = action.endsWith('Configuration');
  const passed = isConfigured ? rolesOf(world).filter((role) => isPassable(world, role, 'lambda')) : [];
  const actors = changed.flatMap(({ arn = '', properties: { Role } }) =>
    [...passed, `${Role}`].map((requester) => actorOf(requester, arn)),
  );
  return enter(world, actors);
}

/** Whether an actor may hand a role to a service, which the role lets take it on. */
function isPassable(world: World, role: string, name: string): boolean {
  const service = `${name}.amazonaws.com`;
  const isTrusting = isAllowed(world.policies, { requester: service, action: 'sts:AssumeRole', resource: role });
  return isTrusting && can(world, 'iam:PassRole', role, { 'iam:PassedToService': service });
}

function actorOf(requester: string, functionArn: string): Actor {
  return { requester, context: { 'lambda:SourceFunctionArn': functionArn } };
}

/** Adds actors; gives the same world when none of them is new. */
function enter(world: World, actors: readonly Actor[]): World {
  const known = new Set(world.actors.map((actor) => JSON.stringify(actor)));
  const added = actors.filter((actor) => !known.has(JSON.stringify(actor)));
  return added.length === 0 ? world : { ...world, actors: [...world.actors, ...added] };
}

function withPolicies(world: World, changed: Partial<Policies>): World {
  return { ...world, policies: { ...world.policies, ...changed } };
}

/** The boundary that IAM sees in a request to change the rights of a role. */
function boundaryOf({ stack }: World, role: string): Context {
  const boundary = stack.find(({ arn }) => arn === role)?.properties.PermissionsBoundary;
  return boundary === undefined ? {} : { 'iam:PermissionsBoundary': boundary };
}

function arnsOf({ stack }: World, ...types: readonly string[]): readonly string[] {
  return stack.filter(({ type }) => types.includes(type)).flatMap(({ arn = [] }) => arn);
}

const keysOf = (world: World) => arnsOf(world, 'AWS::KMS::Key');
const callablesOf = (world: World) =>
  arnsOf(world, 'AWS::Lambda::Function', 'AWS::Lambda::Alias', 'AWS::Lambda::Version');
const functionsOf = ({ stack }: World) => stack.filter(({ type }) => type === 'AWS::Lambda::Function');
/** Those of the stack, and those that the actors already are. */
const rolesOf = (world: World) => [
  ...new Set([...arnsOf(world, 'AWS::IAM::Role'), ...world.actors.map(({ requester }) => requester)]),
];

const EVERYTHING = { Effect: 'Allow', Action: '*', Resource: '*' };
