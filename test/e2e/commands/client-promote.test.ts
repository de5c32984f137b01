import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { NEW, type OperatorWorld, startOperatorWorld, WRONG } from './operator-world.ts';

const NOWHERE = { TOKEN_BROKER_URL: '' };

async function storePending({ secretsManager }: OperatorWorld, credential: object) {
  const { VersionId } = await secretsManager.send(
    new PutSecretValueCommand({
      SecretId: 'token-broker/local/acme',
      SecretString: JSON.stringify(credential),
      VersionStages: ['AWSPENDING'],
    }),
  );
  return VersionId;
}

async function stages(world: OperatorWorld) {
  const { stdout } = await world.run(['client', 'list', '--json']);
  const versions: { version: string; stages: string[] }[] = JSON.parse(stdout).clients[0].versions;
  return Object.fromEntries(versions.flatMap(({ version, stages }) => stages.map((stage) => [stage, version])));
}

describe('client promote', () => {
  it('makes the pending version current when every service accepts it', async () => {
    const world = await startOperatorWorld();
    const pending = await storePending(world, NEW);
    const { exitCode, stdout } = await world.run(['client', 'promote', 'acme']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`acme: version ${pending} is AWSCURRENT`);
    expect(await stages(world)).toEqual({ AWSCURRENT: pending, AWSPREVIOUS: expect.any(String) });
  });

  it('leaves it pending when it is rejected', async () => {
    const world = await startOperatorWorld();
    const pending = await storePending(world, WRONG);
    const { exitCode, stdout, stderr } = await world.run(['client', 'promote', 'acme', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ version: pending, stage: 'AWSPENDING', checks: [{}, {}] });
    expect(stderr).toMatch(/stays pending/);
    expect(await stages(world)).toMatchObject({ AWSPENDING: pending });
  });

  it('checks nothing with --force, so that it needs no broker', async () => {
    const world = await startOperatorWorld();
    const pending = await storePending(world, WRONG);
    expect(await world.run(['client', 'promote', 'acme', '--force', '--yes'], { env: NOWHERE })).toMatchObject({
      exitCode: 0,
    });
    expect(await stages(world)).toMatchObject({ AWSCURRENT: pending });
  });

  it('says when no version is pending', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'promote', 'acme', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'version-missing' });
    expect(stderr).toMatch(/^error: version-missing: No version of acme waits to be promoted/);
  });
});

describe('client rollback', () => {
  it('swaps the current version with the previous one, and back, without the broker', async () => {
    const world = await startOperatorWorld();
    await storePending(world, WRONG);
    await world.run(['client', 'promote', 'acme', '--force', '--yes']);
    const { AWSCURRENT, AWSPREVIOUS } = await stages(world);

    const { exitCode, stderr } = await world.run(['client', 'rollback', 'acme', '--yes'], { env: NOWHERE });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/rollback once more undoes this/);
    expect(await stages(world)).toEqual({ AWSCURRENT: AWSPREVIOUS, AWSPREVIOUS: AWSCURRENT });
    await world.run(['client', 'rollback', 'acme', '--yes'], { env: NOWHERE });
    expect(await stages(world)).toEqual({ AWSCURRENT, AWSPREVIOUS });
  });

  it.each([
    ['there is no previous version', 'acme', /version-missing: No version of acme came before the current one/],
    ['there is no such client', 'globex', /secret-missing: There is no client "globex"/],
  ])('tells when %s', async (_, client, message) => {
    const world = await startOperatorWorld();
    const { exitCode, stderr } = await world.run(['client', 'rollback', client, '--yes']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(message);
  });
});
