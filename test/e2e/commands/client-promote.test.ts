import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { ended } from './command-line.ts';
import { it, NEW, type OperatorWorld, WRONG } from './operator-world.ts';

const NOWHERE = { env: { TOKEN_BROKER_URL: '' } };

async function storePending({ secretsManager }: OperatorWorld, credential: object) {
  const stored = { SecretString: JSON.stringify(credential), VersionStages: ['AWSPENDING'] };
  const command = new PutSecretValueCommand({ SecretId: 'token-broker/local/acme', ...stored });
  return (await secretsManager.send(command)).VersionId;
}

async function stages(world: OperatorWorld) {
  const { clients } = await world.json('client list');
  const versions: { version: string; stages: string[] }[] = clients[0].versions;
  return Object.fromEntries(versions.flatMap(({ version, stages }) => stages.map((stage) => [stage, version])));
}

describe('client promote', () => {
  it('makes the pending version current when every service accepts it', async ({ world }) => {
    const pending = await storePending(world, NEW);
    const told = new RegExp(`acme: version ${pending} is AWSCURRENT`);
    expect(await world.run('client promote acme')).toEqual(ended(0, told, /./));
    expect(await stages(world)).toEqual({ AWSCURRENT: pending, AWSPREVIOUS: expect.any(String) });
  });

  it('leaves it pending when it is rejected', async ({ world }) => {
    const pending = await storePending(world, WRONG);
    const { exitCode, stdout, stderr } = await world.run('client promote acme --json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ version: pending, stage: 'AWSPENDING', checks: [{}, {}] });
    expect(stderr).toMatch(/stays pending/);
    expect(await stages(world)).toMatchObject({ AWSPENDING: pending });
  });

  it('checks nothing with --force, so that it needs no broker', async ({ world }) => {
    const pending = await storePending(world, WRONG);
    expect(await world.run('client promote acme --force --yes', NOWHERE)).toMatchObject({ exitCode: 0 });
    expect(await stages(world)).toMatchObject({ AWSCURRENT: pending });
  });
});

it('client rollback swaps the current version with the previous one, and back, without the broker', async ({
  world,
}) => {
  await storePending(world, WRONG);
  await world.run('client promote acme --force --yes');
  const { AWSCURRENT, AWSPREVIOUS } = await stages(world);

  const back = ended(0, /is AWSCURRENT/, /rollback once more undoes this/);
  expect(await world.run('client rollback acme --yes', NOWHERE)).toEqual(back);
  expect(await stages(world)).toEqual({ AWSCURRENT: AWSPREVIOUS, AWSPREVIOUS: AWSCURRENT });
  await world.run('client rollback acme --yes', NOWHERE);
  expect(await stages(world)).toEqual({ AWSCURRENT, AWSPREVIOUS });
});

it.for([
  ['client promote acme', /^error: version-missing: No version of acme waits to be promoted/],
  ['client rollback acme --yes', /version-missing: No version of acme came before the current one/],
] as const)('%s tells when there is no such version', async ([command, message], { world }) => {
  expect(await world.run(command)).toEqual(ended(1, '', message));
  expect(await world.json(command)).toMatchObject({ type: 'version-missing' });
});
