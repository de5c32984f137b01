import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { createSecretReader, createSecretsManager } from '../../../functions/aws/secrets-manager.ts';
import type { SecretReading } from '../../../functions/broker/credential/secret.ts';
import { ACCESS } from '../../support/example.ts';
import { repeatAtOnce, startSecretsManager } from '../../support/processes/stand-ins.ts';

const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const DENIED = 'AccessDeniedException';
const STOP = 'deny in a resource-based policy';

const MANAGED = 'The secret is managed by another service, and you must use that service to update it.';
const INVALID = { outcome: 'denied', cause: 'InvalidRequestException' } as const;

/**
 * AWS's words for denials, and the cause that each becomes. The last words of the denial are those of 2026.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
const DENIALS = {
  'because no service control policy allows the secretsmanager:GetSecretValue action': 'service control policy',
  'with an explicit deny in a service control policy': 'service control policy',
  'with an explicit deny in a resource control policy: arn:aws:organizations::1:policy/p': 'resource control policy',
  'because no VPC endpoint policy allows the secretsmanager:GetSecretValue action': 'VPC endpoint policy',
  'with an explicit deny in a VPC endpoint policy': 'VPC endpoint policy',
  'with an explicit deny in a VPC endpoint policy transitively through a service control policy':
    'service control policy',
  'because no permissions boundary allows the secretsmanager:GetSecretValue action': 'permissions boundary',
  'with an explicit deny in a permissions boundary: arn:aws:iam::111111111111:policy/a': 'permissions boundary',
  'because no session policy allows the secretsmanager:GetSecretValue action': 'session policy',
  'with an explicit deny in a sessions policy': 'sessions policy',
  'with an explicit deny in an identity-based policy': 'deny in an identity-based policy',
  'because no identity-based policy allows the secretsmanager:GetSecretValue action': DENIED,
  'because no resource-based policy allows the secretsmanager:GetSecretValue action': DENIED,
  'with an explicit deny in a new kind of policy': DENIED,
};

describe('reading the secret of a client', () => {
  it('finds the version that has the stage', async () => {
    const { read, acme } = await start();
    acme.versions.add(V2, { SecretString: 'two' });
    for (const [stage, versionId, text] of [
      ['AWSCURRENT', V2, 'two'],
      ['AWSPREVIOUS', V1, 'one'],
    ] as const) {
      const reading = await read('acme', stage);
      expect(reading).toMatchObject({ outcome: 'found', secret: { versionId, stage } });
      expect(reading.outcome === 'found' && reading.secret.text.reveal()).toBe(text);
      expect(inspect(reading, { depth: null, showHidden: true })).not.toContain(`'${text}'`);
    }
  });

  it('finds nothing where there is no secret, no version with the stage, or another environment', async () => {
    const { read, acme, store } = await start();
    store.create('token-broker/prod/globex').versions.add(V1, { SecretString: 'one' });
    store.create('token-broker/dev/initech');
    for (const client of ['globex', 'initech']) expect(await read(client)).toEqual({ outcome: 'missing' });
    expect(await read('acme', 'AWSPENDING')).toEqual({ outcome: 'missing' });
    acme.versions.add(V2, { SecretString: 'two' }, ['AWSPENDING']);
    expect(await read('acme', 'AWSPENDING')).toMatchObject({ outcome: 'found' });
  });

  it('says that a secret is marked for deletion, and does not take bytes for text', async () => {
    const { read, acme } = await start();
    acme.versions.add(V2, { SecretBinary: 'AP8B' });
    expect(await read()).toEqual({ outcome: 'binary' });
    acme.deletion = { goneAt: Date.now() + 60_000 };
    expect(await read()).toEqual({ outcome: 'deleted' });
  });

  it.each([
    ['AnotherSecret', { VersionStages: ['AWSPREVIOUS'] }],
    ['AnotherSecret', { VersionStages: 'AWSCURRENT' }],
    ['AnotherSecret', { Name: 'token-broker/dev/globex', SecretString: undefined, SecretBinary: 'AQ==' }],
    ['NoSecretValue', { SecretString: ['one'] }],
    ['NoSecretValue', { SecretString: undefined, SecretBinary: [1] }],
    ['NoSecretValue', { VersionId: 1 }],
  ])('takes nothing from an answer that is misleading or misshapen: %s, %j', async (cause, members) => {
    const { read } = await start({ members });
    expect(await read()).toEqual({ outcome: 'unavailable', cause });
  });

  /** @see aws/aws-encryption-sdk-javascript#1005 */
  const KMS_ITSELF =
    'The ciphertext refers to a customer master key that does not exist, or you are not allowed to access.';
  const NAMED_LIKE_KMS = 'User: arn:aws:sts::111111111111:assumed-role/KMS-Access/KMS is not authorized to perform: it';

  it.each<[number, object, SecretReading]>([
    [400, { __type: 'ResourceNotFoundException' }, { outcome: 'missing' }],
    // @see hashicorp/terraform-provider-aws#8219 for the last of AWS's wordings, and getmoto/moto#8638 for a stand-in's
    ...['marked for deletion.', 'scheduled for deletion.', 'currently marked deleted.', 'because it was deleted.'].map(
      (state): [number, object, SecretReading] => {
        return [400, { __type: 'InvalidRequestException', Message: `It was ${state}` }, { outcome: 'deleted' }];
      },
    ),
    // @see cloud-custodian/cloud-custodian#11035 for a secret that another service manages
    [400, { __type: 'InvalidRequestException', Message: MANAGED }, INVALID],
    [400, { __type: 'InvalidRequestException' }, INVALID],
    ...['InvalidParameterException', 'ValidationException', DENIED, 'NotAuthorized'].map(
      (cause): [number, object, SecretReading] => [400, { __type: cause }, { outcome: 'denied', cause }],
    ),
    [400, { __type: DENIED, Message: NAMED_LIKE_KMS }, { outcome: 'denied', cause: DENIED }],
    // As an operator's stop is written.
    [400, { __type: DENIED, Message: `User: … with an explicit ${STOP}` }, { outcome: 'stopped', cause: STOP }],
    ...Object.entries(DENIALS).map(([words, cause]): [number, object, SecretReading] => {
      return [400, { __type: DENIED, Message: `User: … ${words}` }, { outcome: 'denied', cause }];
    }),
    // The secret still exists, and may be read.
    ...['Access to KMS is not allowed: garbage', KMS_ITSELF].flatMap((words) => {
      const unavailable = { outcome: 'unavailable', cause: 'KMSAccessDenied' } as const;
      return ['Message', 'message'].map((member): [number, object, SecretReading] => {
        return [400, { __type: DENIED, [member]: words }, unavailable];
      });
    }),
    // None of these is an answer about the secret: a key, a proxy, a gateway or a clock may have given it.
    ...['KMSInvalidStateException', 'DecryptionFailure', 'InternalServiceError', 'IncompleteSignature']
      .concat('MissingAuthenticationToken', 'InvalidSignatureException', 'NewException')
      .map((cause): [number, object, SecretReading] => [400, { __type: cause }, { outcome: 'unavailable', cause }]),
    [404, {}, { outcome: 'unavailable', cause: 'UnknownError' }],
    [403, { message: 'Forbidden' }, { outcome: 'unavailable', cause: 'UnknownError' }],
    [200, { __type: 'ResourceNotFoundException' }, { outcome: 'unavailable', cause: 'SyntaxError' }],
  ])('reads the answer %d %j, in one word that repeats nothing of it', async (status, members, expected) => {
    const { read, failWith, operations } = await start();
    failWith((response) => response.writeHead(status).end(JSON.stringify({ garbage: 'garbage', ...members })));
    const reading = await read();
    expect(reading).toEqual(expected);
    expect(inspect(reading, { depth: null, showHidden: true })).not.toContain('garbage');
    expect(operations).toHaveLength(expected.outcome === 'unavailable' ? 2 : 1);
  });

  it('searches a long denial once, where a search from each character would take hours', async () => {
    const { read, failWith } = await start();
    const message = `because no ${'session '.repeat(100_000)}allows it`;
    failWith((response) => response.writeHead(400).end(JSON.stringify({ __type: DENIED, message })));
    expect(await read()).toEqual({ outcome: 'denied', cause: DENIED });
  });

  it('does not wait for an answer beyond its limit', async () => {
    const { read, failWith } = await start({ timeoutMs: 50 });
    failWith('hang');
    expect(await read()).toEqual({ outcome: 'unavailable', cause: 'OutOfTime' });
  });

  /** A reader for the environment `dev`, and a stand-in that holds the secret of `acme`; `members` alter its answers. */
  async function start({ timeoutMs = 10_000, members = {} } = {}) {
    repeatAtOnce();
    const standIn = await startSecretsManager();
    const acme = standIn.store.create('token-broker/dev/acme');
    acme.versions.add(V1, { SecretString: 'one' });
    onTestFinished(standIn.close);
    const aws = createSecretsManager({ ...ACCESS, send: createHttpsSender(), endpoint: standIn.url });
    const secretsManager: typeof aws = {
      getSecretValue: async (...asked) => ({ ...(await aws.getSecretValue(...asked)), ...members }),
    };
    const reader = createSecretReader({ environment: 'dev', secretsManager, now: Date.now, timeoutMs });
    const read = (client = 'acme', stage: Parameters<typeof reader>[1] = 'AWSCURRENT') => reader(client, stage);
    return { ...standIn, acme, read };
  }
});
