import { Readable } from 'node:stream';
import { DescribeSecretCommand, GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { beginCommandLine, ended } from './command-line.ts';
import { it, keepCalling, NEW, OLD, type OperatorWorld, SERVICES, WRONG } from './operator-world.ts';

const [INSIGHTS, CLEANSING] = SERVICES;
const PUT = 'client put acme';
const ONE_SERVICE = `${PUT} --services ${INSIGHTS}`;
const PUT_IN_DEV = '--environment dev client put new --create --kms-key-id alias/keys';
const ACME = 'token-broker/local/acme';

/** Which version of a secret has which stages, by stage; and its services, if they are tagged. */
async function describeSecret({ secretsManager }: OperatorWorld, client = 'acme', environment = 'local') {
  const SecretId = `token-broker/${environment}/${client}`;
  const found = await secretsManager.send(new DescribeSecretCommand({ SecretId }));
  const { VersionIdsToStages = {}, Tags = [], KmsKeyId } = found;
  const versions = Object.entries(VersionIdsToStages).flatMap(([id, stages]) => stages.map((stage) => [stage, id]));
  return { ...Object.fromEntries(versions), services: Tags[0]?.Value, KmsKeyId };
}

async function storedValue({ secretsManager }: OperatorWorld): Promise<unknown> {
  const { SecretString = '' } = await secretsManager.send(new GetSecretValueCommand({ SecretId: ACME }));
  return JSON.parse(SecretString);
}

describe('client put', () => {
  it('promotes a credential that every service accepts, and no caller notices', async ({ world }) => {
    const before = await describeSecret(world);
    const stop = await keepCalling(world);
    const result = await world.run(PUT, { input: NEW });

    expect(await stop()).toMatchObject({ failures: [] });
    const found = /customer-insights +accepted .*\nmerchant-payment-cleansing +accepted .*\nacme: .* AWSCURRENT/;
    expect(result).toEqual(ended(0, found, /uses it within 60 s/));
    const after = await describeSecret(world);
    expect(after).toEqual({ AWSCURRENT: expect.any(String), AWSPREVIOUS: before.AWSCURRENT });
    expect(result.stdout).toContain(after.AWSCURRENT);
  });

  it('leaves a credential pending that is rejected, unless it is forced, and no caller notices', async ({ world }) => {
    const before = await describeSecret(world);
    const stop = await keepCalling(world);
    const { exitCode, stdout, stderr } = await world.run(`${PUT} --json`, { input: WRONG });

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

    const undo = /Promoted by --force.* client rollback undoes it/;
    expect(await world.run(`${PUT} --force`, { input: WRONG })).toEqual(ended(0, /./, undo));
    expect(await describeSecret(world)).not.toHaveProperty('AWSPENDING');
  });

  it('promotes no credential that one of two services rejects, or that the operator may not check', async ({
    world,
  }) => {
    world.tokenService.respondWith(CLEANSING, { status: 503 });
    const half = /customer-insights +accepted .*\nmerchant-payment-cleansing +unreachable .*AWSPENDING/s;
    expect(await world.run(PUT, { input: NEW })).toEqual(ended(1, half, /./));
    const denied = /customer-insights +access-denied .*AWSPENDING/s;
    expect(await world.run(PUT, { input: NEW, env: world.stranger })).toEqual(ended(1, denied, /./));
  });

  it('checks only the services of the client, which --services changes, and writes them into the version', async ({
    world,
  }) => {
    expect((await world.run(ONE_SERVICE, { input: NEW })).stdout).not.toContain(CLEANSING);
    expect(await describeSecret(world)).toMatchObject({ services: INSIGHTS });
    expect(await storedValue(world)).toEqual({ ...NEW, services: { [INSIGHTS]: {} } });

    const { stdout } = await world.run(PUT, { input: { ...OLD, services: [INSIGHTS] } });
    expect(stdout).not.toContain(CLEANSING);
    expect(await storedValue(world)).toEqual({ ...OLD, services: { [INSIGHTS]: {} } });

    expect((await world.run(`${PUT} --services all`, { input: NEW })).stdout).toContain(CLEANSING);
    expect(await describeSecret(world)).toMatchObject({ services: undefined });
    expect(await storedValue(world)).toEqual(NEW);
  });

  it('does not take the finding about another version for its own', async ({ world }) => {
    // The broker is the one of the environment local.
    const { exitCode } = await world.run(PUT_IN_DEV.replace('new', 'acme'), { input: NEW });
    expect(exitCode).toBe(1);
  });

  it('stores a new client, and tells whether its service accepts it', async ({ world }) => {
    const create = (client: string) => `client put ${client} --create --services ${INSIGHTS}`;
    const accepted = /AWS made it the current one at once\. Callers get tokens as soon as/;
    expect(await world.run(create('globex'), { input: NEW })).toEqual(ended(0, /./, accepted));
    expect(await describeSecret(world, 'globex')).toEqual({ AWSCURRENT: expect.any(String), services: INSIGHTS });
    const refused = /no caller had a token of the client before\. Store the right credential/;
    expect(await world.run(create('hooli'), { input: WRONG })).toEqual(ended(1, /./, refused));
  });

  it('keeps the members that the credential has for each service, and takes the services that it names', async ({
    world,
  }) => {
    const input = { ...WRONG, services: { [INSIGHTS]: NEW } };
    expect(await world.run(PUT, { input })).toMatchObject({
      exitCode: 0,
      stdout: expect.not.stringContaining(CLEANSING),
    });
    expect(await storedValue(world)).toEqual(input);
    expect(await describeSecret(world)).toMatchObject({ services: INSIGHTS });
    const other = `\ufeff${JSON.stringify({ username: NEW.client_id, password: NEW.secret })}\r\n`;
    expect(await world.run(PUT, { input: other })).toMatchObject({ exitCode: 0 });
  });
});

const OTHER_SERVICES = /credential-malformed: .*services names none, or others than the client is to have/;
const TYPING_ERROR =
  /^error: secret-missing: .* "amce" .*\nDid you mean acme\? Nothing was stored\. --create makes a new client\.\n$/;
const TWICE = JSON.stringify(NEW).replace('}', ',"secret":"marked-second"}');

describe('client put stores nothing, and repeats nothing', () => {
  it.for<readonly [what: string, command: string, input: object | string, message: RegExp, exitCode?: number]>([
    ['of nothing', PUT, '', /no-credential: Nothing came/],
    ['of a text that is no JSON', PUT, 'marked-secret', /credential-malformed: .*not a JSON object/],
    ['without a secret', PUT, { client_id: 'marked-id' }, /secret is missing/],
    ['of more than a secret can hold', PUT, 'marked'.repeat(20_000), /longer than 65536 bytes/],
    ['of a member twice, of which it would keep the last', ONE_SERVICE, TWICE, /a member is given more than once/],
    ['for services that --services does not name', ONE_SERVICE, { ...NEW, services: [CLEANSING] }, OTHER_SERVICES],
    ['for no service', PUT, { ...NEW, services: [] }, OTHER_SERVICES],
    ['of a colon where that would be cut off', PUT_IN_DEV, { client_id: 'marked:x', secret: 'x' }, /holds a colon/],
    ['for a client that is not there', 'client put amce', NEW, TYPING_ERROR],
    ['for a service that there is not', `${PUT} --services insights`, NEW, /has no service "insights"/, 2],
    ['without the key of the environment', 'client put new --create --environment dev', NEW, /--kms-key-id/, 2],
  ])('%s', async ([_, command, input, message, exitCode = 1], { world }) => {
    const before = await describeSecret(world);
    const result = await world.run(command, { input });
    expect(result).toEqual(ended(exitCode, '', message));
    if (exitCode === 1) expect(result.stderr).toMatch(/Nothing was stored/);
    expect(await describeSecret(world)).toEqual(before);
    await expect(describeSecret(world, 'new', 'dev')).rejects.toThrow(/can't find/);
  });
});

describe('client put, interrupted or overtaken', () => {
  it('names the pending version on Ctrl-C, and the commands for it', async ({ world }) => {
    world.tokenService.fault('hang');
    const stdin = Readable.from([Buffer.from(JSON.stringify(NEW))]);
    const putting = beginCommandLine(PUT.split(' '), world.shell, stdin);
    await expect.poll(() => world.tokenService.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
    putting.interrupt();

    const next = /client promote acme checks and promotes it, another client put acme replaces it\.\n$/;
    const result = await putting.finished;
    expect(result).toEqual(ended(130, '', next));
    const { AWSPENDING } = await describeSecret(world);
    expect(result.stderr).toContain(`Storing version ${AWSPENDING} of token-broker/local/acme`);
  });

  it('keeps the version that another operator has promoted meanwhile', async ({ world }) => {
    world.tokenService.latency(300);
    const slow = world.run(PUT, { input: NEW });
    await expect.poll(() => world.tokenService.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
    const command = { SecretId: ACME, SecretString: JSON.stringify(OLD) };
    const { VersionId: AWSCURRENT } = await world.secretsManager.send(new PutSecretValueCommand(command));

    const { exitCode, stderr } = await slow;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/secret-changed: Another operator has changed the secret meanwhile/);
    expect(await describeSecret(world)).toMatchObject({ AWSCURRENT });
  });
});
