import { inspect } from 'node:util';
import { GetSecretValueCommand, type SecretsManagerClientConfig } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { serve } from '../../../bin/local/loopback.ts';
import { createSecretReader, createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';
import type { Send } from '../../../functions/broker/token-request/send.ts';
import { alterAnswers } from '../../support/aws/altered-answers.ts';
import type { Fault } from '../../support/aws/aws-faults.ts';
import { ACCESS } from '../../support/example.ts';
import { repeatAtOnce, startSecretsManager } from '../../support/processes/stand-ins.ts';

const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';

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
    ['AnotherSecret', { Name: 'token-broker/dev/globex' }],
    ['AnotherSecret', { Name: undefined }],
    ['AnotherSecret', { VersionStages: ['AWSPREVIOUS'] }],
    ['AnotherSecret', { VersionStages: undefined }],
    ['AnotherSecret', { Name: 'token-broker/dev/globex', SecretString: undefined, SecretBinary: Buffer.of(1) }],
    ['an answer without a value', { SecretString: undefined }],
    ['an answer without a value', { VersionId: undefined }],
  ])('takes nothing from %s: %j', async (cause, members) => {
    const { read, secretsManager } = await start();
    alterAnswers(secretsManager, members);
    expect(await read()).toEqual({ outcome: 'unavailable', cause });
  });

  it.each<[Fault, 'denied' | 'stopped' | 'unavailable', string, number]>([
    ['access-denied', 'denied', 'AccessDeniedException', 1],
    // As an operator's stop is written.
    ['denied-by-policy', 'stopped', 'AccessDeniedException', 1],
    // The secret still exists, and may be read.
    ['key-denied', 'unavailable', 'KMSAccessDenied', 1],
    ['key-disabled', 'unavailable', 'KMSInvalidStateException', 1],
    ['decryption-failure', 'unavailable', 'DecryptionFailure', 1],
    ['throttled', 'unavailable', 'ThrottlingException', 2],
    ['internal-error', 'unavailable', 'InternalServiceError', 2],
    ['reset', 'unavailable', 'ECONNRESET', 2],
    ['garbage', 'unavailable', 'SyntaxError', 2],
    ['misshapen', 'unavailable', 'AnotherSecret', 1],
    ['hang', 'unavailable', 'OutOfTime', 1],
    ['stall', 'unavailable', 'OutOfTime', 1],
  ])('takes %s for %s, in one word that repeats nothing of the answer: %s', async (fault, outcome, cause, times) => {
    const { read, failWith, calls } = await start(cause === 'OutOfTime' ? { timeoutMs: 20 } : {});
    failWith(fault);
    const reading = await read();
    expect(reading).toEqual({ outcome, cause });
    expect(calls).toHaveLength(times);
    expect(inspect(reading, { depth: null, showHidden: true })).not.toContain('garbage');
    failWith(undefined);
    expect(inspect(await read(), { depth: null, showHidden: true })).not.toContain("'one'");
  });

  it('leaves nothing running when it ends, and ends in time when the credentials of the broker do not come', async () => {
    const { read, failWith, secretsManager } = await start({ timeoutMs: 20 });
    const send = vi.spyOn(secretsManager, 'send');
    failWith('hang');
    await read();
    await expect(send.mock.results[0]?.value).rejects.toThrow('Request aborted');
    const { read: readAlone, calls } = await start({ timeoutMs: 20, credentials: () => new Promise(() => undefined) });
    expect(await readAlone()).toEqual({ outcome: 'unavailable', cause: 'OutOfTime' });
    expect(calls).toEqual([]);
  });

  /** A reader for the environment `dev`, set up as in Lambda, and a stand-in that holds the secret of `acme`. */
  async function start({ timeoutMs = 10_000, ...config }: SecretsManagerClientConfig & { timeoutMs?: number } = {}) {
    repeatAtOnce();
    const standIn = await startSecretsManager();
    const acme = standIn.store.create('token-broker/dev/acme');
    acme.versions.add(V1, { SecretString: 'one' });
    const secretsManager = connect(standIn.url, { credentials: ACCESS.credentials, ...config });
    onTestFinished(standIn.close);
    const reader = createSecretReader({ environment: 'dev', secretsManager, now: Date.now, timeoutMs });
    const read = (client = 'acme', stage: Parameters<typeof reader>[1] = 'AWSCURRENT') => reader(client, stage);
    return { ...standIn, acme, secretsManager, read };
  }
});

describe('a client', () => {
  it('sends over the given sender, asks STS for credentials by other means, and writes no line of its own', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    // The SDK repeats a warning after a minute.
    vi.setSystemTime(Date.now() + 120_000);
    const warn = vi.spyOn(console, 'warn');
    onTestFinished(() => warn.mockRestore());
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', import.meta.filename);
    vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::111111111111:role/billing');
    const key = '<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>example</SecretAccessKey>';
    const ofSts = `<R><AssumeRoleWithWebIdentityResult><Credentials>${key}</Credentials></AssumeRoleWithWebIdentityResult></R>`;
    const sts = await serve(async () => ({ status: 200, headers: {}, body: ofSts }));
    onTestFinished(sts.close);
    vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url);
    const sent: string[] = [];
    const send: Send = async ({ url, headers, body }, { signal }) => {
      sent.push(`${url} ${body.slice(0, 19)} ${/ASIAEXAMPLE/.exec(`${headers.authorization}`)} ${signal?.aborted}`);
      return { status: 200, headers: {}, body: new TextEncoder().encode('{}') };
    };
    const client = connect('http://127.0.0.1:1/path', { send });
    await client.send(new GetSecretValueCommand({ SecretId: 'acme' }), { abortSignal: new AbortController().signal });

    expect(sent).toEqual(['http://127.0.0.1:1/path/ {"SecretId":"acme"} ASIAEXAMPLE false']);
    expect(client.middlewareStack.identify().join()).not.toContain('loggerMiddleware');
    expect(warn).not.toHaveBeenCalled();
  });
});

function connect(url: string, config: Parameters<typeof createSecretsManagerClient>[0]) {
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  onTestFinished(() => void vi.unstubAllEnvs());
  return createSecretsManagerClient(config);
}
