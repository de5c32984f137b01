import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LabelUpdate } from '../../../bin/local/aws/secret-store.ts';
import { startSecretsManager } from '../../../bin/local/aws/secrets-manager.ts';

const DAY_MS = 24 * 60 * 60_000;
const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const V3 = '33333333-3333-4333-8333-333333333333';

describe('the versions of a secret', () => {
  it('pass AWSCURRENT on, AWSPREVIOUS behind it, and end without a stage', async () => {
    const { acme } = await start();
    await acme.put(V1);
    expect(await acme.stages()).toEqual({ [V1]: ['AWSCURRENT'] });
    await acme.put(V2);
    expect(await acme.stages()).toEqual({ [V1]: ['AWSPREVIOUS'], [V2]: ['AWSCURRENT'] });
    await acme.put(V3);
    expect(await acme.stages()).toEqual({ [V2]: ['AWSPREVIOUS'], [V3]: ['AWSCURRENT'] });
  });

  it('leave each other alone while one is AWSPENDING', async () => {
    const { acme } = await start();
    await acme.put(V1);
    await acme.put(V2);
    await acme.put(V3, 'AWSPENDING');
    expect(await acme.stages()).toEqual({ [V1]: ['AWSPREVIOUS'], [V2]: ['AWSCURRENT'], [V3]: ['AWSPENDING'] });
  });

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

  it('give the first one AWSCURRENT, whatever stage it asks for', async () => {
    const { acme } = await start();
    await acme.put(V1, 'AWSPENDING');
    expect(await acme.stages()).toEqual({ [V1]: ['AWSCURRENT', 'AWSPENDING'] });
  });

  it('are listed without the deprecated ones, unless those are asked for', async () => {
    const { aws, acme } = await start();
    await acme.put(V1);
    await acme.put(V2);
    await acme.put(V3);
    const list = async (IncludeDeprecated: boolean) =>
      (await aws.listSecretVersionIds({ SecretId: 'acme', IncludeDeprecated })).Versions?.map((one) => one.VersionId);
    expect(await list(false)).toEqual([V2, V3]);
    expect(await list(true)).toEqual([V1, V2, V3]);
  });

  it('are announced when a stage other than AWSPENDING and AWSPREVIOUS comes to another one', async () => {
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
  it('is gone when its recovery window has passed', async () => {
    const clock = { now: 0 };
    const { aws, acme } = await start({ now: () => clock.now });
    await acme.put(V1);
    await aws.deleteSecret({ SecretId: 'acme', RecoveryWindowInDays: 7 });

    clock.now = 7 * DAY_MS - 1;
    await expect(acme.read()).rejects.toMatchObject({ name: 'InvalidRequestException' });
    clock.now = 7 * DAY_MS;
    await expect(acme.read()).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  it('has an ARN of its own each time it is created', async () => {
    const { aws, arn } = await start();
    await aws.deleteSecret({ SecretId: 'acme', ForceDeleteWithoutRecovery: true });
    const again = await aws.createSecret({ Name: 'acme' });
    expect(arn).toMatch(/^arn:aws:secretsmanager:us-east-1:111111111111:secret:acme-[A-Za-z0-9]{6}$/);
    expect(again.ARN).not.toBe(arn);
  });

  it('is not found by a partial ARN when its name ends like a complete one', async () => {
    const { aws } = await start();
    const { ARN = '' } = await aws.createSecret({ Name: 'acme-a1b2c3' });
    const partial = ARN.slice(0, -'-XXXXXX'.length);
    await expect(aws.describeSecret({ SecretId: partial })).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
    expect(await aws.describeSecret({ SecretId: 'acme-a1b2c3' })).toMatchObject({ ARN });
  });

  it('tells when it was created, changed, and on which day it was last read', async () => {
    const clock = { now: DAY_MS };
    const { aws, acme } = await start({ now: () => clock.now });
    clock.now = 2 * DAY_MS + 1;
    await acme.put(V1);
    clock.now = 3 * DAY_MS + 1;
    await acme.read();
    expect(await aws.describeSecret({ SecretId: 'acme' })).toMatchObject({
      CreatedDate: new Date(DAY_MS),
      LastChangedDate: new Date(2 * DAY_MS + 1),
      LastAccessedDate: new Date(3 * DAY_MS),
    });
  });
});

describe('the list of secrets', () => {
  it.each([
    [{ Key: 'name', Values: ['acm'] }, ['acme']],
    [{ Key: 'name', Values: ['ACM'] }, []],
    [{ Key: 'name', Values: ['!acme'] }, ['Globex', 'initech']],
    [{ Key: 'name', Values: ['acme', 'ini'] }, ['acme', 'initech']],
    [{ Key: 'description', Values: ['first'] }, ['Globex']],
    [{ Key: 'tag-key', Values: ['services'] }, ['initech']],
    [{ Key: 'tag-key', Values: ['!services'] }, ['acme', 'Globex']],
    [{ Key: 'tag-value', Values: ['customer'] }, ['initech']],
    [{ Key: 'all', Values: ['globe'] }, ['Globex']],
    [{ Key: 'all', Values: ['insights'] }, ['initech']],
    [{ Key: 'owning-service', Values: ['rds'] }, []],
  ] as const)('narrowed by %j holds %j', async ({ Key, Values }, expected) => {
    const { aws } = await start();
    await aws.createSecret({ Name: 'Globex', Description: 'First of its kind' });
    await aws.createSecret({ Name: 'initech', Tags: [{ Key: 'services', Value: 'customer-insights' }] });
    const { SecretList } = await aws.listSecrets({ Filters: [{ Key, Values: [...Values] }] });
    expect(SecretList?.map(({ Name }) => Name)).toEqual(expected);
  });

  it.each([
    [{}, ['acme', 'globex', 'Zeta']],
    [{ SortOrder: 'desc' }, ['Zeta', 'globex', 'acme']],
    [{ SortBy: 'name' }, ['Zeta', 'acme', 'globex']],
    [{ SortBy: 'last-changed-date', SortOrder: 'desc' }, ['acme', 'Zeta', 'globex']],
  ] as const)('ordered by %j is %j', async (order, expected) => {
    const clock = { now: 0 };
    const { aws, acme } = await start({ now: () => ++clock.now });
    await aws.createSecret({ Name: 'globex' });
    await aws.createSecret({ Name: 'Zeta' });
    await acme.put(V1);
    const { SecretList } = await aws.listSecrets(order);
    expect(SecretList?.map(({ Name }) => Name)).toEqual(expected);
  });

  it('lags behind what was created and deleted, by as much as it is told to', async () => {
    const clock = { now: 1_000 };
    const { aws } = await start({ now: () => clock.now, listLagMs: 300 });
    const names = async () => (await aws.listSecrets({})).SecretList?.map(({ Name }) => Name);
    expect(await names()).toEqual([]);
    clock.now = 1_300;
    expect(await names()).toEqual(['acme']);
    await aws.deleteSecret({ SecretId: 'acme' });
    expect(await names()).toEqual(['acme']);
    clock.now = 1_600;
    expect(await names()).toEqual([]);
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
  return { aws, acme, arn };
}
