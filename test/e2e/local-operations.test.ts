import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { findMark } from '../support/encodings.ts';
import { it, keepCalling, NEW, OLD, type OperatorWorld, SERVICES, WRONG } from './commands/shared/operator-world.ts';

/** As an operator does who uses the AWS command line: no command of ours looks at the credential before. */
async function promoteDirectly(world: OperatorWorld, credential: object): Promise<void> {
  const SecretString = JSON.stringify({ ...credential, services: SERVICES });
  await world.secretsManager.send(new PutSecretValueCommand({ SecretId: 'token-broker/local/acme', SecretString }));
  await world.eventsSettled();
}

describe('a version that is promoted directly in Secrets Manager', () => {
  it('and is wrong costs no caller a token, and is one request and one message for each service', async ({ world }) => {
    const stop = await keepCalling(world);
    const before = world.tokenService.requests.length;
    await promoteDirectly(world, WRONG);

    expect(await stop()).toMatchObject({ failures: [] });
    const refused = world.tokenService.requests.slice(before).filter(({ ok }) => !ok);
    expect(refused.map(({ service }) => service).toSorted()).toEqual(SERVICES);
    expect(world.messages).toHaveLength(SERVICES.length);
    for (const { text } of world.messages) expect(text.includes('acme') && !text.includes('marked-')).toBe(true);
  });

  it('and is good gives its token to the callers, without a message to the operators', async ({ world }) => {
    const stop = await keepCalling(world);
    await promoteDirectly(world, NEW);

    expect(await stop()).toMatchObject({ failures: [] });
    expect(world.messages).toEqual([]);
    const { checks } = await world.json(`client check acme --service ${SERVICES[0]}`);
    expect(checks).toMatchObject([{ finding: 'accepted', proven_by: 'traffic' }]);
  });
});

it('all that is written meanwhile holds no secret and no token, in no encoding: lines, messages, output and table', async ({
  world,
}) => {
  const stop = await keepCalling(world);
  const results = [
    await world.run('client put acme --yes --json', { input: NEW }),
    await world.run('client put acme --yes', { input: WRONG }),
  ];
  await promoteDirectly(world, WRONG);
  results.push(await world.run('health --run'));
  const { tokens } = await stop();
  const { Items } = await new DynamoDBClient().send(new ScanCommand({ TableName: 'token-broker-local' }));
  const everything = [...world.written, JSON.stringify([results, world.messages, Items])].join();

  const marks = [OLD.secret, NEW.secret, WRONG.secret, OLD.client_id, ...tokens];
  expect(tokens.size).toBeGreaterThan(1);
  expect(marks.flatMap((mark) => findMark(everything, mark))).toEqual([]);
  expect(findMark(everything, 'customer-insights')).toContain('plain');
});
