import { describe, expect, it } from 'vitest';
import { isAllowed, type Policies } from '../support/iam.ts';
import { parsePolicy } from '../support/iam-policy.ts';
import { policiesOf } from '../support/iam-world.ts';
import { exampleForm } from '../unit/settings/example-form.ts';
import { type DeployedStack, deployStack, requestsTo } from './deployed-stack.ts';

const LOG = ['create a stream in its log', 'write to its log'];
const CALL = ['call the URL', 'be invoked through the URL'];
const TABLE = [
  'read a memory of the table',
  'write a memory of the table',
  'encrypt for the table',
  'decrypt for the table',
  'get a data key for the table',
  'describe the key for the table',
];
const TELL = [
  'tell the operators',
  'see whether they have subscribed',
  'encrypt for the topic',
  'decrypt for the topic',
];
const PUT_AWAY = ['put an event away', 'encrypt for the queue', 'decrypt for the queue'];
const TRACE = ['write a trace', 'tell X-Ray how it goes'];

const token = [
  ...LOG,
  ...TABLE,
  'read a pair',
  'write a pair',
  'read a client’s secret',
  'decrypt a client’s secret',
  'read the sealing key',
  'decrypt the sealing key',
];
const releaseCheck = [
  ...LOG,
  'list the secrets',
  'call the URL of the next version',
  'be invoked through the URL of the next version',
  'report the release check',
];
const checker = [...LOG, ...TABLE, ...CALL, ...TELL, ...PUT_AWAY];

/** All that each role may do. Every other request of `requestsTo` must be denied. */
const permitted: Readonly<Record<string, readonly string[]>> = {
  TokenEndpointRole: token,
  TokenEndpointCanaryRole: [
    'read the alias',
    'move the alias',
    'read the provisioned concurrency',
    'read the alarms',
    'start the release check',
  ],
  ReleaseCheckRole: releaseCheck,
  CredentialHealthRole: [...checker, 'list the secrets', 'describe a client’s secret', 'become the probe'],
  CredentialHealthProbe: CALL,
  CredentialHealthSchedulerRole: ['start the health function'],
};

const permittedWithAll: typeof permitted = {
  ...permitted,
  TokenEndpointRole: [
    ...token,
    ...TRACE,
    'make a network interface',
    'make it in the subnet',
    'make it in the security group',
    'delete a network interface',
    'give it an address',
    'take its address',
    'look at network interfaces',
    'look at subnets',
  ],
  CredentialHealthRole: [...(permitted.CredentialHealthRole ?? []), ...TRACE],
  ReleaseCheckRole: [...releaseCheck, ...TRACE],
  MonitoringTrailLogsRole: LOG,
};

/** What AWS gives a key, and what a key that is given back by `keyArn` may still have. */
const DEFAULT_KEY_POLICY = {
  Version: '2012-10-17',
  Statement: { Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::111111111111:root' }, Action: 'kms:*', Resource: '*' },
};

const vpc = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };

const plain = deployStack('test', exampleForm());
const large = deployStack('test', { ...exampleForm(), tracing: true, vpc, trail: {} });

describe.each([
  { what: 'a stack', stack: plain, policies: policiesOf(plain.resources), may: permitted },
  {
    what: 'a stack in a VPC, with traces and a trail',
    stack: large,
    policies: policiesOf(large.resources),
    may: permittedWithAll,
  },
  {
    what: 'a stack whose key leaves everything to the account',
    stack: plain,
    policies: withKeyPolicy(plain, DEFAULT_KEY_POLICY),
    may: permitted,
  },
])('in $what', ({ stack, policies, may }) => {
  const roles = stack.resources.filter(({ type }) => type === 'AWS::IAM::Role');
  const constructOf = (id: string) =>
    Object.keys(may).find((construct) => new RegExp(`^${construct}[0-9A-F]{8}$`).test(id));

  it('every role is known', () => {
    expect(new Set(roles.map(({ id }) => constructOf(id) ?? id))).toEqual(new Set(Object.keys(may)));
  });

  describe.each(roles.map(({ id, arn = '' }) => ({ name: constructOf(id) ?? id, arn })))('$name', ({ name, arn }) => {
    const own = /^(?:CredentialHealth|MonitoringTrail|ReleaseCheck)/.exec(name)?.[0] ?? 'TokenEndpoint';
    const requests = Object.entries(requestsTo(stack, own));
    const isPermitted = (asked: (typeof requests)[0][1]) =>
      isAllowed(policies, { ...asked, requester: { kind: 'role', arn } });

    it('may do its work', () => {
      const work = requests.filter(([what]) => may[name]?.includes(what));
      expect(work.map(([what]) => what).toSorted()).toEqual([...(may[name] ?? [])].toSorted());
      expect(work.filter(([, asked]) => !isPermitted(asked)).map(([what]) => what)).toEqual([]);
    });

    it('may do nothing else', () => {
      const others = requests.filter(([what]) => !may[name]?.includes(what));
      expect(others.length).toBeGreaterThanOrEqual(30);
      expect(others.filter(([, asked]) => isPermitted(asked)).map(([what]) => what)).toEqual([]);
    });

    it('has no action that is not part of its work', () => {
      const actions = requests.filter(([what]) => may[name]?.includes(what)).map(([, { action }]) => action);
      const allowed = policies.ofRole(arn).filter(({ Effect }) => Effect === 'Allow');
      expect(new Set(allowed.flatMap((statement) => statement.Action))).toEqual(new Set(actions));
    });
  });
});

function withKeyPolicy({ resources, arnOf }: DeployedStack, document: unknown): Policies {
  const policies = policiesOf(resources);
  const key = arnOf('ClientSecrets', 'AWS::KMS::Key');
  return { ...policies, ofResource: (arn) => (arn === key ? parsePolicy(document) : policies.ofResource(arn)) };
}
