import { Readable } from 'node:stream';
import {
  DeleteSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { beginCommandLine } from './command-line.ts';
import { keepCalling, NEW, OLD, type OperatorWorld, SERVICES, startOperatorWorld, WRONG } from './operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
const PUT = ['client', 'put', 'acme'];
const ACME = 'token-broker/local/acme';

/** Which version of a secret has which stages, by stage; and its services, if they are tagged. */
async function describeSecret({ secretsManager }: OperatorWorld, client = 'acme', environment = 'local') {
  const SecretId = `token-broker/${environment}/${client}`;
  const {
    VersionIdsToStages = {},
    Tags = [],
    KmsKeyId,
  } = await secretsManager.send(new DescribeSecretCommand({ SecretId }));
  const versions = Object.entries(VersionIdsToStages).flatMap(([id, stages]) => stages.map((stage) => [stage, id]));
  return { ...Object.fromEntries(versions), services: Tags[0]?.Value, KmsKeyId };
}

async function storedValue({ secretsManager }: OperatorWorld): Promise<unknown> {
  const { SecretString = '' } = await secretsManager.send(new GetSecretValueCommand({ SecretId: ACME }));
  return JSON.parse(SecretString);
}

describe('client put', () => {
  it('promotes a credential that every service accepts, and no caller notices', async () => {
    const world = await startOperatorWorld();
    const before = await describeSecret(world);
    const stop = await keepCalling(world);

    const { exitCode, stdout, stderr } = await world.run(PUT, { input: NEW });

    expect(await stop()).toMatchObject({ failures: [] });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /customer-insights +accepted .*\nmerchant-payment-cleansing +accepted .*\nacme: .* AWSCURRENT/,
    );
    expect(stderr).toMatch(/uses it within 60 s/);
    const after = await describeSecret(world);
    expect(after).toEqual({ AWSCURRENT: expect.any(String), AWSPREVIOUS: before.AWSCURRENT });
    expect(stdout).toContain(after.AWSCURRENT);
  });

  it('leaves a credential pending that is rejected, and no caller notices', async () => {
    const world = await startOperatorWorld();
    const before = await describeSecret(world);
    const stop = await keepCalling(world);

    const { exitCode, stdout, stderr } = await world.run([...PUT, '--json'], { input: WRONG });

    expect(await stop()).toMatchObject({ failures: [] });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/stays pending, and callers are not affected/);
    const after = await describeSecret(world);
    expect(after).toEqual({ ...before, AWSPENDING: expect.any(String) });
    const rejected = { client: 'acme', stage: 'AWSPENDING', finding: 'rejected', version: after.AWSPENDING };
    expect(JSON.parse(stdout)).toMatchObject({
      environment: 'local',
      client: 'acme',
      version: after.AWSPENDING,
      stage: 'AWSPENDING',
      checks: SERVICES.map((service) => ({ ...rejected, service, proven_by: 'request' })),
    });
  });

  it('promotes it all the same with --force', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stderr } = await world.run([...PUT, '--force'], { input: WRONG });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/Promoted by --force.* client rollback undoes it/);
    expect(await describeSecret(world)).not.toHaveProperty('AWSPENDING');
  });

  it('does not promote what only one of two services accepts, or what cannot be checked', async () => {
    const world = await startOperatorWorld();
    world.tokenService.respondWith(CLEANSING, { status: 503 });
    const { exitCode, stdout } = await world.run(PUT, { input: NEW });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/customer-insights +accepted .*\nmerchant-payment-cleansing +unreachable .*AWSPENDING/s);
  });

  it('checks only the services that the client has, and can change them', async () => {
    const world = await startOperatorWorld();
    const { stdout } = await world.run([...PUT, '--services', INSIGHTS], { input: NEW });
    expect(stdout).not.toContain(CLEANSING);
    expect(await describeSecret(world)).toMatchObject({ services: INSIGHTS });
    expect((await world.run(PUT, { input: OLD })).stdout).not.toContain(CLEANSING);
    expect((await world.run([...PUT, '--services', 'all'], { input: NEW })).stdout).toContain(CLEANSING);
    expect(await describeSecret(world)).toMatchObject({ services: undefined });
  });

  it('writes the services into every version: of --services, else of the tag, and none for all', async () => {
    const world = await startOperatorWorld();
    await world.run([...PUT, '--services', INSIGHTS], { input: NEW });
    expect(await storedValue(world)).toEqual({ ...NEW, services: { [INSIGHTS]: {} } });
    await world.run(PUT, { input: { ...OLD, services: [INSIGHTS] } });
    expect(await storedValue(world)).toEqual({ ...OLD, services: { [INSIGHTS]: {} } });
    await world.run([...PUT, '--services', 'all'], { input: NEW });
    expect(await storedValue(world)).toEqual(NEW);
  });

  it('takes the services that the credential itself names when nothing else does, and keeps what it says for each', async () => {
    const world = await startOperatorWorld();
    const input = { ...WRONG, services: { [INSIGHTS]: NEW } };
    const { exitCode, stdout } = await world.run(PUT, { input });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain(CLEANSING);
    expect(await storedValue(world)).toEqual(input);
    expect(await describeSecret(world)).toMatchObject({ services: INSIGHTS });
  });

  it.each([
    ['that --services does not', [CLEANSING], ['--services', INSIGHTS]],
    ['though --services says all', [INSIGHTS], ['--services', 'all']],
    ['that the environment does not have', ['marked-service'], []],
    ['and names none', [], []],
  ])('stores nothing when the credential names services %s', async (_, services, args) => {
    const world = await startOperatorWorld();
    const before = await describeSecret(world);
    const { exitCode, stderr } = await world.run([...PUT, ...args], { input: { ...NEW, services } });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/credential-malformed: .*services names none, or others than the client is to have/);
    expect(await describeSecret(world)).toEqual(before);
  });

  it('does not take the finding about another version for its own', async () => {
    const world = await startOperatorWorld();
    // The broker is the one of the environment local.
    const { exitCode } = await world.run(['--environment', 'dev', ...PUT, '--create', '--kms-key-id', 'alias/keys'], {
      input: NEW,
    });
    expect(exitCode).toBe(1);
    expect(await describeSecret(world, 'acme', 'dev')).toMatchObject({ KmsKeyId: 'alias/keys' });
  });

  it('tells that the operator has no rule, and leaves the credential pending', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout } = await world.run(PUT, { input: NEW, env: world.stranger });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/customer-insights +access-denied .*AWSPENDING/s);
  });
});

describe('client put for a new client', () => {
  const PUT_GLOBEX = ['client', 'put', 'globex', '--create', '--services', INSIGHTS];

  it.each([
    ['accepts it', NEW, 0, /AWS made it the current one at once\. Callers get tokens as soon as/],
    ['does not', WRONG, 1, /no caller had a token of the client before\. Store the right credential/],
  ])('stores its secret with its services, and tells whether the service %s', async (_, input, expected, words) => {
    const world = await startOperatorWorld();
    const { exitCode, stderr } = await world.run(PUT_GLOBEX, { input });
    expect(exitCode).toBe(expected);
    expect(stderr).toMatch(words);
    expect(await describeSecret(world, 'globex')).toEqual({ AWSCURRENT: expect.any(String), services: INSIGHTS });
  });

  it('needs --create: a typing error stores nothing, and the client that was meant is named', async () => {
    const world = await startOperatorWorld();
    const { exitCode, stdout, stderr } = await world.run(['client', 'put', 'amce'], { input: NEW });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error: secret-missing: There is no client "amce" .*\nDid you mean acme\? Nothing was stored\. --create makes a new client\.\n$/,
    );
    await expect(describeSecret(world, 'amce')).rejects.toThrow(/can't find/);
  });
});

describe('client put takes a credential', () => {
  it.each([
    ['in other words', { username: NEW.client_id, password: NEW.secret }],
    ['of one service besides', { ...WRONG, services: { [INSIGHTS]: NEW, [CLEANSING]: { ...NEW } } }],
    ['with a byte order mark', `\ufeff${JSON.stringify(NEW)}\r\n`],
  ])('%s', async (_, input) => {
    const world = await startOperatorWorld();
    expect(await world.run(PUT, { input })).toMatchObject({ exitCode: 0 });
  });

  it.each([
    ['nothing', '', /no-credential: Nothing came/],
    ['what is not JSON', 'marked-secret', /credential-malformed: .*not a JSON object/],
    ['no secret', { client_id: 'marked-id' }, /secret is missing/],
    ['an empty secret', { client_id: 'marked-id', secret: '' }, /secret is empty/],
    ['a line break in the secret', { client_id: 'marked-id', secret: 'marked\n' }, /secret holds a control character/],
    ['a number', { client_id: 'marked-id', secret: 12 }, /secret is not a string/],
    ['more than a secret can hold', 'marked'.repeat(20_000), /longer than 65536 bytes/],
  ])('but not %s: nothing is stored, and nothing of it repeated', async (_, input, message) => {
    const world = await startOperatorWorld();
    const before = await describeSecret(world);
    const { exitCode, stdout, stderr } = await world.run(PUT, { input });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/Nothing was stored/);
    expect(await describeSecret(world)).toEqual(before);
  });
});

describe('client put with --services', () => {
  it('stores no credential with a member twice, of which it would keep the last', async () => {
    const world = await startOperatorWorld();
    const before = await describeSecret(world);
    const input = JSON.stringify(NEW).replace('}', ',"secret":"marked-second"}');
    const { exitCode, stderr } = await world.run([...PUT, '--services', INSIGHTS], { input });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/credential-malformed: .*a member is given more than once/);
    expect(await describeSecret(world)).toEqual(before);
  });
});

describe('client put knows how a service is asked', () => {
  it('and does not store a client id with a colon where that would be cut off', async () => {
    const world = await startOperatorWorld();
    const input = { client_id: 'marked-id:x', secret: 'marked-secret' };
    const args = ['--environment', 'dev', 'client', 'put', 'new', '--create', '--kms-key-id', 'alias/keys'];
    const { exitCode, stderr } = await world.run(args, { input });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/credential-malformed: .*the client id holds a colon/);
    await expect(describeSecret(world, 'new', 'dev')).rejects.toThrow(/can't find/);
  });
});

describe('client put, interrupted or overtaken', () => {
  it('names the pending version on Ctrl-C, and what can be done with it', async () => {
    const world = await startOperatorWorld();
    world.tokenService.fault('hang');
    const putting = beginCommandLine(PUT, world.shell, Readable.from([Buffer.from(JSON.stringify(NEW))]));
    await expect.poll(() => world.tokenService.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
    putting.interrupt();

    const { exitCode, stdout, stderr } = await putting.finished;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    const { AWSPENDING } = await describeSecret(world);
    expect(stderr).toContain(`Storing version ${AWSPENDING} of token-broker/local/acme`);
    expect(stderr).toMatch(/client promote acme checks and promotes it, another client put acme replaces it\.\n$/);
  });

  it('does not undo what another operator has promoted meanwhile', async () => {
    const world = await startOperatorWorld();
    world.tokenService.latency(300);
    const slow = world.run(PUT, { input: NEW });
    await expect.poll(() => world.tokenService.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
    const command = { SecretId: 'token-broker/local/acme', SecretString: JSON.stringify(OLD) };
    const { VersionId: AWSCURRENT } = await world.secretsManager.send(new PutSecretValueCommand(command));

    const { exitCode, stderr } = await slow;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/secret-changed: Another operator has changed the secret meanwhile/);
    expect(await describeSecret(world)).toMatchObject({ AWSCURRENT });
  });

  it('tells that a secret is marked for deletion before it asks for anything', async () => {
    const world = await startOperatorWorld();
    await world.secretsManager.send(new DeleteSecretCommand({ SecretId: 'token-broker/local/acme' }));
    const { exitCode, stderr } = await world.run(PUT, { input: NEW });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: secret-deleted: .*\nRestore it first: docs\/operations\.md/);
  });
});

describe('client put, wrongly used', () => {
  it.each([
    ['a service that the environment does not have', [...PUT, '--services', 'insights'], /has no service "insights"/],
    [
      'a new secret without the key of the environment',
      ['client', 'put', 'new', '--create', '--environment', 'dev'],
      /--kms-key-id/,
    ],
  ])('%s is exit code 2, and nothing is stored', async (_, args, message) => {
    const world = await startOperatorWorld();
    const before = await describeSecret(world);
    const { exitCode, stderr } = await world.run(args, { input: NEW });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
    expect(await describeSecret(world)).toEqual(before);
  });
});
