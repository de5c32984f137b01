import { inspect } from 'node:util';
import type { SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSecretReader, createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';
import { alterAnswers } from '../../support/altered-answers.ts';
import type { Fault } from '../../support/aws-faults.ts';
import { startSecretsManager } from '../../support/stand-ins.ts';

const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const BYTES = Buffer.of(0, 255, 1);

describe('reading the secret of a client', () => {
  it('finds the version that has the stage', async () => {
    const { readSecret, acme } = await start();
    acme.versions.add(V2, { SecretString: 'two' });

    const current = await readSecret('acme', 'AWSCURRENT');
    expect(current).toMatchObject({ outcome: 'found', secret: { versionId: V2, stage: 'AWSCURRENT' } });
    expect(revealed(current)).toBe('two');

    const previous = await readSecret('acme', 'AWSPREVIOUS');
    expect(previous).toMatchObject({ outcome: 'found', secret: { versionId: V1, stage: 'AWSPREVIOUS' } });
    expect(revealed(previous)).toBe('one');
  });

  it('finds nothing where there is no secret, no version with the stage, or another environment', async () => {
    const { readSecret, acme, store } = await start();
    store.create('token-broker/prod/globex').versions.add(V1, { SecretString: 'one' });
    store.create('token-broker/dev/initech');
    expect(await readSecret('globex', 'AWSCURRENT')).toEqual({ outcome: 'missing' });
    expect(await readSecret('initech', 'AWSCURRENT')).toEqual({ outcome: 'missing' });
    expect(await readSecret('acme', 'AWSPENDING')).toEqual({ outcome: 'missing' });
    acme.versions.add(V2, { SecretString: 'two' }, ['AWSPENDING']);
    expect(await readSecret('acme', 'AWSPENDING')).toMatchObject({ outcome: 'found' });
  });

  it.each(['AWSCURRENT', 'AWSPENDING'] as const)(
    'says that a secret is marked for deletion, asked for %s',
    async (stage) => {
      const { readSecret, acme } = await start();
      acme.deletion = { goneAt: Date.now() + 60_000 };
      expect(await readSecret('acme', stage)).toEqual({ outcome: 'deleted' });
    },
  );

  it('does not take bytes for text', async () => {
    const { readSecret, acme } = await start();
    acme.versions.add(V2, { SecretBinary: 'AP8B' });
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'binary' });
  });

  it.each([
    ['the secret of another client', { Name: 'token-broker/dev/globex' }],
    ['a secret without a name', { Name: undefined }],
    ['a version with another stage', { VersionStages: ['AWSPREVIOUS'] }],
    ['a version without a stage', { VersionStages: undefined }],
    ['the bytes of another client', { Name: 'token-broker/dev/globex', SecretString: undefined, SecretBinary: BYTES }],
  ])('takes nothing from an answer with %s', async (_what, members) => {
    const { readSecret, secretsManager } = await start();
    alterAnswers(secretsManager, members);
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause: 'another secret' });
  });

  it('treats access-denied as final and does not ask again', async () => {
    const { readSecret, failWith, calls } = await start();
    failWith('access-denied');
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'denied', cause: 'AccessDeniedException' });
    expect(calls).toEqual(['GetSecretValue']);
  });

  it.each([
    ['key-denied', 'KMSAccessDenied'],
    ['key-disabled', 'KMSInvalidStateException'],
    ['decryption-failure', 'DecryptionFailure'],
  ] satisfies [Fault, string][])('treats %s as an outage: the secret still exists', async (fault, cause) => {
    const { readSecret, failWith, calls } = await start();
    failWith(fault);
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause });
    expect(calls).toEqual(['GetSecretValue']);
  });

  it.each([
    ['internal-error', 'InternalServiceError', 2],
    ['bad-gateway', 'SyntaxError', 2],
    ['reset', 'ECONNRESET', 2],
    ['garbage', 'SyntaxError', 2],
    ['misshapen', 'another secret', 1],
  ] satisfies [Fault, string, number][])(
    'takes %s for being down, after at most one repetition',
    async (fault, cause, times) => {
      const { readSecret, failWith, calls } = await start();
      failWith(fault);
      expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause });
      expect(calls).toHaveLength(times);
    },
  );

  it.each(['hang', 'stall'] as const)('ends in time when the answer does not: %s', async (fault) => {
    const { readSecret, failWith, calls } = await start({ timeoutMs: 20 });
    failWith(fault);
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause: 'OutOfTime' });
    expect(calls.length).toBeLessThanOrEqual(2);
  });

  it('leaves nothing running when it ends', async () => {
    const { readSecret, failWith, secretsManager } = await start({ timeoutMs: 20 });
    const send = vi.spyOn(secretsManager, 'send');
    failWith('hang');
    await readSecret('acme', 'AWSCURRENT');
    await expect(send.mock.results[0]?.value).rejects.toThrow('Request aborted');
  });

  it('ends in time when the credentials of the broker do not come', async () => {
    const { readSecret, calls } = await start({ timeoutMs: 20, credentials: () => new Promise(() => undefined) });
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause: 'OutOfTime' });
    expect(calls).toEqual([]);
  });

  it('treats throttling as an outage', async () => {
    const { readSecret, failWith } = await start({ maxAttempts: 1 });
    failWith('throttled');
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause: 'ThrottlingException' });
  });

  it('treats an endpoint where no server listens as down', async () => {
    const { readSecret, close } = await start();
    await close();
    expect(await readSecret('acme', 'AWSCURRENT')).toEqual({ outcome: 'unavailable', cause: 'ECONNREFUSED' });
  });

  it.each(['internal-error', 'reset'] as const)('survives one call that fails: %s', async (fault) => {
    const { readSecret, failWith, calls } = await start();
    failWith(fault, 1);
    expect(await readSecret('acme', 'AWSCURRENT')).toMatchObject({ outcome: 'found' });
    expect(calls).toHaveLength(2);
  });

  it('repeats nothing of an answer that it could not use, nor shows a secret that it found', async () => {
    const { readSecret, failWith } = await start({ timeoutMs: 20 });
    const shown = [inspect(await readSecret('acme', 'AWSCURRENT'), { depth: null, showHidden: true })];
    for (const fault of [
      'access-denied',
      'decryption-failure',
      'throttled',
      'garbage',
      'misshapen',
      'stall',
      'bad-gateway',
    ] as const) {
      failWith(fault);
      shown.push(inspect(await readSecret('acme', 'AWSCURRENT'), { depth: null, showHidden: true }));
    }
    expect(shown.join()).not.toMatch(/garbage|'one'/);
  });
});

function revealed(reading: Awaited<ReturnType<ReturnType<typeof createSecretReader>>>): string | undefined {
  return reading.outcome === 'found' ? reading.secret.text.reveal() : undefined;
}

/**
 * A reader for the environment `dev`, set up as in Lambda, and a stand-in that holds the secret of `acme`. It has the time
 * that a busy machine needs, unless time is what a test is about.
 */
async function start({ timeoutMs = 10_000, ...config }: SecretsManagerClientConfig & { timeoutMs?: number } = {}) {
  const standIn = await startSecretsManager();
  const acme = standIn.store.create('token-broker/dev/acme');
  acme.versions.add(V1, { SecretString: 'one' });

  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', standIn.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'example');
  const secretsManager = createSecretsManagerClient(config);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= standIn.close();
    return closed;
  };
  onTestFinished(async () => {
    secretsManager.destroy();
    vi.unstubAllEnvs();
    await close();
  });
  return {
    ...standIn,
    close,
    acme,
    secretsManager,
    readSecret: createSecretReader({ environment: 'dev', secretsManager, now: Date.now, timeoutMs }),
  };
}
