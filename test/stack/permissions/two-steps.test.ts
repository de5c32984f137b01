import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ownPolicies } from '../../../cli/policy/own-policies.ts';
import { bootstrapOf } from '../../../cli/policy.ts';
import { identityPolicy } from '../../../client/commands/policy.ts';
import { parseEnvironment } from '../../../lib/settings/settings.ts';
import type { Deployed } from '../../support/aws/cloudformation.ts';
import { isAllowed } from '../../support/aws/iam.ts';
import { policiesOf, withDefaultKeyPolicy } from '../../support/aws/iam-world.ts';
import { deployStack } from '../../support/stack/deployed-stack.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';
import { type Actor, assumeRoles, can, canDo, STEPS, type World } from './iam-steps.ts';
import { requestsTo } from './role-requests.ts';

const environment = parseEnvironment('test', exampleForm());
const context = { '@aws-cdk/core:permissionsBoundary': { name: 'team/bounds' } };
const { boundary } = bootstrapOf(environment, context);
const plain = deployStack('test', exampleForm());
const bounded = deployStack('test', exampleForm(), { context });
const requests = new Map(requestsTo(plain).map((row) => [row.what, row]));

type Statements = readonly object[];
const boundaryOf = (qualifier: string): Statements =>
  ownPolicies('boundary', environment, { qualifier }).flatMap(({ Statement }) => Statement);
const UNTAGGED = { Null: { 'aws:ResourceTag/application': 'true' } };
const allow = (Action: string | readonly string[], Resource: string = '*') => ({ Effect: 'Allow', Action, Resource });
const deployerOf = (qualifier: string) =>
  allow('sts:AssumeRole', `arn:aws:iam::111111111111:role/cdk-${qualifier}-deploy-role-111111111111-eu-west-1`);
const printed = (kind: Parameters<typeof ownPolicies>[0], within?: string): Statements =>
  ownPolicies(kind, environment, { qualifier: 'broker1', boundary: within }).flatMap(({ Statement }) => Statement);

/** The roles of one person, each with a policy that the command line prints; or the role of a function, as its code has it. */
const HOLDERS: Readonly<Record<string, World>> = {
  'a caller': worldOf([identityPolicy(plain.urlTarget).Statement]),
  'the health function': worldOf([], plain, [codeOf('CredentialHealth')]),
  'the release check': worldOf([], plain, [codeOf('ReleaseCheck')]),
  '`--operator`': worldOf([printed('operator')]),
  '`--emergency`': worldOf([printed('emergency')]),
  '`--operator`, `--emergency`': worldOf([printed('operator'), printed('emergency')]),
  '`--sealing-key`': worldOf([printed('sealingKey')]),
  '`--sealing-key`, `--operator`': worldOf([printed('sealingKey'), printed('operator')]),
  '`--sealing-key`, `--emergency`': worldOf([printed('sealingKey'), printed('emergency')]),
  '`--execution`, `--deploy`': worldOf([printed('execution')]),
  'both, with a permissions boundary': worldOf([printed('execution', boundary)], bounded),
  'a deployer of the default bootstrap': worldOf([[deployerOf('hnb659fds')]]),
};

it('the table in docs/security.md shows the reach of each policy, by itself and in two steps', () => {
  const page = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('\n## Who reaches what\n');
  const [, after = ''] = section.split('\n\n|');
  const lines = `|${after}`.split('\n\n')[0]?.split('\n') ?? [];
  const [head, , ...rows] = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const things = Object.keys(THINGS);
  expect(head).toEqual(['role', ...things]);
  expect(rows).toEqual(Object.entries(HOLDERS).map(([holder, world]) => [holder, ...waysOf(world)]));
});

it.each<[within: string, world: World]>([
  ['', worldOf([printed('deploy')])],
  [' with a permissions boundary', worldOf([printed('deploy')], bounded)],
])("the role that deploys has the reach of CloudFormation's role%s", (within, deployer) => {
  const cloudFormation = within === '' ? '`--execution`, `--deploy`' : 'both, with a permissions boundary';
  expect(waysOf(deployer)).toEqual(waysOf(HOLDERS[cloudFormation] ?? unknown(cloudFormation)));
});

it.each(['`--operator`', '`--emergency`', '`--operator`, `--emergency`', '`--sealing-key`', 'a caller'])(
  '%s reaches nothing in any number of steps either',
  (holder) => {
    const start = HOLDERS[holder] ?? unknown(holder);
    const all = (world: World) => Object.values(STEPS).reduce((wider, step) => step(assumeRoles(wider)), world);
    const end = assumeRoles(all(all(all(start))));
    expect(Object.keys(THINGS).filter((thing) => THINGS[thing]?.(end))).toEqual([]);
  },
);

it.each<[actions: string[], thing: string, way: string]>([
  [['secretsmanager:GetSecretValue', 'kms:Decrypt'], 'a credential', 'by itself'],
  [['secretsmanager:PutResourcePolicy', 'kms:Decrypt'], 'a credential', '`PutResourcePolicy`'],
  [['secretsmanager:PutSecretValue', 'dynamodb:GetItem', 'kms:*'], 'any token', 'by itself'],
  [['secretsmanager:GetSecretValue', 'kms:PutKeyPolicy'], 'a credential', '`PutKeyPolicy`'],
  [['secretsmanager:GetSecretValue', 'kms:CreateGrant'], 'a credential', '`CreateGrant`'],
  [['iam:PutRolePolicy'], 'the whole account', '`PutRolePolicy`'],
  [['iam:AttachRolePolicy'], 'the whole account', '`AttachRolePolicy`'],
  [['iam:UpdateAssumeRolePolicy'], 'the whole account', '`UpdateAssumeRolePolicy`'],
  [['lambda:AddPermission'], 'any token', '`AddPermission`'],
  [['lambda:UpdateFunctionCode'], 'a credential', '`UpdateFunctionCode`'],
  [['lambda:UpdateFunctionConfiguration'], 'the sealing key', '`UpdateFunctionConfiguration`'],
  [['iam:PassRole', 'lambda:CreateFunction'], 'the whole account', '`PassRole` with `CreateFunction`'],
])('the model finds that %j is a way to %s', (actions, thing, way) => {
  const world = worldOf([[allow(actions)]]);
  // As it is for a key of one's own: the stack's key lends itself to DynamoDB only.
  const ways = waysOf({ ...world, policies: withDefaultKeyPolicy(world.policies) });
  expect(ways[Object.keys(THINGS).indexOf(thing)]).toBe(way);
});

// The lock-out check of CreateKey would also be passed by such a statement.
it.each<[what: string, more: Statements, reached: boolean]>([
  ['the printed policy', [], false],
  ['a statement for keys without the tag', [{ ...allow('kms:PutKeyPolicy'), Condition: UNTAGGED }], true],
])('%s, next to %j, reaches the untagged key of another team: %s', (_, more, reached) => {
  const world = worldOf([[...printed('execution'), ...more]]);
  const policies = withDefaultKeyPolicy(world.policies);
  const key = 'arn:aws:kms:eu-west-1:111111111111:key/of-another-team';
  expect(can({ ...world, policies }, 'kms:PutKeyPolicy', key, { 'kms:CallerAccount': '111111111111' })).toBe(reached);
});

it('with a permissions boundary no role is made without it, or loses it', () => {
  const role = 'arn:aws:iam::111111111111:role/TokenBroker-test-Made0123';
  const world = worldOf([printed('execution', boundary)], bounded);
  const may = (action: string, within?: string) =>
    can(world, `iam:${action}`, role, within === undefined ? {} : { 'iam:PermissionsBoundary': within });
  for (const action of ['CreateRole', 'PutRolePolicy', 'PutRolePermissionsBoundary']) {
    const allowed = [boundary, undefined, `${boundary}-2`].map((within) => may(action, within));
    expect([action, ...allowed]).toEqual([action, true, false, false]);
  }
  expect(may('DeleteRolePermissionsBoundary', boundary)).toBe(false);
});

/** A boundary of an organisation, as this project's page prescribed it before. */
const WITHOUT_EXCEPTIONS = [allow('*'), { ...allow(['iam:*', 'sts:AssumeRole']), Effect: 'Deny' }];
const LOOKUP = 'cdk-broker1-lookup-role-111111111111-eu-west-1';

/** @see aws/aws-cdk#31161, aws/aws-cdk#28453 */
describe('under a boundary with a path, which the bootstrap attaches to its roles too', () => {
  const roles = bounded.resources.flatMap(({ type, arn = '' }) => (type === 'AWS::IAM::Role' ? [arn] : []));
  const probe = bounded.arnOf('CredentialHealthProbe', 'AWS::IAM::Role');
  const health = bounded.arnOf('CredentialHealthRole', 'AWS::IAM::Role');
  const passed = { 'iam:PassedToService': 'cloudformation.amazonaws.com' };
  const request = (kind: string, action: string, resource: string, context = {}) =>
    ({ requester: roleArn(`cdk-broker1-${kind}-role-111111111111-eu-west-1`), action, resource, context }) as const;
  const making = (within: string | undefined) =>
    roles.map((role) =>
      request('cfn-exec', 'iam:CreateRole', role, within === undefined ? {} : { 'iam:PermissionsBoundary': within }),
    );
  const assuming = (resource: string) => ({ requester: health, action: 'sts:AssumeRole', resource });
  const count = (bounds: Statements, requests: readonly Parameters<typeof isAllowed>[1][]) => {
    const { policies } = worldOf([], bounded, [], bounds);
    return requests.filter((one) => isAllowed(policies, one)).length;
  };

  it.each<[what: string, bounds: Statements, made: number, other: number]>([
    ['the printed one', boundaryOf('broker1'), roles.length, 1],
    ['an own one with the printed denials', [allow('*'), ...printed('boundaryExceptions')], roles.length, 1],
    ['one without the exceptions', WITHOUT_EXCEPTIONS, 0, 0],
    ['one with the exceptions of another bootstrap', boundaryOf('other'), 0, 1],
    ['one that allows another action', [allow('sns:Publish')], 0, 0],
  ])(
    '%s: CloudFormation makes the roles of the stack with it alone, and health assumes its probe',
    (_, bounds, made, probed) => {
      expect(roles.length).toBeGreaterThan(4);
      expect(count(bounds, making(boundary))).toBe(made);
      for (const within of [undefined, `${boundary}-2`, boundary?.replace('team/', '')]) {
        expect(count(bounds, making(within))).toBe(0);
      }
      expect(count(bounds, [assuming(probe)])).toBe(probed);
    },
  );

  it('the printed one lets the bootstrap have all its roles under it', () => {
    const bounds = boundaryOf('broker1');
    const execution = roleArn('cdk-broker1-cfn-exec-role-111111111111-eu-west-1');
    expect(count(bounds, [request('deploy', 'iam:PassRole', execution, passed)])).toBe(1);
    expect(count(WITHOUT_EXCEPTIONS, [request('deploy', 'iam:PassRole', execution, passed)])).toBe(0);
  });

  it('the printed one leaves a role of the stack neither roles to change nor others to assume, whatever it is given', () => {
    const { policies } = worldOf([], bounded);
    const empowered = { ...policies, ofRole: () => policies.ofRole(roleArn('administrator')) };
    const others = [roleArn('cdk-hnb659fds-deploy-role-111111111111-eu-west-1'), roleArn(LOOKUP), health];
    const reached = [
      ...others.map(assuming),
      ...['CreateRole', 'PassRole', 'GetRole', 'CreateUser'].map((action) => ({
        requester: health,
        action: `iam:${action}`,
        resource: probe,
      })),
    ].filter((one) => isAllowed(empowered, one));
    expect(reached).toEqual([]);
    expect(isAllowed(empowered, assuming(probe))).toBe(true);
  });
});

/** The things that only the token function's role may have, and the ways to them. */
const THINGS: Readonly<Record<string, (world: World) => boolean>> = {
  'a credential': (world) => may(world, 'read a client’s secret from another place', 'decrypt a client’s secret'),
  'the sealing key': (world) => may(world, 'read the sealing key from another place', 'decrypt the sealing key'),
  // As any caller, or out of the table, sealed with a key that is known.
  'any token': (world) =>
    [...requests.keys()].some((what) => /^invoke .* past the URL$/.test(what) && may(world, what)) ||
    (may(world, 'dynamodb:GetItem of a pair', 'Decrypt for the table') &&
      (may(world, 'read the sealing key from another place', 'decrypt the sealing key') ||
        may(world, 'store a sealing key', 'encrypt a sealing key', 'decrypt the sealing key'))),
  'the whole account': (world) => can(world, 'iam:CreateUser', 'arn:aws:iam::111111111111:user/any'),
};

function may(world: World, ...all: readonly string[]): boolean {
  const asked = all.map((what) => requests.get(what) ?? unknown(what));
  return canDo(world, asked);
}

function unknown(what: string): never {
  throw new Error(`Nothing is called ${what}.`);
}

/** The shortest ways to each thing: none but its use, one step before it, or two. */
function waysOf(world: World): readonly string[] {
  const start = assumeRoles(world);
  const one = stepsFrom(start).map((taken) => ({ ...taken, name: `\`${taken.step.replace(' with ', '` with `')}\`` }));
  const two = one.flatMap((first) =>
    stepsFrom(first.end).flatMap(({ step, end }) => {
      const names = Object.keys(STEPS).filter((name) => name === step || name === first.step);
      return { name: names.map((name) => `\`${name}\``).join(' + '), end };
    }),
  );
  return Object.values(THINGS).map((reaches) => {
    if (reaches(start)) return 'by itself';
    const shortest = [one, two].map((ways) => ways.filter(({ end }) => reaches(end)).map(({ name }) => name));
    return [...new Set(shortest.find((ways) => ways.length > 0))].join(', ') || '–';
  });
}

/** The steps that change anything, and the world after each. */
function stepsFrom(world: World) {
  const ends = Object.entries(STEPS).map(([step, take]) => ({ step, end: assumeRoles(take(world)) }));
  return ends.filter(({ end }) => end !== world);
}

/** An account with the stack, a client, two bootstraps of the CDK, an administrator, and one person with a role for each policy. */
function worldOf(
  policies: readonly Statements[],
  stack = plain,
  functions: readonly Actor[] = [],
  bounds: Statements = boundaryOf('broker1'),
): World {
  const own = policies.map((Statement, index) => [roleArn(`own-${index}`), Statement] as const);
  const boundedBy = stack === bounded ? boundary : undefined;
  const arn = requests.get('store a client’s secret')?.resource;
  const account = [
    { id: 'Acme', type: 'AWS::SecretsManager::Secret', ref: 'acme', arn, properties: {} },
    ...bootstrap('broker1', printed('execution', boundedBy), boundedBy),
    // The default bootstrap, of another app.
    ...bootstrap('hnb659fds', [allow('*')]),
    ...role('administrator', { Service: 'lambda.amazonaws.com' }, [allow('*')]),
  ];
  const resources = [...stack.resources, ...account];
  const others = own.map(([arn, Statement]) => [arn, { Version: '2012-10-17', Statement }] as const);
  return {
    stack: resources,
    policies: policiesOf(resources, {
      ...Object.fromEntries(others),
      ...(boundary && { [boundary]: { Version: '2012-10-17', Statement: bounds } }),
    }),
    actors: [...own.map(([requester]) => ({ requester })), ...functions],
  };
}

/** The roles of the CDK's bootstrap, as far as they lead to CloudFormation's, with the boundary on each of them. */
function bootstrap(qualifier: string, execution: Statements, boundedBy?: string): readonly Deployed[] {
  const named = (kind: string) => `cdk-${qualifier}-${kind}-role-111111111111-eu-west-1`;
  const rights = [allow('cloudformation:CreateChangeSet'), allow('iam:PassRole', roleArn(named('cfn-exec')))];
  const ofCloudFormation = { Service: 'cloudformation.amazonaws.com' };
  const ofAccount = { AWS: 'arn:aws:iam::111111111111:root' };
  return [
    ...role(named('deploy'), ofAccount, rights, boundedBy),
    ...role(named('cfn-exec'), ofCloudFormation, execution, boundedBy),
  ];
}

function role(name: string, Principal: object, Statement: Statements, boundedBy?: string): readonly Deployed[] {
  const document = (statements: Statements) => ({ Version: '2012-10-17', Statement: statements });
  const AssumeRolePolicyDocument = document([{ Effect: 'Allow', Principal, Action: 'sts:AssumeRole' }]);
  const properties = { Roles: [name], PolicyDocument: document(Statement) };
  const ofRole = { AssumeRolePolicyDocument, ...(boundedBy && { PermissionsBoundary: boundedBy }) };
  return [
    { id: name, type: 'AWS::IAM::Role', ref: name, arn: roleArn(name), properties: ofRole },
    { id: `${name}Policy`, type: 'AWS::IAM::Policy', ref: `${name}Policy`, arn: undefined, properties },
  ];
}

function codeOf(construct: string): Actor {
  const source = plain.arnOf(construct, 'AWS::Lambda::Function');
  const requester = plain.arnOf(`${construct}Role`, 'AWS::IAM::Role');
  return { requester, context: { 'lambda:SourceFunctionArn': source } };
}

function roleArn(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}
