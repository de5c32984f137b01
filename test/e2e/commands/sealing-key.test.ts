import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { createDynamoDB } from '../../../functions/aws/dynamodb.ts';
import { createHttpsSender } from '../../../functions/aws/https/sender.ts';
import { type OperatorWorld, SERVICES, startOperatorWorld } from './operator-world.ts';

const [service] = SERVICES;
const SecretId = 'token-broker-keys/local/sealing';

describe('sealing-key rotate', () => {
  it('makes a new version the current one, keeps the one before, and shows no key', async () => {
    const world = await startOperatorWorld();
    const [before] = Object.keys(await stagesIn(world));
    const { exitCode, stdout, stderr } = await world.run(['sealing-key', 'rotate', '--json']);
    expect(exitCode).toBe(0);
    const { version, previous } = JSON.parse(stdout);
    expect(previous).toBe(before);
    expect(await stagesIn(world)).toEqual({ [version]: ['AWSCURRENT'], [previous]: ['AWSPREVIOUS'] });
    expect(stdout.replaceAll(/[0-9a-f-]{36}/g, '')).not.toMatch(/[\w-]{20}/);
    expect(stderr).toMatch(/within an hour.*sealing-key retire/);
  });

  it('leaves tokens in the table that environments can open which start afterwards', async () => {
    const world = await startOperatorWorld();
    const { fingerprint } = await world.caller.token({ client: 'acme', service });
    await world.run(['sealing-key', 'rotate']);
    expect(await fingerprintIn(world)).toBe(fingerprint);
    expect(world.tokenService.requests).toHaveLength(1);
  });
});

describe('sealing-key retire', () => {
  it('waits until no token can live that the version before has sealed', async () => {
    const world = await startOperatorWorld();
    await world.run(['sealing-key', 'rotate']);
    const stages = await stagesIn(world);
    const { exitCode, stdout, stderr } = await world.run(['sealing-key', 'retire', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'too-early' });
    const [, at = ''] = /after (\S+Z);/.exec(stderr) ?? [];
    expect(Math.round((Date.parse(at) - Date.now()) / 3_600_000)).toBe(25);
    expect(await stagesIn(world)).toEqual(stages);
  });

  it('ends it at once with --force: what it sealed is no token any more for environments that start afterwards', async () => {
    const world = await startOperatorWorld();
    const { fingerprint } = await world.caller.token({ client: 'acme', service });
    await world.run(['sealing-key', 'rotate']);
    const { exitCode, stdout } = await world.run(['sealing-key', 'retire', '--force']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^sealing key: version \S+ is retired\n$/);
    expect(Object.values(await stagesIn(world))).toEqual([['AWSCURRENT']]);
    expect(await fingerprintIn(world)).not.toBe(fingerprint);
    expect(world.tokenService.requests).toHaveLength(2);
  });

  it('says that there is nothing to retire', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout } = await world.run(['sealing-key', 'retire', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'version-missing' });
  });
});

/** The versions of the key that carry a stage. */
async function stagesIn({ secretsManager }: OperatorWorld) {
  const { VersionIdsToStages = {} } = await secretsManager.send(new DescribeSecretCommand({ SecretId }));
  return Object.fromEntries(Object.entries(VersionIdsToStages).filter(([, stages]) => stages.length > 0));
}

/** Of the token that an environment issues which has just started. */
async function fingerprintIn({ newEnvironment }: OperatorWorld): Promise<string> {
  const caller = await newEnvironment(createDynamoDB({ send: createHttpsSender() }));
  return (await caller.token({ client: 'acme', service })).fingerprint;
}
