import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LabelUpdate } from '../../../bin/local/aws/secret-store.ts';
import { startSecretsManager } from '../../support/stand-ins.ts';

const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const V3 = '33333333-3333-4333-8333-333333333333';

describe('the versions of a secret', () => {
  it('keep AWSPENDING through a promotion, until a put replaces the promoted one', async () => {
    const { acme } = await start();
    await acme.put(V1);
    await acme.put(V2, 'AWSPENDING');
    await acme.move('AWSCURRENT', V1, V2);
    expect(await acme.stages()).toEqual({ [V1]: ['AWSPREVIOUS'], [V2]: ['AWSCURRENT', 'AWSPENDING'] });
    await acme.put(V3);
    expect(await acme.stages()).toEqual({ [V2]: ['AWSPREVIOUS'], [V3]: ['AWSCURRENT'] });
  });

  it('swap when AWSCURRENT goes back', async () => {
    const { acme } = await start();
    await acme.put(V1);
    await acme.put(V2);
    await acme.move('AWSCURRENT', V2, V1);
    expect(await acme.stages()).toEqual({ [V1]: ['AWSCURRENT'], [V2]: ['AWSPREVIOUS'] });
  });

  it('are listed without the deprecated ones', async () => {
    const { aws, acme } = await start();
    await acme.put(V1);
    await acme.put(V2);
    await acme.put(V3);
    const { Versions } = await aws.listSecretVersionIds({ SecretId: 'acme' });
    expect(Versions?.map(({ VersionId }) => VersionId)).toEqual([V2, V3]);
  });

  it('are announced when a stage other than AWSPENDING and AWSPREVIOUS moves to another one', async () => {
    const updates: LabelUpdate[] = [];
    const { acme, arn } = await start({ onLabelUpdated: (update) => updates.push(update) });
    await acme.put(V1);
    await acme.put(V2, 'AWSPENDING');
    await acme.put(V3, 'AWSPENDING');
    expect(updates).toEqual([]);

    await acme.move('AWSCURRENT', V1, V3);
    await acme.put(V2);
    expect(updates).toEqual([{ name: 'acme', arn, versionId: V3, label: 'AWSCURRENT' }]);
  });
});

describe('a secret', () => {
  it('has an ARN of its own each time it is created', async () => {
    const { aws, arn, store } = await start();
    store.remove(store.get('acme'));
    const again = await aws.createSecret({ Name: 'acme' });
    expect(arn).toMatch(/^arn:aws:secretsmanager:us-east-1:111111111111:secret:acme-[A-Za-z0-9]{6}$/);
    expect(again.ARN).not.toBe(arn);
  });
});

/** A stand-in that holds the secret `acme`, still without a value. */
async function start(options: Parameters<typeof startSecretsManager>[0] = {}) {
  const standIn = await startSecretsManager(options);
  onTestFinished(standIn.close);
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const aws = new SecretsManager({ endpoint: standIn.url, region: 'us-east-1', credentials, maxAttempts: 1 });
  const { ARN: arn } = await aws.createSecret({ Name: 'acme' });
  const SecretId = 'acme';
  const acme = {
    put: (ClientRequestToken: string, ...stages: string[]) => {
      const VersionStages = stages.length > 0 ? stages : undefined;
      return aws.putSecretValue({ SecretId, SecretString: 'a value', ClientRequestToken, VersionStages });
    },
    move: (VersionStage: string, RemoveFromVersionId: string, MoveToVersionId: string) =>
      aws.updateSecretVersionStage({ SecretId, VersionStage, RemoveFromVersionId, MoveToVersionId }),
    read: () => aws.getSecretValue({ SecretId }),
    stages: async () => (await aws.describeSecret({ SecretId })).VersionIdsToStages,
  };
  return { aws, acme, arn, store: standIn.store };
}
